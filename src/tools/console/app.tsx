import type { FunctionComponent } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { connection, hrefOf, route, state, useShortcuts } from './page.ts';
import { Dialog } from './parts/dialog.tsx';
import { printable } from './parts/format.ts';
import { Boundary, Empty, Loading, Notice } from './parts/notice.tsx';
import { isSwitchedOn } from './state/listing.ts';
import type { ViewName } from './state/route.ts';
import { AuditView } from './views/audit.tsx';
import { Banners, Toasts } from './views/banners.tsx';
import { CategoriesView } from './views/categories.tsx';
import { CategoryView } from './views/category.tsx';
import { FailuresView } from './views/failures.tsx';
import { FleetView } from './views/fleet.tsx';
import { Header } from './views/header.tsx';
import { HealthView } from './views/health.tsx';
import { Help } from './views/help.tsx';
import { type Command, Palette } from './views/palette.tsx';
import { SignIn } from './views/sign-in.tsx';
import { SwitchDialog } from './views/switch-dialog.tsx';
import { TailSummary } from './views/tail/tail-status.tsx';
import { TailDock, TailView } from './views/tail.tsx';
import { TenantsView } from './views/tenants.tsx';

/** Why a view is not offered: the title, and what more there is to say. */
type Lack = readonly [title: string, text: string] | undefined;

interface Entry {
  readonly title: string;
  readonly View: FunctionComponent;
  /** The second key after `g`. */
  readonly key: string;
  readonly lacks?: () => Lack;
}

function lacksUnless(has: boolean, title: string): Lack {
  return has ? undefined : [title, `Your credential has ${connection.session?.scopes.join(', ') || 'no scope'}.`];
}

const lacksLines = () => lacksUnless(connection.mayTail, 'Your credential may not read lines');
const STORES = 'It shares its state with no other. With Redis or a SQLite file as store, a fleet is listed here.';

const ENTRIES: Readonly<Record<ViewName, Entry>> = {
  categories: {
    title: 'Categories',
    View: CategoriesView,
    key: 'c',
    lacks: () => lacksUnless(connection.can('discovery'), 'The list of categories needs the scope discovery'),
  },
  tail: { title: 'Tail', View: TailView, key: 't', lacks: lacksLines },
  failures: { title: 'Failures', View: FailuresView, key: 'x', lacks: lacksLines },
  audit: {
    title: 'Audit',
    View: AuditView,
    key: 'a',
    lacks: () => lacksUnless(connection.can('admin'), 'The audit trail needs the scope admin'),
  },
  fleet: {
    title: 'Fleet',
    View: FleetView,
    key: 'f',
    lacks: () => (connection.has('fleet') ? undefined : ['This process stands alone', STORES]),
  },
  health: { title: 'Health', View: HealthView, key: 'h' },
  tenants: {
    title: 'Tenants',
    View: TenantsView,
    key: 'n',
    lacks: () =>
      connection.hasTenants
        ? lacksUnless(
            connection.choosesTenants && connection.can('control'),
            'The list of tenants needs the scope admin',
          )
        : ['This service has no tenants', 'Its settings are for everybody.'],
  },
};

export function App() {
  const stage = state.stage.value;
  const isShown = stage === 'signed-in' || stage === 'expired';
  useEffect(() => {
    if (!isShown) document.title = 'Debug control';
  }, [isShown]);
  if (isShown) return <Shell />;
  const problem = state.problem.value;
  return (
    <main class="alone">
      {stage === 'starting' && <Loading what="the console" />}
      {stage === 'unreachable' && (
        <>
          <h1>Debug control</h1>
          {problem && <Notice problem={problem} onRetry={() => void connection.begin()} />}
        </>
      )}
      {stage === 'signed-out' && (
        <>
          <h1 class="bar">
            <img src="icon.svg" alt="" width="32" height="32" /> Debug control
          </h1>
          <p class="muted">{location.host}</p>
          <SignIn />
        </>
      )}
    </main>
  );
}

/** The page around the views. */
function Shell() {
  const { view, item } = route.value;
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(false);
  const [command, setCommand] = useState<Command>();
  // After the palette has given the focus back.
  useLayoutEffect(() => void command?.run(), [command]);
  const toSearch = useRef(false);
  const { value: asked } = state.asked;
  const service = state.session.value?.otelrdcp_console?.service ?? location.host;
  const on = [...(state.categories.value?.values() ?? [])].filter(isSwitchedOn).length;
  const offered = (Object.entries(ENTRIES) as [ViewName, Entry][]).filter(([, { lacks }]) => lacks?.() === undefined);
  const { View, title, lacks } = ENTRIES[view];
  const lacking = lacks?.();
  const category = lacking === undefined && view === 'categories' ? item : undefined;
  const shown = `${view}/${item ?? ''}`;

  useShortcuts({
    '?': () => setHelp(true),
    '/': () => {
      if (focusSearch()) return;
      toSearch.current = true;
      location.assign(hrefOf('categories'));
    },
    n: () => document.querySelector<HTMLElement>('.top select')?.focus(),
    ...Object.fromEntries(offered.map(([name, { key }]) => [`g ${key}`, () => location.assign(hrefOf(name))])),
  });
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      setPalette(true);
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  useEffect(() => {
    const what = printable(item ?? title, 80).text;
    document.title = `${on > 0 ? `${on} on · ` : ''}${what} · ${printable(service, 60).text}`;
  }, [on, service, title, item]);
  useFocusOnChange(shown, toSearch);
  // The field for the credential, which had the focus, is gone.
  useLayoutEffect(focusView, []);

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
      <Boundary>
        <Header
          service={service}
          entries={offered.map(([name, entry]) => [name, entry.title] as const)}
          current={view}
          onHelp={() => setHelp(true)}
          onPalette={() => setPalette(true)}
        />
      </Boundary>
      <Boundary>
        <Banners />
      </Boundary>
      <Toasts />
      <main id="view" tabIndex={-1}>
        {category === undefined && <h1 class="visually-hidden">{title}</h1>}
        <Boundary key={`${connection.tenant ?? ''} ${shown}`}>
          {lacking ? (
            <Empty title={lacking[0]}>
              <p>{lacking[1]}</p>
            </Empty>
          ) : category === undefined ? (
            <View />
          ) : (
            <CategoryView name={category} />
          )}
        </Boundary>
      </main>
      {view !== 'tail' && (
        <Boundary>
          <TailDock />
        </Boundary>
      )}
      <TailSummary />
      {palette && (
        <Palette
          views={offered.map(([name, entry]) => [name, entry.title] as const)}
          onHelp={() => setHelp(true)}
          onChoose={(chosen) => {
            setPalette(false);
            setCommand(chosen);
          }}
          onClose={() => setPalette(false)}
        />
      )}
      {help && <Help onClose={() => setHelp(false)} />}
      {asked && (
        <Boundary key={asked}>
          <SwitchDialog asked={asked} />
        </Boundary>
      )}
      {state.stage.value === 'expired' && (
        <Dialog title="Sign in again">
          <p>Your session has ended. The page and your input stay as they are.</p>
          <SignIn again />
        </Dialog>
      )}
      <div class="visually-hidden" role="status">
        {state.announcement}
      </div>
    </>
  );
}

/**
 * Another view takes the focus, so that the keyboard and readers of the screen go on there.
 * @param toSearch whether the search of the next view gets the focus, once
 */
function useFocusOnChange(shown: string, toSearch: { current: boolean }): void {
  const before = useRef(shown);
  useLayoutEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    scrollTo(0, 0);
    if (!toSearch.current || !focusSearch()) focusView();
    toSearch.current = false;
  }, [shown]);
}

/** @returns whether the view has a search */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type=search]');
  field?.focus();
  field?.select();
  return field !== null;
}

function focusView(): void {
  document.getElementById('view')?.focus({ preventScroll: true });
}
