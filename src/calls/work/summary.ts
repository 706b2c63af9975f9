/** What a piece of work was and how it ended. */
export interface WorkFacts {
  /** What `runWork` was given. */
  readonly name?: string | undefined;
  readonly method?: string | undefined;
  /** Without the query. */
  readonly path?: string | undefined;
  readonly route?: string | undefined;
  /** The status of the answer, or how the work ended without one. @default that it is done, or has failed */
  readonly state?: string | undefined;
  readonly failed: boolean;
  /** The type of what was thrown. */
  readonly error?: string | undefined;
  readonly milliseconds: number;
}

/** Longest summary, in characters: a client chooses the path. */
const MAX_SUMMARY = 256;
/** Characters of a path in which credentials are searched, so that none is cut before it is found. */
export const MAX_SEARCHED = 16_384;

/**
 * One line of at most 256 characters: `POST /orders 500 after 12 ms, TypeError`.
 * @param mask masks credentials in what others have chosen
 */
export function summaryOf(facts: WorkFacts, mask: (text: string) => string): string {
  const { name, method, path, route, failed, error, milliseconds } = facts;
  const what = name ?? (method === undefined ? 'work' : `${method} ${route ?? path}`);
  const state = facts.state ?? (failed ? 'failed' : 'done');
  const type = error === undefined ? '' : `, ${cut(mask(error), MAX_SUMMARY / 2)}`;
  const end = ` ${state} after ${tookText(milliseconds)}${type}`;
  return cut(mask(what.slice(0, MAX_SEARCHED)), MAX_SUMMARY - end.length) + end;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…`.toWellFormed() : text;
}

function tookText(milliseconds: number): string {
  const rounded = Math.round(milliseconds);
  return rounded < 1000 ? `${rounded} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
