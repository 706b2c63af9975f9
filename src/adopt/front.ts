/** What a logger in front (Nest's) has decided about the line that it passes on to the logger behind it (pino, winston). */
export interface Front {
  /** Whether the line is counted already, so that the logger behind writes it. */
  readonly isDecided: boolean;
  /** Whether the line is recorded already, so that the logger behind does not record it again. */
  readonly isRecorded: boolean;
  /**
   * Whether the category in front lets out a line that the logger behind holds back, which the logger in front cannot see.
   * Counts the line, or gives it to taps.
   */
  readonly letsOut: () => boolean;
}

export const DECIDED: Front = { isDecided: true, isRecorded: true, letsOut: () => true };

let current: Front | undefined;

/** The decision about the line that is being passed on; `undefined` while no logger in front passes one on. */
export function inFront(): Front | undefined {
  return current;
}

/** Runs `write` under a decision; `undefined` is for code that logs lines of its own, such as a mixin, a format or a stream. */
export function writeBehind<T>(front: Front | undefined, write: () => T): T {
  if (current === front) return write();
  const before = current;
  current = front;
  try {
    return write();
  } finally {
    current = before;
  }
}
