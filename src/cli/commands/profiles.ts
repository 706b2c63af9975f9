import type { Command } from '../command.ts';
import { OUTPUT_OPTIONS, present } from '../output.ts';
import { type Profile, readProfiles } from '../profiles.ts';
import { table } from '../table.ts';

export const profiles: Command = {
  summary: 'list the profiles, without their credentials',
  options: OUTPUT_OPTIONS,
  examples: ['rdcp profiles'],
  run: async (terminal, values) => {
    const known = [...readProfiles(terminal)].sort(([a], [b]) => (a < b ? -1 : 1));
    const shown = known.map(([name, profile]) => ({
      name,
      url: profile.url,
      ...(profile.tenant !== undefined && { tenant: profile.tenant }),
      credential: credentialsOf(profile),
    }));
    present(terminal, values, { profiles: shown }, () => {
      const rows = shown.map(({ name, url, tenant, credential }) => [name, url, tenant ?? '-', credential.join(', ')]);
      terminal.show(table(terminal, ['PROFILE', 'ADDRESS', 'TENANT', 'CREDENTIAL'], rows));
    });
    return 0;
  },
};

function credentialsOf({ apiKey, token, certFile }: Profile): string[] {
  return [
    ...(apiKey === undefined ? [] : ['API key']),
    ...(token === undefined ? [] : ['token']),
    ...(certFile === undefined ? [] : ['certificate']),
  ];
}
