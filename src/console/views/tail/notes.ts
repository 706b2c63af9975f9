import { counted } from '../../parts/counted.ts';
import type { Note } from './line-log.ts';

const REASONS: Readonly<Record<Extract<Note, { type: 'ended' }>['reason'], string>> = {
  expired: 'The time is over.',
  budget: 'The number of lines is reached.',
  revoked: 'The credential has expired, was revoked or has lost its scope.',
  shutdown: 'The server shuts down.',
  stopped: 'Stopped.',
  failed: 'The server refused to go on.',
};

/** A note as the log shows it. */
export function noteText(note: Note, nameOf: (process: string) => string): string {
  switch (note.type) {
    case 'began': {
      const from = `${note.categories.join(', ')} from ${counted(note.instances, 'process', 'processes')}`;
      return note.again ? `Connected again: ${from}. Lines in between are missing.` : `Tail of ${from}.`;
    }
    case 'joined':
      return `${nameOf(note.instance)} joined`;
    case 'left':
      return `${nameOf(note.instance)} left`;
    case 'dropped':
      return `${counted(note.count, 'line', 'lines')} dropped: over the rate, or faster than this page or the store`;
    case 'unseen':
      return `${counted(note.count, 'line', 'lines')} given up during the pause`;
    case 'lost':
      return `${note.why}. Connecting again …`;
    case 'ended':
      return `End of the tail. ${REASONS[note.reason]}`;
  }
}
