import type { Command, Commands } from '../../src/tools/cli/command.ts';

/** Every command with the words that name it. */
export async function commandsOf(
  commands: Commands,
  path: readonly string[] = [],
): Promise<[readonly string[], Command][]> {
  const found: [readonly string[], Command][] = [];
  for (const [name, entry] of Object.entries(commands)) {
    const here = [...path, name];
    const command = 'commands' in entry ? entry : await entry();
    if ('run' in command) found.push([here, command]);
    found.push(...(await commandsOf(('run' in command ? command.subcommands : command.commands) ?? {}, here)));
  }
  return found;
}
