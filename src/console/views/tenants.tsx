import type { TenantSummary } from '../../protocol/messages.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { VirtualList } from '../parts/virtual-list.tsx';
import { href } from '../state/route.ts';
import { navigate } from '../state/use-route.ts';
import { useStore } from '../state/use-store.ts';
import { foundTenants, namesOn } from './tenants/found-tenants.ts';
import type { ViewProps } from './view.ts';

const ROW_HEIGHT = 56;
/** Categories that a row names. */
const MOST_NAMES = 6;
const REFRESH_MS = 15_000;

export function TenantsView({ connection, route }: ViewProps) {
  const multi = useStore(connection, (state) => state.server?.capabilities.multiTenancy === true);
  if (!multi) {
    return (
      <Empty title="This service has no tenants">
        <p>Its settings are for everybody. The option tenancy divides them.</p>
      </Empty>
    );
  }
  if (!connection.can('admin')) {
    return (
      <Empty title="The list of tenants needs the scope admin">
        <p>Your credential has {connection.session?.scopes.join(', ') || 'no scope'}.</p>
      </Empty>
    );
  }
  return <Tenants connection={connection} route={route} />;
}

function Tenants({ connection, route }: ViewProps) {
  const chosen = connection.tenant;
  const changes = useStore(connection, (state) => state.entries[0]?.id);
  const { value, problem, refresh } = usePolled(connection, (signal) => connection.client.tenants({ signal }), {
    key: changes,
    everyMs: REFRESH_MS,
  });
  const search = route.query.get('q') ?? '';
  if (value === undefined) return problem ? <Notice problem={problem} onRetry={refresh} /> : <Loading what="tenants" />;
  const found = foundTenants(value.tenants, search);
  const total = value.otelrdcp_total ?? value.tenants.length;
  const choose = (id: string | undefined) => {
    connection.chooseTenant(id);
    navigate(href('categories'));
  };
  return (
    <div class="tenants">
      <h1 class="visually-hidden">Tenants</h1>
      <SearchBar
        label="Search tenant or category"
        value={search}
        onSearch={(q) => navigate(href('tenants', undefined, q === '' ? {} : { q }), { replace: true })}
      >
        <span class="muted" role="status">
          {found.length < total ? `${found.length} of ${total}` : counted(total, 'tenant', 'tenants')}
        </span>
        {chosen !== undefined && <Button onClick={() => choose(undefined)}>Show everybody's settings</Button>}
      </SearchBar>
      {problem && <Notice problem={problem} onRetry={refresh} />}
      {value.tenants.length < total && chosen === undefined && (
        <p class="muted">The server lists the first {value.tenants.length.toLocaleString()}.</p>
      )}
      {found.length === 0 ? (
        <Empty
          title={total === 0 ? 'No tenant is configured, and none has settings of its own' : 'No tenant matches'}
        />
      ) : (
        <VirtualList
          items={found}
          keyOf={({ id }) => id}
          rowHeight={ROW_HEIGHT}
          renderRow={(tenant) => (
            <TenantRow tenant={tenant} isChosen={tenant.id === chosen} onChoose={() => choose(tenant.id)} />
          )}
        />
      )}
    </div>
  );
}

function TenantRow({
  tenant,
  isChosen,
  onChoose,
}: {
  readonly tenant: TenantSummary;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  const on = namesOn(tenant);
  const { id, name, temporaryControls, lastChangedAt } = tenant;
  return (
    <div class={`tenant-row ${isChosen ? 'chosen' : ''}`}>
      <span class="who">
        <strong>
          <Text value={name ?? id} most={120} />
        </strong>{' '}
        {name !== undefined && <span class="muted">{id}</span>}
      </span>
      <span class="names">
        <Badge tone={on.length > 0 ? 'on' : 'off'}>{on.length} on</Badge>
        {on.slice(0, MOST_NAMES).map((each) => (
          <span key={each} class="chip">
            {each}
          </span>
        ))}
        {on.length > MOST_NAMES && <span class="muted">+{on.length - MOST_NAMES}</span>}
      </span>
      <span class="muted">
        {temporaryControls > 0 && `${temporaryControls} for a time`}{' '}
        {lastChangedAt !== undefined && <Time at={lastChangedAt} />}
      </span>
      <Button aria-label={`Switch to ${name ?? id}`} aria-pressed={isChosen} onClick={onChoose}>
        {isChosen ? 'Chosen' : 'Choose'}
      </Button>
    </div>
  );
}
