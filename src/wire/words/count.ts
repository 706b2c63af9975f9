/** A number with its word, such as `1 line` and `1,204 lines`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}

export function processesText(count: number): string {
  return counted(count, 'process', 'processes');
}

/** For the beginning of a sentence, or a text that stands alone. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
