import type { FunctionComponent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from './parts/dialog.tsx';
import { Empty, Loading, Notice } from './parts/notice.tsx';
import { printable } from './parts/printable.ts';
import { Toasts } from './parts/toasts.tsx';
import type { Connection } from './state/connection.ts';
import { isSwitchedOn } from './state/listing.ts';
import { href, type ViewName } from './state/route.ts';
import type { State } from './state/state.ts';
import { useRoute } from './state/use-route.ts';
import { useShortcuts } from './state/use-shortcuts.ts';
import { useStore } from './state/use-store.ts';
import { AuditView } from './views/audit.tsx';
import { Banners } from './views/banners.tsx';
import { CategoriesView } from './views/categories.tsx';
import { CategoryView } from './views/category.tsx';
import { FleetView } from './views/fleet.tsx';
import { Header } from './views/header.tsx';
import { HealthView } from './views/health.tsx';
import { Help } from './views/help.tsx';
import { SignIn } from './views/sign-in.tsx';
import { SwitchDialog } from './views/switch-dialog.tsx';
import { TailView } from './views/tail.tsx';
import { TenantsView } from './views/tenants.tsx';
import type { ViewProps } from './views/view.ts';

interface Entry {
  readonly title: string;
  readonly View: FunctionComponent<ViewProps>;
  /** The second key after `g`. */
  readonly key: string;
  /** Why it is not offered, if it is not: the title, and what more there is to say. @default it always is */
  readonly lacks?: (connection: Connection) => readonly [title: string, text: string] | undefined;
}

/** Why a view is not offered to a credential. */
function scopeLacks(connection: Connection, has: boolean, title: string) {
  const scopes = connection.session?.scopes.join(', ') || 'no scope';
  return has ? undefined : ([title, `Your credential has ${scopes}.`] as const);
}

const ENTRIES: Readonly<Record<ViewName, Entry>> = {
  categories: {
    title: 'Categories',
    View: CategoriesView,
    key: 'c',
    lacks: (connection) =>
      scopeLacks(connection, connection.can('discovery'), 'The list of categories needs the scope discovery'),
  },
  tail: {
    title: 'Tail',
    View: TailView,
    key: 't',
    lacks: (connection) => scopeLacks(connection, connection.mayTail, 'Your credential may not read lines'),
  },
  audit: {
    title: 'Audit',
    View: AuditView,
    key: 'a',
    lacks: (connection) => scopeLacks(connection, connection.can('admin'), 'The audit trail needs the scope admin'),
  },
  fleet: {
    title: 'Fleet',
    View: FleetView,
    key: 'f',
    lacks: (connection) =>
      connection.has('fleet')
        ? undefined
        : [
            'This process stands alone',
            'It shares its state with no other. With Redis or a SQLite file as store, a fleet is listed here.',
          ],
  },
  health: { title: 'Health', View: HealthView, key: 'h' },
  tenants: {
    title: 'Tenants',
    View: TenantsView,
    key: 'n',
    lacks: (connection) =>
      connection.hasTenants
        ? scopeLacks(connection, connection.choosesTenants, 'The list of tenants needs the scope admin')
        : ['This service has no tenants', 'Its settings are for everybody.'],
  },
};

export function App({ connection }: { readonly connection: Connection }) {
  const stage = useStore(connection, (state) => state.stage);
  const isShown = stage === 'signed-in' || stage === 'expired';
  useEffect(() => {
    if (!isShown) document.title = 'Debug control';
  }, [isShown]);
  const problem = useStore(connection, (state) => state.problem);
  switch (stage) {
    case 'starting':
      return (
        <main class="alone">
          <Loading what="the console" />
        </main>
      );
    case 'unreachable':
      return (
        <main class="alone">
          <h1>Debug control</h1>
          {problem && <Notice problem={problem} onRetry={() => void connection.begin()} />}
        </main>
      );
    case 'signed-out':
      return (
        <main class="alone">
          <h1 class="bar">
            <img src="icon.svg" alt="" width="32" height="32" /> Debug control
          </h1>
          <p class="muted">{location.host}</p>
          <SignIn connection={connection} />
        </main>
      );
    default:
      return <Shell connection={connection} expired={stage === 'expired'} />;
  }
}

function Shell({ connection, expired }: { readonly connection: Connection; readonly expired: boolean }) {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const asked = useStore(connection, (state) => state.asked);
  const announcement = useStore(connection, (state) => state.announcement);
  const tenant = useStore(connection, (state) => state.tenant);
  const service = useStore(connection, (state) => state.fleet?.members?.[0]?.service) ?? location.host;
  const on = useStore(connection, switchedOn);
  const offered = (Object.entries(ENTRIES) as [ViewName, Entry][]).filter(
    ([, entry]) => entry.lacks?.(connection) === undefined,
  );
  const shown = `${route.view}/${route.item ?? ''}`;
  const { View, title, lacks } = ENTRIES[route.view];
  const lacking = lacks?.(connection);

  useShortcuts(connection, {
    '?': () => setHelp(true),
    ...Object.fromEntries(offered.map(([view, { key }]) => [`g ${key}`, () => location.assign(href(view))])),
  });
  useEffect(() => {
    const what = printable(route.item ?? title, 80).text;
    document.title = `${on > 0 ? `${on} on · ` : ''}${what} · ${printable(service, 60).text}`;
  }, [on, service, title, route.item]);
  useFocusOnChange(shown);

  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it goes to a place on this page, but what stands after # names a view */}
      <a
        class="button skip"
        href="#view"
        onClick={(event) => {
          event.preventDefault();
          focusView();
        }}
      >
        Skip to the content
      </a>
      <Header
        connection={connection}
        service={service}
        entries={offered.map(([view, entry]) => [view, entry.title] as const)}
        current={route.view}
        onHelp={() => setHelp(true)}
      />
      <Banners connection={connection} />
      <main id="view" tabIndex={-1}>
        {!lacking && route.view === 'categories' && route.item !== undefined ? (
          <CategoryView key={`${tenant ?? ''} ${route.item}`} connection={connection} name={route.item} />
        ) : (
          <>
            <h1 class="visually-hidden">{title}</h1>
            {lacking ? (
              <Empty title={lacking[0]}>
                <p>{lacking[1]}</p>
              </Empty>
            ) : (
              <View key={tenant ?? ''} connection={connection} route={route} />
            )}
          </>
        )}
      </main>
      <Toasts connection={connection} />
      {help && <Help connection={connection} onClose={() => setHelp(false)} />}
      {asked && <SwitchDialog key={asked} connection={connection} asked={asked} />}
      {expired && (
        <Dialog title="Sign in again">
          <p>Your session has ended. What you see and typed stays as it is.</p>
          <SignIn connection={connection} again />
        </Dialog>
      )}
      <div class="visually-hidden" role="status">
        {announcement}
      </div>
    </>
  );
}

function switchedOn({ categories }: State): number {
  let count = 0;
  for (const category of categories?.values() ?? []) if (isSwitchedOn(category)) count += 1;
  return count;
}

/** Another view takes the focus, so that the keyboard and readers of the screen go on there. */
function useFocusOnChange(shown: string): void {
  const before = useRef(shown);
  useEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    scrollTo(0, 0);
    focusView();
  }, [shown]);
}

function focusView(): void {
  document.getElementById('view')?.focus({ preventScroll: true });
}
