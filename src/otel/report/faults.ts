import { failureCode, isRdcpError } from '../../wire/errors.ts';
import { fieldOf, isError, messageOf, typeOfThrown } from '../../wire/thrown.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { Reporter } from './reporter.ts';

/** Reports an error that was not foreseen. @param place where it happened, such as `POST /rdcp/v1/control` */
export type ReportFault = (error: unknown, place: string) => void;

const MINUTE_MS = 60_000;
const MAX_KINDS = 100;

/** Reports a fault once a minute for each kind. Message and stack go to the diagnostics alone: they may hold a path or a credential. */
export function createFaultReporter(reporter: Reporter, clock: Pick<Clock, 'monotonic'>): ReportFault {
  /** By the text of the line, the longest unreported first. */
  const kinds = new Map<string, { readonly reportedAt: number; more: number }>();
  return (error, place) => {
    const text = `${place} failed: ${problemOf(error)}`;
    const now = clock.monotonic();
    const last = kinds.get(text);
    if (last !== undefined && now - last.reportedAt < MINUTE_MS) {
      last.more += 1;
      return;
    }
    kinds.delete(text);
    for (const [oldest] of kinds) {
      if (kinds.size < MAX_KINDS) break;
      kinds.delete(oldest);
    }
    kinds.set(text, { reportedAt: now, more: 0 });
    reporter.error(`${text}${last?.more ? ` (${last.more} more times since the last message)` : ''}`);
  };
}

/** What may be said of an error: the message of our own ones, of others the class, the innermost named function and the code. */
export function problemOf(error: unknown): string {
  if (isRdcpError(error) && error.code !== 'RDCP_SERVER_ERROR') return error.message;
  return `RDCP_SERVER_ERROR: ${isRdcpError(error) ? error.message : kindOf(error)}; see docs/messages.md#internal-errors`;
}

function kindOf(error: unknown): string {
  if (!isError(error)) return `a thrown ${typeof error}`;
  const frames = messageOf(fieldOf(error, 'stack')).split('\n').slice(messageOf(error).split('\n').length);
  const name = frames.flatMap((frame) => /^ +at (?:async |new )?([\w$.#<>]{1,64}) /.exec(frame)?.[1] ?? [])[0];
  const kind = /^\w{1,64}$/.exec(typeOfThrown(error))?.[0] ?? 'Error';
  return `${kind}${name === undefined ? '' : ` in ${name}`}${failureCode(error)}`;
}
