/** Bytes that may wait for stderr, the application's own included: a reader that stands still costs no more memory. */
export const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Writes lines, given without their ends, on stderr; false where one was dropped, because too much waits already. Swallows the errors of a stderr that was closed while writes of ours are pending, and only then:
 * they would end the process. Such an error is emitted a tick after its write has failed.
 */
export function createStderrWriter(maxWaitingBytes: number = MAX_WAITING_BYTES): (line: string) => boolean {
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
    setImmediate(leave);
  };
  return (line) => {
    const { stderr } = process;
    const bytes = Buffer.from(`${line}\n`);
    if (stderr.writableLength + bytes.length > maxWaitingBytes) return false;
    if (!listening) stderr.on('error', ignore);
    listening = true;
    pending += 1;
    stderr.write(bytes, written);
    return true;
  };
}
