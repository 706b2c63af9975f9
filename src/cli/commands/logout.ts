import type { Command } from '../command.ts';
import { CREDENTIAL_OPTIONS } from '../connection.ts';
import { profileName, readProfiles, updateProfiles } from '../profiles.ts';

export const logout: Command = {
  summary: 'remove a profile with its credential',
  options: {
    profile: { ...CREDENTIAL_OPTIONS.profile, help: 'name of the profile (default: RDCP_PROFILE, else default)' },
  },
  notes: ['The credential stays valid: revoke it with rdcp keys revoke, or rdcp token revoke.'],
  examples: ['rdcp logout --profile staging'],
  run: async (terminal, values) => {
    const name = profileName(terminal, values);
    if (!readProfiles(terminal).has(name)) throw new Error(`there is no profile '${name}'; see 'rdcp profiles'`);
    await updateProfiles(terminal, (profiles) => profiles.delete(name));
    terminal.note(`Removed profile ${name}.`);
    return 0;
  },
};
