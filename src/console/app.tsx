import type { FunctionComponent } from 'preact';
import { Button } from './parts/button.tsx';
import { Dialog } from './parts/dialog.tsx';
import { Loading, Notice } from './parts/notice.tsx';
import { Text } from './parts/text.tsx';
import type { Connection } from './state/connection.ts';
import { href, type ViewName } from './state/route.ts';
import { useRoute } from './state/use-route.ts';
import { useStore } from './state/use-store.ts';
import { AuditView } from './views/audit.tsx';
import { CategoriesView } from './views/categories.tsx';
import { FleetView } from './views/fleet.tsx';
import { HealthView } from './views/health.tsx';
import { SignIn } from './views/sign-in.tsx';
import { TailView } from './views/tail.tsx';
import { TenantsView } from './views/tenants.tsx';
import type { ViewProps } from './views/view.ts';

interface Entry {
  readonly title: string;
  readonly View: FunctionComponent<ViewProps>;
  /** Whether the credential and the server have it. @default yes */
  readonly offered?: (connection: Connection) => boolean;
}

const ENTRIES: Readonly<Record<ViewName, Entry>> = {
  categories: { title: 'Categories', View: CategoriesView },
  tail: {
    title: 'Tail',
    View: TailView,
    offered: (connection) => has(connection, 'tail') && connection.can('control'),
  },
  audit: { title: 'Audit', View: AuditView, offered: (connection) => connection.can('admin') },
  fleet: { title: 'Fleet', View: FleetView, offered: (connection) => has(connection, 'fleet') },
  health: { title: 'Health', View: HealthView },
  tenants: { title: 'Tenants', View: TenantsView, offered: hasTenants },
};

function has({ store }: Connection, endpoint: string): boolean {
  return store.state.server?.otelrdcp_endpoints[endpoint] !== undefined;
}

/** Only an operator without a tenant of its own may choose one. */
function hasTenants(connection: Connection): boolean {
  return connection.store.state.server?.capabilities.multiTenancy === true && connection.can('admin');
}

export function App({ connection }: { readonly connection: Connection }) {
  const stage = useStore(connection, (state) => state.stage);
  const problem = useStore(connection, (state) => state.problem);
  switch (stage) {
    case 'starting':
      return <Loading what="the console" />;
    case 'unreachable':
      return problem ? <Notice problem={problem} onRetry={() => void connection.begin()} /> : null;
    case 'signed-out':
      return (
        <main class="sign-in-page">
          <h1>Debug control</h1>
          <SignIn connection={connection} />
        </main>
      );
    default:
      return (
        <>
          <Shell connection={connection} />
          {stage === 'expired' && (
            <Dialog title="Sign in again">
              <SignIn connection={connection} />
            </Dialog>
          )}
        </>
      );
  }
}

function Shell({ connection }: { readonly connection: Connection }) {
  const route = useRoute();
  const session = useStore(connection, (state) => state.session);
  const announcement = useStore(connection, (state) => state.announcement);
  const tenant = useStore(connection, (state) => state.tenant);
  const offered = (Object.entries(ENTRIES) as [ViewName, Entry][]).filter(
    ([, entry]) => entry.offered?.(connection) !== false,
  );
  const { View } = ENTRIES[route.view];
  return (
    <>
      <header class="top">
        <nav aria-label="Views">
          {offered.map(([view, { title }]) => (
            <a key={view} href={href(view)} aria-current={view === route.view ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <span>
          <Text value={session?.userId ?? ''} /> ({session?.scopes.join(', ')})
        </span>
        <Button onClick={() => void connection.signOut()}>Sign out</Button>
      </header>
      <main id="view" tabIndex={-1}>
        <View key={tenant ?? ''} connection={connection} route={route} />
      </main>
      <div class="visually-hidden" role="status">
        {announcement}
      </div>
    </>
  );
}
