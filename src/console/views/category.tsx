import { useMemo } from 'preact/hooks';
import type { DiscoveredCategory } from '../../protocol/messages.ts';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Fields } from '../parts/fields.tsx';
import { LongText } from '../parts/long-text.tsx';
import { Empty, Loading } from '../parts/notice.tsx';
import { shortNumber, wholeNumber } from '../parts/numbers.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import type { Connection } from '../state/connection.ts';
import { differingTenants } from '../state/differing.ts';
import { intentsOf, isForEverybody } from '../state/intents.ts';
import { HISTORY_SECONDS } from '../state/rate-history.ts';
import { href } from '../state/route.ts';
import { useShortcuts } from '../state/use-shortcuts.ts';
import { useStore } from '../state/use-store.ts';
import { CategoryHistory } from './category-history.tsx';
import { Budget, Until, Who, Whom } from './facts.tsx';
import { OnBadge } from './on-badge.tsx';

/** How often totals are read again, in milliseconds. */
const REFRESH_MS = 10_000;

interface CategoryViewProps {
  readonly connection: Connection;
  readonly name: string;
}

/** Everything about one category. */
export function CategoryView({ connection, name }: CategoryViewProps) {
  const categories = useStore(connection, (state) => state.categories);
  const category = categories?.get(name);
  usePolled(connection, () => connection.refresh(), { everyMs: REFRESH_MS });
  const intents = category === undefined || !connection.maySwitch ? [] : intentsOf(category, connection.shownTenant);
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
  const tenants = useStore(connection, (state) => state.tenants);
  const differing = useMemo(
    () =>
      (connection.tenant === undefined && differingTenants(new Map([[name, category]]), tenants ?? []).get(name)) || [],
    [tenants, connection.tenant, category],
  );
  const { otelrdcp_control: control } = category;
  const tenant = connection.shownTenant;
  const rate = rates === undefined ? metrics.callsPerSecond : (rates.categories[name] ?? 0);
  return (
    <>
      <div class="bar">
        <h1 class="name">{name}</h1>
        <OnBadge enabled={enabled} differs={differing.length > 0} />
        <Until category={category} />
        {category.otelrdcp_expiresAt && <span aria-hidden="true">left</span>}
      </div>
      {description !== '' && <LongText value={description} />}
      <Actions connection={connection} category={category} />
      <section aria-label="Calls" class="chart">
        <p>
          <strong class="big">{shortNumber(rate)}</strong> calls/s{' '}
          <span class="muted">now, and in the last {HISTORY_SECONDS / 60} minutes</span>
        </p>
        <Sparkline rates={connection.history.of(name)} tall />
      </section>
      <Fields
        of={{
          State: (
            <>
              {enabled ? 'On' : 'Off'}, {ORIGINS[category.otelrdcp_origin]}
              {control && (
                <>
                  {' '}
                  since <Time at={control.since} />
                </>
              )}
            </>
          ),
          'Who and why': control && <Who control={control} />,
          Until: category.otelrdcp_expiresAt && <Time at={category.otelrdcp_expiresAt} />,
          'For whom': (enabled || differing.length > 0) && (
            <Whom category={category} tenant={tenant} differing={differing} />
          ),
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
      {connection.can('admin') && <CategoryHistory connection={connection} category={name} />}
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
  const tenant = connection.shownTenant;
  const main = intentsOf(category, tenant);
  const isOwn =
    category.otelrdcp_origin !== 'default' &&
    !category.temporary &&
    (tenant === undefined || !isForEverybody(category, tenant));
  return (
    <div class="bar">
      {connection.maySwitch && (
        <>
          {main.map(([intent, text], at) => (
            <Button
              key={intent}
              kind={intent === 'end' || intent === 'disable' ? 'danger' : at === 0 ? 'primary' : 'plain'}
              onClick={() => connection.ask(intent, [name])}
            >
              {text}
            </Button>
          ))}
          <Button onClick={() => connection.ask('toggle', [name])}>Toggle…</Button>
          {isOwn && <Button onClick={() => connection.ask('reset', [name])}>Reset…</Button>}
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
