import { isPromise } from 'node:util/types';
import { diagnostics } from './diagnostics.ts';
import { escapeUnprintable } from './printable.ts';
import { createStderrWriter } from './stderr.ts';

/** Takes this package's own messages, each one line. `console`, a pino logger and a winston logger all fit. */
export interface MessageLogger {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Says what the service's operator wants to know: once, in one line, without a credential. Never throws. */
export type Reporter = MessageLogger;

/** Of a message, in UTF-16 code units: a name or a reason that somebody sent must not fill the log. */
const MAX_LENGTH = 2000;

/** @param logger where the messages go. @default one line each on stderr */
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

/** Messages that find too much waiting for stderr are dropped; the first one after says how many. */
function stderrLogger(): MessageLogger {
  const writeLine = createStderrWriter();
  let dropped = 0;
  const write = (line: string) => {
    if (dropped > 0 && writeLine(`rdcp: ${dropped} messages were dropped because stderr was not read`)) dropped = 0;
    if (!writeLine(line)) dropped += 1;
  };
  return { info: write, warn: write, error: write };
}
