/**
 * Writes lines on stderr, and bears one that was closed: its error, which would end the process, is ours to take while
 * a line of ours is under way, and only then. It is emitted a tick after the write is told to have failed.
 */
export function createStderrWriter(): (line: string) => void {
  const ignore = () => {};
  let underWay = 0;
  return (line) => {
    const { stderr } = process;
    if (underWay === 0) stderr.on('error', ignore);
    underWay += 1;
    stderr.write(`${line}\n`, () =>
      setImmediate(() => {
        underWay -= 1;
        if (underWay === 0) stderr.off('error', ignore);
      }),
    );
  };
}
