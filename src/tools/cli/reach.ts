import type { RecorderReach } from '../../wire/messages.ts';
import type { Terminal } from './command.ts';

/** Says how far back the recorder of the responding process reaches, where the answer does. */
export function noteReach(terminal: Pick<Terminal, 'note'>, reach: RecorderReach | undefined): void {
  if (reach === undefined) return;
  const { reachesBack, works, bytes } = reach;
  const kept = `${works} pieces of work, ${bytes} bytes`;
  terminal.note(
    reachesBack === undefined ? 'recorder: nothing is kept yet' : `recorder: reaches back ${reachesBack} (${kept})`,
  );
}
