/** Where a text is not JSON, in brackets, if the parser's error says so. The rest of its message may quote the text. */
export function faultPlace(error: unknown): string {
  return / \(line \d+ column \d+\)$/.exec(String(error))?.[0] ?? '';
}
