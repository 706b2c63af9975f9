/**
 * Whether a logger in front (Nest's) has decided about the line that is being written. The logger behind it (pino, winston)
 * then writes the line: it is counted once. Set only while the logger in front runs.
 */
export const decision: { taken: boolean } = { taken: false };

/** Runs `write` as a line that is decided. */
export function writeDecided<T>(write: () => T): T {
  const before = decision.taken;
  decision.taken = true;
  try {
    return write();
  } finally {
    decision.taken = before;
  }
}

/** Runs `write` as application code whose own lines are not decided: a mixin, a format or a stream may log, too. */
export function writeLast<T>(write: () => T): T {
  decision.taken = false;
  try {
    return write();
  } finally {
    decision.taken = true;
  }
}
