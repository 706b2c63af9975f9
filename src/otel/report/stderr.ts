import { timers } from '../../wire/time/timers.ts';

/** Most bytes buffered for stderr, including the application's own. Bounds the memory if the reader stalls. */
export const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Returns a function that writes a line to stderr, without its line break; `false` if the buffer is full and the line was
 * dropped. `done` is called once a line is written, or could not be. Swallows stderr errors only while our own writes are
 * pending, because an unhandled error would end the process. Node emits such an error one tick after the write has failed.
 */
export function createStderrWriter(
  maxWaitingBytes: number = MAX_WAITING_BYTES,
): (line: string, done?: () => void) => boolean {
  const ignore = () => {};
  let pending = 0;
  let listening = false;
  let leaving = false;
  const leave = () => {
    leaving = false;
    if (pending > 0) return;
    listening = false;
    process.stderr.off('error', ignore);
  };
  const written = () => {
    pending -= 1;
    if (pending > 0 || leaving) return;
    leaving = true;
    timers.setImmediate(leave);
  };
  return (line, done) => {
    const { stderr } = process;
    const bytes = stderr.writableLength > 0 ? withoutPool(`${line}\n`) : Buffer.from(`${line}\n`);
    if (stderr.writableLength + bytes.length > maxWaitingBytes) return false;
    if (!listening) stderr.on('error', ignore);
    listening = true;
    pending += 1;
    stderr.write(bytes, () => {
      done?.();
      written();
    });
    return true;
  };
}

/** A small Buffer is a slice of a pool of 64 KiB, which a single waiting line would keep in memory. */
function withoutPool(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
