import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AuditEntry, DiscoveredCategory } from '../../protocol/messages.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Fields } from '../parts/fields.tsx';
import { LongText } from '../parts/long-text.tsx';
import { Empty, Loading } from '../parts/notice.tsx';
import { shortNumber, wholeNumber } from '../parts/numbers.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import type { Connection } from '../state/connection.ts';
import { differingTenants } from '../state/differing.ts';
import { HISTORY_SECONDS } from '../state/rate-history.ts';
import { href } from '../state/route.ts';
import { useShortcuts } from '../state/use-shortcuts.ts';
import { useStore } from '../state/use-store.ts';
import { intentsOf } from './category-row.tsx';
import { Budget, lastChangeOf, Until, Who } from './facts.tsx';

/** How often totals are read again, in milliseconds. */
const REFRESH_MS = 10_000;
/** Entries of the trail that are shown here; all are in the audit view. */
const MOST_ENTRIES = 10;

interface CategoryViewProps {
  readonly connection: Connection;
  readonly name: string;
}

/** Everything about one category. */
export function CategoryView({ connection, name }: CategoryViewProps) {
  const categories = useStore(connection, (state) => state.categories);
  const category = categories?.get(name);
  useTotals(connection);
  const intents = category === undefined || !connection.maySwitch ? [] : intentsOf(category);
  useShortcuts(connection, {
    ...Object.fromEntries(
      intents.map(([intent]) => [
        intent === 'enable' || intent === 'prolong' ? 'e' : 'd',
        () => connection.ask(intent, [name]),
      ]),
    ),
    Escape: () => location.assign(href('categories')),
  });

  if (categories === undefined) return <Loading what={name.slice(0, 80)} />;
  return (
    <>
      <nav class="back" aria-label="Back">
        <a href={href('categories')}>← Categories</a>
      </nav>
      {category === undefined ? (
        <Empty title="There is no such category">
          <p>
            <Text value={name} most={80} /> is not known to this service. It may not have been loaded yet.
          </p>
        </Empty>
      ) : (
        <Details connection={connection} category={category} />
      )}
    </>
  );
}

function Details({ connection, category }: { readonly connection: Connection; readonly category: DiscoveredCategory }) {
  const { name, description, enabled, metrics, otelrdcp_source: source, otelrdcp_default: byDefault } = category;
  const rates = useStore(connection, (state) => state.rates);
  const tenant = useStore(connection, (state) => state.tenant);
  const lastChanges = useStore(connection, (state) => state.lastChanges);
  const tenants = useStore(connection, (state) => state.tenants);
  const differing = useMemo(
    () => (tenant === undefined && differingTenants(new Map([[name, category]]), tenants ?? []).get(name)) || [],
    [tenants, tenant, category],
  );
  const change = lastChangeOf(lastChanges, tenant, category);
  const rate = rates === undefined ? metrics.callsPerSecond : (rates.categories[name] ?? 0);
  return (
    <>
      <div class="heading">
        <h1 class="name">{name}</h1>
        <Badge tone={enabled ? 'on' : 'off'}>{enabled ? 'On' : 'Off'}</Badge>
        <Until category={category} />
      </div>
      {description !== '' && <LongText value={description} />}
      <Actions connection={connection} category={category} />
      <section aria-label="Calls" class="chart">
        <p>
          <strong class="big">{shortNumber(rate)}</strong> calls/s{' '}
          <span class="muted">in the last {HISTORY_SECONDS / 60} minutes</span>
        </p>
        <Sparkline rates={connection.history.of(name)} tall />
      </section>
      <Fields
        of={{
          State: (
            <>
              {enabled ? 'On' : 'Off'}, {ORIGINS[category.otelrdcp_origin]}
              {change !== undefined && (
                <>
                  {' '}
                  since <Time at={change.at} />
                </>
              )}
            </>
          ),
          'Who and why': change && <Who change={change} />,
          Until: category.otelrdcp_expiresAt && <Time at={category.otelrdcp_expiresAt} />,
          [enabled ? 'Off for' : 'On for']: differing.length > 0 && <Tenants connection={connection} ids={differing} />,
          Default: byDefault ? 'On' : 'Off',
          Calls: `${wholeNumber(metrics.callsTotal)} since the start`,
          Budget: enabled && (
            <>
              {category.otelrdcp_budget === false && 'as much as it likes '}
              <Budget category={category} rate={rate} live={rates?.budgets?.[name]} />
            </>
          ),
          Source:
            source === undefined ? (
              'the service itself'
            ) : (
              <>
                {source.kind} <Text value={`${source.name} ${source.version ?? ''}`} />
                {source.count > 1 && `, ${counted(source.count, 'logger', 'loggers')}`}
              </>
            ),
        }}
      />
      <History connection={connection} name={name} />
    </>
  );
}

const ORIGINS: Readonly<Record<DiscoveredCategory['otelrdcp_origin'], string>> = {
  default: 'by default',
  global: 'set for everybody',
  tenant: 'set for this tenant',
  temporary: 'for a while',
};

function Actions({ connection, category }: { readonly connection: Connection; readonly category: DiscoveredCategory }) {
  const { name } = category;
  const tail = connection.mayTail;
  if (!connection.maySwitch && !tail) return null;
  const main = intentsOf(category);
  return (
    <div class="buttons">
      {connection.maySwitch && (
        <>
          {main.map(([intent, text], at) => (
            <Button
              key={intent}
              kind={intent === 'reset' || intent === 'disable' ? 'danger' : at === 0 ? 'primary' : 'plain'}
              onClick={() => connection.ask(intent, [name])}
            >
              {text}
            </Button>
          ))}
          <Button onClick={() => connection.ask('toggle', [name])}>Toggle…</Button>
          {category.otelrdcp_origin !== 'default' && !category.temporary && (
            <Button onClick={() => connection.ask('reset', [name])}>Reset…</Button>
          )}
        </>
      )}
      {tail && (
        <a class="button plain" href={href('tail', undefined, { categories: name })}>
          Tail
        </a>
      )}
    </div>
  );
}

/** Tenants for whom it is switched otherwise than for everybody, each with a way to what it has. */
function Tenants({ connection, ids }: { readonly connection: Connection; readonly ids: readonly string[] }) {
  return (
    <>
      {ids.slice(0, 100).map((id) => (
        <Button key={id} onClick={() => connection.chooseTenant(id)}>
          <Text value={id} most={64} />
        </Button>
      ))}
    </>
  );
}

/** What happened with it, for those who may read the trail. */
function History({ connection, name }: CategoryViewProps) {
  const entries = useHistory(connection, name);
  if (!connection.can('admin')) return null;
  return (
    <section>
      <h2>History</h2>
      {entries === undefined && <Loading what="the history" />}
      {entries?.length === 0 && <p class="muted">Nothing in the audit trail yet.</p>}
      {entries !== undefined && entries.length > 0 && (
        <ul class="history">
          {entries.map(({ id, timestamp, action, identity, reason, tenant, outcome }) => (
            <li key={id}>
              <Time at={timestamp} /> <strong>{action}</strong>{' '}
              <Text value={identity.userId ?? identity.clientId ?? ''} />
              {tenant !== undefined && (
                <>
                  {' '}
                  for <Text value={tenant.id} most={64} />
                </>
              )}
              {reason !== undefined && (
                <>
                  : <Text value={reason} />
                </>
              )}
              {outcome !== 'success' && <Badge tone={outcome === 'partial' ? 'warning' : 'error'}>{outcome}</Badge>}
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href={href('audit', undefined, { category: name })}>All of it in the audit trail</a>
      </p>
    </section>
  );
}

/** Newest first; read again when something new comes. */
function useHistory(connection: Connection, name: string): readonly AuditEntry[] | undefined {
  const newest = useStore(connection, ({ entries }) => entries.find(({ categories }) => categories.includes(name))?.id);
  const [entries, setEntries] = useState<readonly AuditEntry[] | undefined>();
  useEffect(() => {
    if (!connection.can('admin')) return undefined;
    const reading = new AbortController();
    connection.client.audit({ category: name, limit: MOST_ENTRIES }, { signal: reading.signal }).then(
      (answer) => setEntries(answer.entries),
      () => undefined,
    );
    return () => reading.abort();
  }, [connection, name, newest]);
  return entries;
}

function useTotals(connection: Connection): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) connection.refresh().catch(() => undefined);
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [connection]);
}
