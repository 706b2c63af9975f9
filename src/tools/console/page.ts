import { effect, signal, untracked } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isIdentifier } from '../../wire/names.ts';
import { baseUrlOf, Connection } from './state/connection.ts';
import { href, parseRoute, type Query, type Route, type ViewName } from './state/route.ts';
import { ShortcutKeys, type Shortcuts } from './state/shortcuts.ts';

// The one connection of this page, and what else all its parts share.

export const connection = new Connection(baseUrlOf(location.href));
export const { state } = connection;

/** The time in milliseconds since the epoch, set every second while the page is visible. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

/** The route in the address. */
export const route = signal(parseRoute(location.hash));
addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash);
  showTenantOf(route.value);
});

/** The tail's part of the address when it was shown last: its link leads back to the same. */
export const tailQuery = signal<Query>({});
effect(() => {
  const { view, query } = route.value;
  if (view === 'tail') tailQuery.value = Object.fromEntries(query);
});

/** The address of a view as it was shown last. */
export function hrefOf(view: ViewName): string {
  return href(view, undefined, view === 'tail' ? tailQuery.value : {});
}

/** An address names the tenant that it shows, so that a link shows the same to others. One without a name changes nothing. */
function showTenantOf({ query }: Route): void {
  const tenant = query.get('tenant');
  if (tenant !== null && isIdentifier(tenant) && connection.choosesTenants) connection.chooseTenant(tenant);
}
effect(() => {
  if (state.stage.value === 'signed-in') untracked(() => showTenantOf(route.value));
});
effect(() => {
  const tenant = state.tenant.value;
  const { view, item, query } = route.value;
  if (state.stage.value !== 'signed-in' || (query.get('tenant') ?? undefined) === tenant) return;
  const { tenant: _, ...rest } = Object.fromEntries(query);
  history.replaceState(null, '', href(view, item, { ...rest, tenant }));
  route.value = parseRoute(location.hash);
});

/** Asks a view for something else, without an entry in the history. */
export function replaceQuery(view: ViewName, query: Query): void {
  history.replaceState(null, '', href(view, undefined, query));
  route.value = parseRoute(location.hash);
}

const TYPING = 'input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]';

/** Single keys, except in a field or while a dialog is open. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useLayoutEffect(() => {
    const keys = new ShortcutKeys();
    const pressed = (event: KeyboardEvent) => {
      if (!state.shortcuts.value || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.closest(TYPING)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const found = keys.find(event.key, current.current, event.timeStamp);
      if (found === undefined) return;
      event.preventDefault();
      found();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
