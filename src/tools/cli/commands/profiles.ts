import { resolve } from 'node:path';
import { inspectApiKey } from '../../../access/api-key.ts';
import { allowText } from '../../../wire/allow-text.ts';
import { isRdcpError } from '../../../wire/errors.ts';
import { given } from '../../../wire/json-text.ts';
import type { SessionResponse } from '../../../wire/messages.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import { type Command, type Option, type Terminal, text, UsageError, type Values } from '../command.ts';
import { clientOf, DEFAULT_URL, oneWord, PROFILE_OPTION, setting, tlsFilesOf } from '../connection.ts';
import { identifier, OUTPUT_OPTIONS, present, readText } from '../options.ts';
import { type Profile, profileName, readProfiles, readProfilesFile, updateProfiles } from '../profiles.ts';

export const profiles: Command = {
  summary: 'list the profiles, without their credentials',
  options: OUTPUT_OPTIONS,
  examples: ['rdcp profiles'],
  run: async (terminal, values) => {
    const { profiles: found, groups } = readProfilesFile(terminal);
    const known = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
    const shown = known.map(([name, profile]) => ({
      name,
      url: profile.url,
      ...given({ tenant: profile.tenant }),
      credential: credentialsOf(profile),
    }));
    const answer = { profiles: shown, ...(groups.size > 0 && { groups: Object.fromEntries(groups) }) };
    present(terminal, values, answer, () => {
      if (shown.length === 0) return terminal.note("There is no profile yet: 'rdcp login' adds one.");
      terminal.table(shown, [
        ['PROFILE', ({ name }) => name],
        ['ADDRESS', ({ url }) => url],
        ['TENANT', ({ tenant }) => tenant ?? '-'],
        ['CREDENTIAL', ({ credential }) => credential.join(', ')],
      ]);
      if (groups.size === 0) return;
      terminal.out('');
      terminal.table(
        [...groups],
        [
          ['GROUP', ([name]) => `@${name}`],
          ['SERVICES', ([, members]) => members.join(', ')],
        ],
      );
    });
  },
};

export const logout: Command = {
  summary: 'remove a profile with its credential',
  options: { profile: PROFILE_OPTION },
  notes: ['The credential stays valid: revoke it with rdcp keys revoke, or rdcp token revoke.'],
  examples: ['rdcp logout --profile staging'],
  run: async (terminal, values) => {
    const known = readProfiles(terminal);
    const name = profileName(terminal, values, known);
    if (!known.has(name)) throw new Error(`there is no profile '${name}'; see 'rdcp profiles'`);
    await updateProfiles(terminal, (profiles) => profiles.delete(name));
    terminal.note(`Removed profile ${name}.`);
  },
};

function credentialsOf({ apiKey, token, certFile }: Profile): string[] {
  return [apiKey && 'API key', token && 'token', certFile && 'certificate'].filter((each) => each !== undefined);
}

const TLS_OPTIONS = {
  ca: { value: 'FILE', help: 'authorities to trust (PEM), and no others' },
  cert: { value: 'FILE', help: 'client certificate (PEM)' },
  'cert-key': { value: 'FILE', help: 'key of the client certificate (PEM)' },
} as const satisfies Record<string, Option>;

export const login: Command = {
  summary: 'store the address and credential of a service as a profile',
  options: {
    profile: PROFILE_OPTION,
    url: { value: 'URL', help: `service address (default: asked, else RDCP_URL, else ${DEFAULT_URL})` },
    tenant: { value: 'ID', help: 'act for this tenant unless --tenant says otherwise' },
    'key-file': { value: 'FILE', help: 'read the credential from this file, instead of asking for it' },
    token: { help: 'the credential is a bearer token (a JWT is recognized without it)' },
    ...TLS_OPTIONS,
  },
  notes: [
    'It asks for the credential and does not show it, or reads the first line of the standard input. With a client certificate',
    'it may be empty. It is tried, then stored in $XDG_CONFIG_HOME/rdcp/profiles.json (else ~/.config), readable only by you.',
  ],
  examples: [
    'rdcp login --url https://shop.example:9465',
    'rdcp login --profile staging --url https://staging:9465 --tenant acme < key',
    'rdcp list --profile staging',
  ],
  run: async (terminal, values) => {
    const name = profileName(terminal, values);
    const profile = await profileOf(terminal, values);
    const { url, apiKey, token, tenant } = profile;
    const credential = apiKey !== undefined ? { apiKey } : token !== undefined ? { token } : undefined;
    const client = clientOf(terminal, { url, credential, tenantId: tenant, tls: tlsFilesOf(profile) });
    const session = await client.session().catch((error) => {
      // Other implementations of the protocol may have no session endpoint.
      if (!isRdcpError(error) || error.code !== 'RDCP_NOT_FOUND') throw error;
    });
    const who = session === undefined ? '' : ` as ${asWhom(session)}`;
    let before: string | undefined;
    await updateProfiles(terminal, (profiles) => {
      before = profiles.get(name)?.url;
      profiles.set(name, profile);
    });
    const replaced = before === undefined || before === url ? '' : `, which was for ${before}`;
    terminal.note(`Logged in to ${url}${who}; profile ${name}${replaced}.`);
    const set = ['RDCP_URL', 'RDCP_PORT', 'RDCP_API_KEY'].filter((variable) => {
      const value = setting(terminal, variable);
      // One that says the same changes nothing.
      return value !== undefined && !(variable === 'RDCP_URL' && value === url);
    });
    if (set.length > 0) {
      terminal.note(
        `${set.join(' and ')} of the environment ${set.length === 1 ? 'comes' : 'come'} first: name the profile with ${shellWords('--profile', name)}.`,
      );
    }
  },
};

async function profileOf(terminal: Terminal, values: Values): Promise<Profile> {
  const file = (name: keyof typeof TLS_OPTIONS) => {
    const path = text(values, name);
    return path && resolve(terminal.cwd, path);
  };
  const tls = { caFile: file('ca'), certFile: file('cert'), certKeyFile: file('cert-key') };
  if ((tls.certFile === undefined) !== (tls.certKeyFile === undefined)) {
    throw new UsageError('--cert and --cert-key come together');
  }
  const tenant = identifier(values, 'tenant');
  const url = await addressOf(terminal, values);
  return { url, ...(await credentialOf(terminal, values)), ...given({ tenant, ...tls }) };
}

async function addressOf(terminal: Terminal, values: Values): Promise<string> {
  const given = text(values, 'url');
  if (given !== undefined) return given;
  const usual = setting(terminal, 'RDCP_URL') ?? DEFAULT_URL;
  if (!terminal.interactive) return usual;
  return (await terminal.ask(`Address of the service [${usual}]: `)).trim() || usual;
}

async function credentialOf(terminal: Terminal, values: Values): Promise<Pick<Profile, 'apiKey' | 'token'>> {
  const file = text(values, 'key-file');
  const typed = (
    file === undefined ? await terminal.askSecret('API key or token: ') : readText(file, '--key-file')
  ).trim();
  if (typed === '') {
    if (text(values, 'cert') !== undefined) return {};
    throw new UsageError('a credential is required: type it at a terminal, or pipe it to the standard input');
  }
  const credential = oneWord(typed, file ?? 'the standard input');
  const { form } = inspectApiKey(credential);
  if (form === 'mistyped') throw new UsageError('the key is mistyped');
  const isToken = values.token === true || /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
  return form === 'foreign' && isToken ? { token: credential } : { apiKey: credential };
}

function asWhom({ userId, scopes, otelrdcp_allow: allow }: SessionResponse): string {
  return `${userId} (${scopes.join(', ')}${allow === undefined ? '' : `; only ${allowText(allow)}`})`;
}
