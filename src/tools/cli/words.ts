const NAMED = 5;

/** The names, or the first of them and how many more there are. */
export function some(names: readonly string[], between = ', '): string {
  if (names.length <= NAMED) return names.join(between);
  return `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`;
}

/** A number with its word, such as `1 line` and `3 lines`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
