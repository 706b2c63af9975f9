import type { TenantSummary } from '../../protocol/messages.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Empty, Loading } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { href } from '../state/route.ts';
import { replaceQuery } from '../state/use-route.ts';
import { useStore } from '../state/use-store.ts';
import { foundTenants, namesOn } from './tenants/found-tenants.ts';
import type { ViewProps } from './view.ts';

const ROW_HEIGHT = 56;
/** Categories that a row names. */
const MOST_NAMES = 6;

export function TenantsView({ connection, route }: ViewProps) {
  const chosen = connection.tenant;
  const tenants = useStore(connection, (state) => state.tenants);
  const search = route.query.get('q') ?? '';
  if (tenants === undefined) return <Loading what="tenants" />;
  const found = foundTenants(tenants, search);
  const total = tenants.length;
  const choose = (id: string | undefined) => {
    connection.chooseTenant(id);
    location.assign(href('categories'));
  };
  return (
    <div class="tenants">
      <SearchBar label="Search tenant or category" value={search} onSearch={(q) => replaceQuery('tenants', { q })}>
        <span class="muted" role="status">
          {found.length < total ? `${found.length} of ${total}` : counted(total, 'tenant', 'tenants')}
        </span>
        {chosen !== undefined && <Button onClick={() => choose(undefined)}>Show everybody's settings</Button>}
      </SearchBar>
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
    <div class="line tenant-row">
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
      <Button aria-label={`${isChosen ? 'Chosen' : 'Choose'} ${name ?? id}`} aria-pressed={isChosen} onClick={onChoose}>
        {isChosen ? 'Chosen' : 'Choose'}
      </Button>
    </div>
  );
}
