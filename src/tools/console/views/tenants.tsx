import type { TenantSummary } from '../../../wire/messages.ts';
import { counted } from '../../../wire/words/count.ts';
import { connection, replaceQuery, route, state } from '../page.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Empty, Loading } from '../parts/notice.tsx';
import { Legend, Matrix } from '../parts/pictures.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { LongTable } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { href } from '../state/route.ts';
import { foundTenants, namesOn } from '../state/search.ts';

/** Categories that a row names. */
const MOST_NAMES = 6;
/** Tenants and categories of the picture. */
const MOST_LINES = 16;
const MOST_COLUMNS = 12;

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
  /** Whether a category is on for a tenant, and not because it is for everybody. */
  const isOwn = (name: string) => chosen === undefined && categories?.get(name)?.enabled === false;
  const namesOf = (tenant: TenantSummary) => namesOn(tenant).toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
  return (
    <div class="stack">
      <SearchBar label="Search tenant or category" value={search} onSearch={(q) => replaceQuery('tenants', { q })}>
        <span class="muted" role="status">
          {found.length < total ? `${found.length} of ${total}` : counted(total, 'tenant')}
        </span>
        {chosen !== undefined && <Button onClick={() => choose(undefined)}>Show everybody's settings</Button>}
      </SearchBar>
      <OnForWhom tenants={found} isOwn={isOwn} />
      {found.length === 0 ? (
        <Empty
          title={total === 0 ? 'No tenant is configured, and none has settings of its own' : 'No tenant matches'}
        />
      ) : (
        <LongTable
          label="Tenants"
          kind="tenant-row"
          items={found}
          keyOf={({ id }) => id}
          columns={{
            Tenant: ({ id, name }) => (
              <>
                <strong>
                  <Text value={name ?? id} most={120} />
                </strong>{' '}
                {name !== undefined && <span class="muted">{id}</span>}
              </>
            ),
            'Categories that are on': (tenant) =>
              stale ? <span class="muted">…</span> : <NamesOn names={namesOf(tenant)} isOwn={isOwn} />,
            Changes: ({ temporaryControls, lastChangedAt }) => (
              <span class="muted">
                {temporaryControls > 0 && `${temporaryControls} temporary, `}
                {lastChangedAt !== undefined && (
                  <>
                    changed <Time at={lastChangedAt} />
                  </>
                )}
              </span>
            ),
            Show: ({ id, name }) => {
              const text = id === chosen ? 'Chosen' : 'Choose';
              return (
                <Button aria-label={`${text} ${name ?? id}`} aria-pressed={id === chosen} onClick={() => choose(id)}>
                  {text}
                </Button>
              );
            },
          }}
        />
      )}
    </div>
  );
}

interface OnForWhomProps {
  readonly tenants: readonly TenantSummary[];
  readonly isOwn: (category: string) => boolean;
}

const KINDS = {
  own: ['one-tenant', 'on for the tenant'],
  all: ['on', 'on for everybody'],
  off: ['warning', 'off for the tenant'],
} as const;

/** What is on for whom, as a picture: first what differs between tenants, and the tenants that differ most. */
function OnForWhom({ tenants, isOwn }: OnForWhomProps) {
  const kindOf = ({ categories, otelrdcp_off: off = [] }: TenantSummary, name: string) =>
    off.includes(name) ? 'off' : categories[name] === true ? (isOwn(name) ? 'own' : 'all') : undefined;
  const on = tenants.map((tenant) => [...namesOn(tenant), ...(tenant.otelrdcp_off ?? [])]);
  const tenantsOf = Map.groupBy(on.flat(), (name) => name);
  const names = [...tenantsOf].sort(([, a], [, b]) => a.length - b.length).map(([name]) => name);
  const own = (tenant: TenantSummary) => names.filter((name) => !['all', undefined].includes(kindOf(tenant, name)));
  const columns = names.slice(0, MOST_COLUMNS);
  const lines = tenants.toSorted((a, b) => own(b).length - own(a).length).slice(0, MOST_LINES);
  if (columns.length === 0) return null;
  return (
    <Matrix
      label="What is on for whom"
      beside={
        <>
          <Legend of={Object.values(KINDS)} />
          {(columns.length < names.length || lines.length < tenants.length) && (
            <span class="muted">
              {lines.length} of {counted(tenants.length, 'tenant')}, {columns.length} of{' '}
              {counted(names.length, 'category', 'categories')}
            </span>
          )}
        </>
      }
      head="Tenant"
      columns={columns}
      lines={lines.map((tenant) => ({
        name: tenant.name ?? tenant.id,
        cells: columns.map((name) => {
          const kind = kindOf(tenant, name);
          return kind && KINDS[kind];
        }),
      }))}
    />
  );
}

function NamesOn({ names, isOwn }: Pick<OnForWhomProps, 'isOwn'> & { readonly names: readonly string[] }) {
  return (
    <>
      <Badge tone={names.length > 0 ? 'on' : 'off'}>{names.length} on</Badge>{' '}
      {names.slice(0, MOST_NAMES).map((name) => (
        <span key={name} class={isOwn(name) ? 'chip one-tenant' : 'chip'}>
          {name}
        </span>
      ))}
      {names.length > MOST_NAMES && <span class="muted">+{names.length - MOST_NAMES}</span>}
    </>
  );
}
