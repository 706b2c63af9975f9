/** Time as an argument, so that tests need no sleeping. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump either way. */
  now(): number;
  /** Milliseconds of a clock that never goes back, counted from the start of the process. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
