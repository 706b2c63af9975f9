import { isPromise } from 'node:util/types';
import { failureCode, isRdcpError } from '../../wire/errors.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { fieldOf, isError, messageOf, typeOfThrown } from '../../wire/thrown.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { diagnostics } from '../diagnostics.ts';
import { createStderrWriter } from './stderr.ts';

/** Receives this package's own messages, one line each. `console` and loggers of pino and winston have this interface. */
export interface MessageLogger {
  /** Events: the start, changes, the end of a problem. */
  info(message: string): void;
  /** Something that the operator should look at. */
  warn(message: string): void;
  /** Something that does not work. */
  error(message: string): void;
}

/** Reports messages for the service's operator, one line each, without a credential. Never throws. */
export type Reporter = MessageLogger;

/** Longest message, in UTF-16 code units: a name or reason from a request must not fill the log. */
const MAX_LENGTH = 2000;

/** @param logger receives the messages. @default writes one line each to stderr */
export function createReporter(logger: MessageLogger = stderrLogger()): Reporter {
  const failed = (error: unknown) => diagnostics.error('rdcp: the configured logger failed', error);
  const say = (level: keyof MessageLogger) => (message: string) => {
    const text = escapeUnprintable(message.slice(0, MAX_LENGTH).replaceAll(/\s+/g, ' '));
    const line = `rdcp: ${text}${message.length > MAX_LENGTH ? '…' : ''}`;
    try {
      const result: unknown = logger[level](line);
      if (isPromise(result)) Promise.prototype.catch.call(result, failed);
    } catch (error) {
      failed(error);
    }
  };
  return { info: say('info'), warn: say('warn'), error: say('error') };
}

/** Drops messages while the stderr buffer is full. The next message is preceded by the number of dropped ones. */
function stderrLogger(): MessageLogger {
  const writeLine = createStderrWriter();
  let dropped = 0;
  const write = (line: string) => {
    if (dropped > 0 && writeLine(`rdcp: ${dropped} messages were dropped because stderr was not read`)) dropped = 0;
    if (!writeLine(line)) dropped += 1;
  };
  return { info: write, warn: write, error: write };
}

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
