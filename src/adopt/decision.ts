interface Decision {
  taken: boolean;
  /**
   * Decides and counts a line of INFO or above that the logger behind holds back: the logger in front cannot see which ones.
   * @default such lines are let through
   */
  passes: (() => boolean) | undefined;
}

/**
 * Whether a logger in front (Nest's) has decided about the line that is being written. The logger behind it (pino, winston)
 * then writes the line: it is counted once. Set only while the logger in front runs.
 */
export const decision: Decision = { taken: false, passes: undefined };

/** Runs `write` as a line that is decided. */
export function writeDecided<T>(write: () => T, passes?: () => boolean): T {
  const before = { ...decision };
  decision.taken = true;
  decision.passes = passes;
  try {
    return write();
  } finally {
    Object.assign(decision, before);
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
