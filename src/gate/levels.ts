/** Levels of lines, from the least urgent. The levels of every logger are ranked among them; a debug call has `debug`. */
export const LEVEL = { silly: 1, trace: 2, debug: 3, info: 4, warn: 5, error: 6 } as const;

/** No level is given: every line that the logger has comes out. */
export const ANY_LEVEL = 0;
