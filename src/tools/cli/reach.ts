import type { RecorderReach } from '../../wire/messages.ts';
import type { Terminal } from './command.ts';

/** Says how far back the recorder of the responding process reaches, where the answer does. */
export function noteReach(terminal: Pick<Terminal, 'note'>, reach: RecorderReach | undefined): void {
  if (reach === undefined || reach.works === 0) return;
  const { reachesBack = '0s', works, bytes } = reach;
  const pieces = works === 1 ? '1 piece' : `${works} pieces`;
  terminal.note(`recorder: reaches back ${reachesBack} (${pieces} of work, ${bytes} bytes)`);
}
