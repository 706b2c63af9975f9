import { catalogue } from '../../conformance/catalogue.ts';
import { type Judgement, judge } from '../../conformance/conformance.ts';
import { type Report, renderText } from '../../conformance/report.ts';
import { apiKey, bearer, type Credential, type Credentials } from '../../conformance/session.ts';
import { RdcpError } from '../../errors.ts';
import { type Command, EXIT, type Option, type Terminal, text, UsageError, type Values } from '../command.ts';
import { accessOf, assertAddress, CONNECTION_OPTIONS, readWord } from '../connection.ts';
import { formatOf } from '../output.ts';

const secret = (help: string) => ({ type: 'string', value: 'FILE', help }) as const satisfies Option;

const OWN_OPTIONS = {
  changes: { type: 'boolean', help: 'also checks that switch one category, which is put back, and send wrong bodies' },
  category: {
    type: 'string',
    value: 'NAME',
    completes: 'categories',
    help: 'switch this category (default: one that is off)',
  },
  level: { type: 'string', value: 'N', help: 'judge level 1, 2 or 3 (default: the level that the server declares)' },
  own: { type: 'boolean', help: 'also the decisions of this package about what the specification leaves open (W-...)' },
  only: { type: 'string', value: 'ID,ID', help: 'only checks whose id starts so' },
  exhaust: { type: 'boolean', help: 'also use up limits and wait for timeouts, which takes minutes; needs --changes' },
  checks: { type: 'boolean', help: 'print the checks and make none' },
  'readonly-key-file': secret('an API key that lacks the scope control'),
  'readonly-token-file': secret('a bearer token that lacks it'),
  'admin-key-file': secret('an API key with the scope admin'),
  'admin-token-file': secret('a bearer token with it'),
} as const satisfies Record<string, Option>;

export const conformance: Command = {
  summary: 'check a server of any maker against RDCP 1.0; exit code 1 if it breaks a MUST',
  options: { ...OWN_OPTIONS, ...CONNECTION_OPTIONS },
  notes: [
    'Without --changes it only reads: GET, HEAD and OPTIONS, some with wrong credentials. Checks that need more, or a credential',
    'that was not given, are skipped and say so.',
  ],
  examples: [
    'rdcp conformance --url https://staging:9465 --key-file key',
    'rdcp conformance --profile staging --changes --own -o json',
    'rdcp conformance --checks',
  ],
  run: async (terminal, values) => {
    if (values.checks === true) {
      terminal.out(formatOf(values) === 'json' ? JSON.stringify({ checks: listed() }, undefined, 2) : listing());
      return EXIT.done;
    }
    const judgement = judgementOf(terminal, values);
    const report = await judged(judgement, terminal);
    if (formatOf(values) === 'json') terminal.out(JSON.stringify(report, undefined, 2));
    else terminal.out(renderText(report).trimEnd());
    if (judgement.readOnly === true) terminal.note('Only what can be read was checked: --changes checks the rest.');
    return report.conformant ? EXIT.done : EXIT.refused;
  },
};

function judgementOf(terminal: Terminal, values: Values): Judgement {
  const level = text(values, 'level');
  const category = text(values, 'category');
  const changes = values.changes === true;
  if (level !== undefined && !/^[123]$/.test(level)) throw new UsageError('--level must be 1, 2 or 3');
  if (values.exhaust === true && !changes) throw new UsageError('--exhaust needs --changes');
  const { url, credential, tls } = accessOf(terminal, values);
  assertAddress(url);
  return {
    target: { url: new URL(url), ...tls },
    credentials: credentialsOf(values, credential, tls?.cert !== undefined),
    readOnly: !changes,
    exhaust: values.exhaust === true,
    only:
      text(values, 'only')
        ?.split(',')
        .filter((id) => id !== '') ?? [],
    ...(category !== undefined && { category }),
    ...(level !== undefined && { level: Number(level) as 1 | 2 | 3 }),
    ...(values.own === true && { profile: 'otelrdcp' as const }),
  };
}

/** @param certified whether a client certificate is shown: a token beside it is what the specification calls hybrid */
function credentialsOf(
  values: Values,
  credential: ReturnType<typeof accessOf>['credential'],
  certified: boolean,
): Credentials {
  const hybrid = (given: Credential): Credential =>
    certified && given.method === 'bearer' ? { ...given, method: 'hybrid' } : given;
  const { apiKey: key, token } = credential ?? {};
  const certificate: Credential | undefined = certified
    ? { label: 'certificate', method: 'mtls', valid: true }
    : undefined;
  const bearerToken = typeof token === 'string' ? hybrid(bearer('token', token)) : undefined;
  const main = key === undefined ? (bearerToken ?? certificate) : apiKey('key', key);
  const readonly = fromFiles(values, 'readonly');
  const admin = fromFiles(values, 'admin');
  return {
    ...(main && { main }),
    ...(bearerToken && { token: bearerToken }),
    ...(readonly && { readonly: hybrid(readonly) }),
    ...(admin && { admin: hybrid(admin) }),
    tenants: [],
  };
}

function fromFiles(values: Values, who: 'readonly' | 'admin'): Credential | undefined {
  const [keyOption, tokenOption] = [`${who}-key-file`, `${who}-token-file`];
  const [keyFile, tokenFile] = [text(values, keyOption), text(values, tokenOption)];
  if (keyFile !== undefined && tokenFile !== undefined) {
    throw new UsageError(`--${keyOption} and --${tokenOption} cannot be combined`);
  }
  if (keyFile !== undefined) return apiKey(`${who} key`, readWord(keyFile, `--${keyOption}`));
  return tokenFile === undefined ? undefined : bearer(`${who} token`, readWord(tokenFile, `--${tokenOption}`));
}

async function judged(judgement: Judgement, terminal: Terminal): Promise<Report> {
  try {
    // The first interrupt ends the run in order, so that the server is left as it was.
    return await judge(judgement, (line) => terminal.note(line), terminal.interruption());
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const address = judgement.target.url.origin;
    throw new RdcpError('RDCP_UNAVAILABLE', `The server at ${address} cannot be reached`, {
      cause: new Error(error.message, { cause: error }),
    });
  }
}

function listed() {
  return catalogue.map(({ id, strength, section, statement }) => ({ id, strength, section, statement }));
}

function listing(): string {
  return listed()
    .map(({ id, strength, section, statement }) => `${id.padEnd(11)} ${strength.padEnd(6)} ${section}: ${statement}`)
    .join('\n');
}
