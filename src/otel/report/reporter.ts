import { isPromise } from 'node:util/types';
import { escapeUnprintable } from '../../wire/printable.ts';
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
