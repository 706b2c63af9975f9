import type { TenantSummary } from '../../../wire/messages.ts';
import { counted } from '../../../wire/words/count.ts';
import { connection, replaceQuery, route, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Empty, Loading } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { LongRow, LongTable } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { href } from '../state/route.ts';
import { foundTenants, namesOn } from './search.ts';

const HEAD = ['Tenant', 'Categories that are on', 'Changes', 'Show'];
const ROW_HEIGHT = 56;
/** Categories that a row names. */
const MOST_NAMES = 6;

export function TenantsView() {
  const chosen = connection.tenant;
  const tenants = state.tenants.value;
  const stale = state.tenantsStale.value;
  const categories = state.categories.value;
  const search = route.value.query.get('q') ?? '';
  if (tenants === undefined) return <Loading what="tenants" />;
  const found = foundTenants(tenants, search);
  const total = tenants.length;
  const choose = (id: string | undefined) => {
    connection.chooseTenant(id);
    location.assign(href('categories'));
  };
  return (
    <div class="stack">
      <SearchBar label="Search tenant or category" value={search} onSearch={(q) => replaceQuery('tenants', { q })}>
        <span class="muted" role="status">
          {found.length < total ? `${found.length} of ${total}` : counted(total, 'tenant')}
        </span>
        {chosen !== undefined && <Button onClick={() => choose(undefined)}>Show everybody's settings</Button>}
      </SearchBar>
      {found.length === 0 ? (
        <Empty
          title={total === 0 ? 'No tenant is configured, and none has settings of its own' : 'No tenant matches'}
        />
      ) : (
        <LongTable
          label="Tenants"
          kind="tenant-row"
          head={HEAD}
          items={found}
          keyOf={({ id }) => id}
          rowHeight={ROW_HEIGHT}
          renderRow={(tenant, index) => (
            <TenantRow
              tenant={tenant}
              index={index}
              stale={stale}
              isOwn={(name) => chosen === undefined && categories?.get(name)?.enabled === false}
              isChosen={tenant.id === chosen}
              onChoose={() => choose(tenant.id)}
            />
          )}
        />
      )}
    </div>
  );
}

interface TenantRowProps {
  readonly tenant: TenantSummary;
  readonly index: number;
  /** What is on for it is being asked again. */
  readonly stale: boolean;
  /** Whether a category is on for this tenant, and not because it is for everybody. */
  readonly isOwn: (category: string) => boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function TenantRow({ tenant, index, stale, isOwn, isChosen, onChoose }: TenantRowProps) {
  const on = namesOn(tenant).toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
  const { id, name, temporaryControls, lastChangedAt } = tenant;
  const text = isChosen ? 'Chosen' : 'Choose';
  return (
    <LongRow
      kind="tenant-row"
      index={index}
      cells={[
        <>
          <strong>
            <Text value={name ?? id} most={120} />
          </strong>{' '}
          {name !== undefined && <span class="muted">{id}</span>}
        </>,
        stale ? (
          <span class="muted">…</span>
        ) : (
          <>
            <Badge tone={on.length > 0 ? 'on' : 'off'}>{on.length} on</Badge>{' '}
            {on.slice(0, MOST_NAMES).map((each) => (
              <span key={each} class={isOwn(each) ? 'chip one-tenant' : 'chip'}>
                {each}
              </span>
            ))}
            {on.length > MOST_NAMES && <span class="muted">+{on.length - MOST_NAMES}</span>}
          </>
        ),
        <span class="muted">
          {temporaryControls > 0 && `${temporaryControls} temporary, `}
          {lastChangedAt !== undefined && (
            <>
              changed <Time at={lastChangedAt} />
            </>
          )}
        </span>,
        <Button aria-label={`${text} ${name ?? id}`} aria-pressed={isChosen} onClick={onChoose}>
          {text}
        </Button>,
      ]}
    />
  );
}
