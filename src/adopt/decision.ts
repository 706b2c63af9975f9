interface Decision {
  /**
   * What a logger in front (Nest's) has done with the line: nothing; given it to the taps of its own category; or decided
   * and counted it, so that the loggers behind write it.
   */
  front: 'none' | 'seen' | 'decided';
  /**
   * Whether the category in front lets a line of INFO or above out that the logger behind holds back, which the logger in
   * front cannot see. Counts the line, or gives it to taps.
   * @default lets it out if the line is decided
   */
  passes: (() => boolean) | undefined;
  /** Whether the category in front is recorded: the line is kept there, and not a second time. */
  isRecorded: boolean;
}

/** The decision about the line that a logger in front passes on to another one (pino, winston). Set only while it runs. */
export const decision: Decision = { front: 'none', passes: undefined, isRecorded: false };

/** Whether the category in front lets a line of INFO or above out that the logger behind holds back. */
export function passesInFront(): boolean {
  return decision.front !== 'none' && (decision.passes?.() ?? decision.front === 'decided');
}

/** Runs `write` under a decision. */
export function writeBehind<T>({ front, passes, isRecorded }: Readonly<Decision>, write: () => T): T {
  const before = { ...decision };
  decision.front = front;
  decision.passes = passes;
  decision.isRecorded = isRecorded;
  try {
    return write();
  } finally {
    Object.assign(decision, before);
  }
}

const NONE: Readonly<Decision> = { ...decision };

/** Runs `write` as application code whose own lines are not decided: a mixin, a format or a stream may log, too. */
export function writeLast<T>(write: () => T): T {
  return decision.front === 'none' ? write() : writeBehind(NONE, write);
}
