import { isCounted } from '../../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../../wire/messages.ts';
import { capitalized, counted } from '../../../wire/words/count.ts';
import { settingText } from '../../../wire/words/level.ts';
import { countOfParts, endOf, isPartlyOn, isRecorded, type Part, partsOf } from '../../../wire/words/state.ts';
import { connection, now, state, useShortcuts } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { shortNumber } from '../parts/format.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { Curve } from '../parts/pictures.tsx';
import { Fields, Table } from '../parts/tables.tsx';
import { LongText, Text } from '../parts/text.tsx';
import { Time, TimeLeft } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { type Intent, isEnding, isOwn, VERBS } from '../state/intents.ts';
import { href } from '../state/route.ts';
import { countedSince, spansOf, spansOfTrail } from '../state/spans.ts';
import { EntryTable } from './audit/entry-table.tsx';
import { Budget, Dropped, OfferButtons, OnBadge, Rate, Until, Who, Whom } from './facts.tsx';
import { tailOf } from './tail/running-tail.ts';

/** How often totals are read again, in milliseconds. */
const REFRESH_MS = 10_000;
/** Entries of the history. */
const NEWEST = 8;

/** Everything about one category. */
export function CategoryView({ name }: { readonly name: string }) {
  const categories = state.categories.value;
  const category = categories?.get(name);
  usePolled(() => connection.refresh(), { everyMs: REFRESH_MS });
  const intents = category === undefined ? [] : connection.offers(category);
  useShortcuts({
    ...Object.fromEntries(
      intents.map(([intent]) => [isEnding(intent) ? 'd' : 'e', () => connection.ask(intent, [name])]),
    ),
    ...(connection.mayTail && category && { t: () => tailOf([name]) }),
    ...(connection.mayChange('reset', name) && category && { r: () => connection.ask('reset', [name]) }),
    Escape: () => location.assign(href('categories')),
  });

  if (categories === undefined) return <Loading what={name.slice(0, 80)} />;
  return (
    <>
      <nav class="back" aria-label="Back">
        <a href={href('categories')}>← Categories</a>
      </nav>
      {category === undefined ? (
        <>
          <h1 class="name">
            <Text value={name} most={80} />
          </h1>
          <Empty title="There is no such category">
            <p>This service does not know it. It may not have been loaded yet.</p>
          </Empty>
        </>
      ) : (
        <Details category={category} />
      )}
    </>
  );
}

function Details({ category }: { readonly category: DiscoveredCategory }) {
  const { name, description, enabled, metrics, otelrdcp_source: source, otelrdcp_default: byDefault } = category;
  const { otelrdcp_control: control, otelrdcp_recorder: recorder } = category;
  const mayAudit = connection.can('admin');
  // The curve follows each measurement, as the rate beside it does.
  void state.rates.value;
  // Asked for again when there is another one.
  const newest = state.entries.value.find(({ categories }) => categories.includes(name));
  const { value, problem, refresh } = usePolled(
    async (signal) => (mayAudit ? connection.client.audit({ category: name, limit: NEWEST }, { signal }) : undefined),
    { key: newest },
  );
  return (
    <>
      <div class="bar">
        <h1 class="name">{name}</h1>
        <OnBadge category={category} />
        <Until category={category} />
        {endOf(category) && <span aria-hidden="true">left</span>}
      </div>
      {description !== '' && <LongText value={description} />}
      <Actions category={category} />
      <Parts category={category} />
      <Curve
        label="Calls over time"
        beside={<Rate category={category} />}
        to={connection.history.newest ?? now.value}
        values={connection.history.of(name, { from: countedSince(category) })}
        losses={connection.history.droppedOf(name)}
        marks={(value === undefined ? spansOf(category) : spansOfTrail(value.entries)).flatMap(({ from, to, who }) => [
          { at: from, tone: 'on', text: `on, ${who}` },
          { at: to, tone: 'error', text: 'off' },
        ])}
        format={(rate) => `${shortNumber(rate)}/s`}
      />
      <Fields
        of={{
          State: (
            <>
              {capitalized(settingText({ enabled, level: category.otelrdcp_level }))},{' '}
              {ORIGINS[category.otelrdcp_origin]}
              {isRecorded(category) && '; recorded: its lines are kept in memory, and none is written'}
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
          'For whom': (enabled || isPartlyOn(category)) && <Whom category={category} />,
          Default: capitalized(settingText({ enabled: byDefault })),
          Calls:
            isCounted(category) || metrics.callsTotal > 0
              ? `${metrics.callsTotal.toLocaleString('en')} since the start`
              : '-',
          Budget: enabled && (
            <>
              {category.otelrdcp_budget === false && 'no limit '}
              <Budget category={category} />
              <Dropped category={category} />
            </>
          ),
          'Recording failures': recorder && recorderText(recorder),
          Source:
            source === undefined ? (
              'the service itself'
            ) : (
              <>
                {source.kind} <Text value={`${source.name} ${source.version ?? ''}`} />
                {source.count > 1 && `, ${counted(source.count, 'logger')}`}
                {source.onByItself !== undefined &&
                  category.otelrdcp_origin === 'default' &&
                  `, on by itself in ${source.onByItself} of ${counted(source.count, 'source')}`}
              </>
            ),
        }}
      />
      {mayAudit && (
        <section aria-label="Last changes">
          <h2>Last changes</h2>
          {problem && <Notice problem={problem} onRetry={refresh} />}
          <EntryTable label="Last changes" entries={value?.entries ?? []} />
          {value === undefined && problem === undefined && <Loading what="changes" />}
          {value?.entries.length === 0 && <p class="muted">None yet.</p>}
          <a href={href('audit', undefined, { category: name })}>All in the audit trail</a>
        </section>
      )}
    </>
  );
}

function recorderText({ written, forgotten, cut }: NonNullable<DiscoveredCategory['otelrdcp_recorder']>): string {
  const [lines, well, beyond] = [written, forgotten, cut].map((count) => count.toLocaleString('en'));
  return `${lines} lines written, ${well} of work that ended well, ${beyond} beyond a limit`;
}

/** The tenants and the work that it is on for, beside everybody: how long, who, why, and the way to end each. */
function Parts({ category }: { readonly category: DiscoveredCategory }) {
  const parts = partsOf(category);
  const more = countOfParts(category) - parts.filter(({ recorded }) => !recorded).length;
  if (parts.length === 0) return null;
  return (
    <section aria-label="On for">
      <h2>On for</h2>
      <Table
        label="Tenants and work that it is on or recorded for"
        items={parts}
        keyOf={({ activation, whom }) => activation ?? whom}
        columns={{
          'For whom': ({ whom }) => <Text value={whom} />,
          'Time left': ({ expiresAt }) => (expiresAt === undefined ? 'permanent' : <TimeLeft until={expiresAt} />),
          'Who and why': ({ control }) => <Who control={control} />,
          Action: (part) =>
            connection.mayChange('end', category.name) && <EndButton category={category.name} part={part} />,
        }}
      />
      {more > 0 && <p class="muted">and {counted(more, 'more tenant', 'more tenants')}</p>}
    </section>
  );
}

/** Ends an activation, in all its categories, at once. A tenant's setting asks first, as for everybody. */
function EndButton({ category, part }: { readonly category: string; readonly part: Part }) {
  const { whom, tenant, activation, expiresAt } = part;
  const end = () =>
    activation === undefined
      ? connection.ask(expiresAt === undefined ? 'reset' : 'end', [category], { tenant })
      : connection.make({ action: 'disable', categories: [category], options: { otelrdcp_id: activation } }, tenant);
  return (
    <Button kind="danger" aria-label={`End for ${whom}`} onClick={end}>
      {activation === undefined ? 'End…' : 'End'}
    </Button>
  );
}

const ORIGINS: Readonly<Record<DiscoveredCategory['otelrdcp_origin'], string>> = {
  default: 'by default',
  global: 'set for everybody',
  tenant: 'set for this tenant',
  temporary: 'for a while',
};

function Actions({ category }: { readonly category: DiscoveredCategory }) {
  const { name, otelrdcp_origin: origin, temporary } = category;
  const offers = connection.offers(category);
  const isSet = origin !== 'default' && !temporary && isOwn(category, connection.shownTenant);
  const removing: Intent = offers.some(([intent]) => intent === 'off') ? 'disable' : 'reset';
  const others: readonly Intent[] = isSet ? ['toggle', removing] : ['toggle'];
  const more = others.filter((intent) => connection.mayChange(intent, name));
  const why = connection.whyNot(name);
  return (
    <div class="bar">
      <OfferButtons category={category} />
      {more.map((intent) => (
        <Button
          key={intent}
          kind={isEnding(intent) ? 'danger' : 'plain'}
          onClick={() => connection.ask(intent, [name])}
        >
          {VERBS[intent]}…
        </Button>
      ))}
      {connection.mayTail && <Button onClick={() => tailOf([name])}>Tail</Button>}
      {why !== undefined && <span class="muted">{why}</span>}
    </div>
  );
}
