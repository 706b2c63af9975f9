import { effect, signal } from '@preact/signals';
import { parseDuration } from '../../../../wire/time.ts';
import { connection, state } from '../../page.ts';
import { REAL_TIME } from '../../state/follower.ts';
import { EVERYTHING, partOfQuery, queryOfPart, readPart } from '../../state/part.ts';
import { href, parseRoute, type Query } from '../../state/route.ts';
import { keepLines, takeLines } from './kept-lines.ts';
import type { Row } from './row.ts';
import { TailSession, type TailSettings } from './tail-session.ts';

// The one tail of this page. It goes on while other views are shown, until it ends or its reader signs out.

const DEFAULT_SECONDS = 300;
/** Longest work on the filter in one frame, in milliseconds. */
const SLICE_MS = 8;

/** Counts up when there is something new to draw, at most once a frame. */
export const version = signal(0);
/** The row whose details are shown. */
export const selected = signal<Row>();
/** Whether the newest line stays in sight. */
export const follow = signal(true);
/** Whether the lines are still there after a reload. */
export const keeps = signal(false);

/** Names of processes, also of those that have left. */
const labels = new Map<string, string>();
let frame = 0;

export const tail = new TailSession({
  ...REAL_TIME,
  open: ({ categories, seconds, tenant, ...settings }, signal) =>
    connection.clientFor(tenant).tail(categories, { ...settings, duration: seconds, signal }),
  changed: draw,
  nameOf,
});

/** Draws in the next frame. */
export function draw(): void {
  if (frame === 0) frame = requestAnimationFrame(drawNow);
}

/** Draws what the reader has just done, without waiting for a frame. */
export function drawNow(): void {
  frame = 0;
  const until = performance.now() + SLICE_MS;
  tail.log.work(() => performance.now() > until);
  if (tail.log.isFiltering) draw();
  version.value += 1;
}

export function nameOf(process: string): string {
  const name = connection.processName(process);
  if (name.includes(':')) labels.set(process, name);
  return labels.get(process) ?? name;
}

/** The colour of a category among those of the tail, for a style. */
export function hueOf(category: string): Readonly<Record<string, string>> {
  return { '--hue': String((tail.settings.categories.indexOf(category) * 137 + 255) % 360) };
}

/** The categories that an address names. */
export function categoriesOf(query: URLSearchParams): readonly string[] {
  return [...new Set((query.get('categories') ?? '').split(',').filter((name) => name !== ''))];
}

/** The tail that an address asks for; what is wrong with it as text. */
function settingsOf(query: URLSearchParams): TailSettings | string {
  const categories = categoriesOf(query);
  const part = readPart(partOfQuery(query));
  if (typeof part === 'string') return part;
  if (categories.length === 0) return 'Choose a category';
  const rate = Number(query.get('rate'));
  const since = sinceOf(query);
  return {
    categories,
    ...part,
    ...(since > 0 && { since, ...(query.get('past') === 'true' && { past: true }) }),
    seconds: secondsOf(query),
    ...(rate > 0 && { rate }),
    log: query.get('log') === 'true',
    tenant: connection.tenant,
  };
}

/** How long the tail of an address lasts, in seconds, as far as the credential may. */
export function secondsOf(query: URLSearchParams): number {
  return Math.min(parseDuration(query.get('duration')) ?? DEFAULT_SECONDS, connection.maxSeconds());
}

/** How far back the tail of an address begins, in seconds; 0 for now. Not before what the service keeps. */
export function sinceOf(query: URLSearchParams): number {
  return Math.min(parseDuration(query.get('since')) ?? 0, connection.keepSeconds);
}

/** Starts the tail that an address asks for. @returns what is wrong with it */
export function startTail(query: URLSearchParams): string | undefined {
  const settings = settingsOf(query);
  if (typeof settings === 'string') return settings;
  follow.value = true;
  tail.start(settings);
  return undefined;
}

/** Goes to a tail, which begins at once. */
export function goToTail(query: Query): void {
  const address = href('tail', undefined, query);
  location.assign(address);
  startTail(parseRoute(address).query);
}

/** Goes to the tail of some categories. @param part of their lines */
export function tailOf(categories: readonly string[], part = EVERYTHING): void {
  goToTail({ ...queryOfPart(part), categories: [...categories].sort().join(',') });
}

/** Ends the tail and forgets its lines. */
export function closeTail(): void {
  selected.value = undefined;
  tail.reset();
}

let reader: string | undefined;
// The lines belong to who asked for them.
effect(() => {
  const { userId, tenantId, scopes } = state.session.value ?? {};
  const now = userId && JSON.stringify([userId, tenantId, scopes]);
  if (reader !== undefined && now !== reader) closeTail();
  if (reader === undefined && now !== undefined) bringBack(now);
  reader = now;
});

/** Shows the lines that were kept over a reload. */
function bringBack(of: string): void {
  const kept = takeLines(of);
  if (kept === undefined) return;
  keeps.value = true;
  tail.restore(kept.settings, kept.rows);
}

addEventListener('online', () => tail.wake());
addEventListener('pagehide', () => {
  tail.stop();
  if (keeps.value && reader !== undefined) keepLines(reader, tail.settings, tail.log.rows);
});
addEventListener('beforeunload', (event) => {
  if (tail.isRunning || (tail.log.lines > 0 && !keeps.value)) event.preventDefault();
});
