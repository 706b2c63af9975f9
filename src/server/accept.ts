import { JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE } from '../protocol/constants.ts';

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

export type Negotiation =
  | { readonly mediaType: typeof JSON_MEDIA_TYPE | typeof RDCP_MEDIA_TYPE }
  /** `version` when the client states a version of the protocol that is not ours, and nothing else we speak. */
  | { readonly refused: 'version' | 'type' };

const OFFERED = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE] as const;
const VERSIONED = /^application\/vnd\.rdcp\.v\d+\+json$/;
/** RFC 9110, section 12.4.2. */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The media type of the answer (RFC 9110, section 12.5.1): the highest quality wins, then the range that names a type
 * more exactly, then `application/json`. Parameters other than `q` do not tell our types apart and are ignored.
 */
export function negotiate(accept: string | undefined): Negotiation {
  if (accept === undefined || accept.trim() === '') return { mediaType: JSON_MEDIA_TYPE };
  const ranges = accept.split(',').map(parseRange);
  let best: { mediaType: (typeof OFFERED)[number]; rank: readonly [number, number, number] } | undefined;
  for (const mediaType of OFFERED) {
    const match = matchOf(mediaType, ranges);
    if (match === undefined || match.quality === 0) continue;
    const rank = [match.quality, match.specificity, -match.position] as const;
    if (best === undefined || outranks(rank, best.rank)) best = { mediaType, rank };
  }
  if (best !== undefined) return { mediaType: best.mediaType };
  return { refused: ranges.some(({ type, quality }) => quality > 0 && isForeignVersion(type)) ? 'version' : 'type' };
}

function isForeignVersion(type: string): boolean {
  return VERSIONED.test(type) && type !== RDCP_MEDIA_TYPE;
}

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const stated = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (stated === undefined) return { type, quality: 1 };
  return { type, quality: QUALITY.test(stated) ? Number(stated) : 0 };
}

/** The range that names the type most exactly; it alone decides the quality. */
function matchOf(mediaType: string, ranges: readonly MediaRange[]) {
  for (const [specificity, pattern] of [
    [2, mediaType],
    [1, 'application/*'],
    [0, '*/*'],
  ] as const) {
    const position = ranges.findIndex(({ type }) => type === pattern);
    const range = ranges[position];
    if (range !== undefined) return { quality: range.quality, specificity, position };
  }
  return undefined;
}

function outranks(rank: readonly number[], other: readonly number[]): boolean {
  const decisive = rank.findIndex((value, index) => value !== other[index]);
  return decisive !== -1 && (rank[decisive] ?? 0) > (other[decisive] ?? 0);
}
