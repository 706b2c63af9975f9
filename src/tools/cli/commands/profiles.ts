import { given } from '../../../wire/json-text.ts';
import type { Command } from '../command.ts';
import { PROFILE_OPTION } from '../connection.ts';
import { OUTPUT_OPTIONS, present } from '../output.ts';
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
