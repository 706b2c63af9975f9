import { escapeUnprintable } from '../../wire/printable.ts';
import { VERSION } from '../../wire/version.ts';
import { EXIT } from './command.ts';
import { createTerminal, type Host } from './terminal.ts';

export async function rdcp(args: readonly string[], host: Host): Promise<number> {
  const terminal = createTerminal(host);
  if (args[0] === '--version' || args[0] === '-v') {
    terminal.out(VERSION);
    return EXIT.done;
  }
  // Connections of a store do not keep the process alive: without a timer it could exit with 0 in the middle of a command.
  const working = setInterval(() => {}, 2 ** 30);
  try {
    const { root } = await import('./commands/root.ts');
    if (args[0] === '__complete') {
      const { complete } = await import('./complete.ts');
      for (const line of await complete(root, args.slice(1), terminal)) terminal.show(line);
      return EXIT.done;
    }
    const { run } = await import('./program.ts');
    return await run('rdcp', root, args, terminal);
  } catch (error) {
    const { failureOf } = await import('./explain.ts');
    const { text, code } = failureOf(error, terminal.sources);
    terminal.note(`rdcp: ${escapeUnprintable(text)}`);
    return code;
  } finally {
    clearInterval(working);
  }
}
