import type { FailedWork } from '../../../wire/streams.ts';
import { counted } from '../../../wire/words/count.ts';
import { clockTime } from '../../../wire/words/time.ts';
import { connection, now, replaceQuery, route } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { roughSpan } from '../parts/format.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { LongRow, LongTable } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { EVERYTHING, onlyWith, queryOfPart } from '../state/part.ts';
import { href, type Query } from '../state/route.ts';
import { startTail } from './tail/running-tail.ts';

const HEAD = ['When', 'Service', 'What', 'Who', 'Lines', 'Trace'];
const ROW_HEIGHT = 44;
const MOST = 200;
const BARS = 60;

/** The requests and jobs that failed lately, of what is recorded. Each question is audited, so it is not asked again by itself. */
export function FailuresView() {
  const match = route.value.query.get('match') ?? '';
  const [, name, value] = /^([^=]+)=(.+)$/.exec(match.trim()) ?? [];
  const target = name !== undefined && value !== undefined ? { match: { [name.trim()]: value.trim() } } : undefined;
  const ask = (signal: AbortSignal) => connection.client.failures({ limit: MOST, target, signal });
  const { value: answer, problem, isLoading, at, refresh } = usePolled(ask, { key: JSON.stringify(target) });
  if (answer === undefined)
    return problem ? <Notice problem={problem} onRetry={refresh} /> : <Loading what="failures" />;
  const { failures, more, instances, recorder } = answer;
  return (
    <div class="stack" aria-busy={isLoading}>
      <div class="bar">
        <span>
          {counted(failures.length, 'failure', 'failures')}
          {more && ' and older ones'}
        </span>
        {instances.answered < instances.asked && (
          <span class="wrong">
            {instances.answered} of {counted(instances.asked, 'process', 'processes')} answered
          </span>
        )}
        {recorder.reachesBack !== undefined && <span class="muted">kept of the last {recorder.reachesBack}</span>}
        <form
          class="bar tight"
          onSubmit={(event) => {
            event.preventDefault();
            replaceQuery('failures', { match: String(new FormData(event.currentTarget).get('match') ?? '') });
          }}
        >
          <input
            class="search"
            name="match"
            aria-label="Only work with"
            placeholder="user.id=42"
            defaultValue={match}
          />
        </form>
        <Button busy={isLoading} onClick={refresh}>
          Look again
        </Button>
        {at !== undefined && (
          <span class="muted">{now.value - at < 1500 ? 'just now' : `${roughSpan(now.value - at)} ago`}</span>
        )}
      </div>
      {problem && <Notice problem={problem} onRetry={refresh} />}
      {failures.length === 0 ? (
        <Empty title={recorder.categories.length === 0 ? 'Nothing is recorded' : 'No work has failed'}>
          <p>
            {recorder.categories.length === 0
              ? 'Failures are known of work with recorded lines. The option recorder.categories and rdcp record choose them.'
              : `Recorded: ${recorder.categories.join(', ')}`}
          </p>
        </Empty>
      ) : (
        <>
          <OverTime failures={failures} until={Date.parse(answer.timestamp)} />
          <LongTable
            label="Failures"
            kind="failure-row"
            head={HEAD}
            items={failures}
            keyOf={({ id, instance }) => `${instance} ${id}`}
            rowHeight={ROW_HEIGHT}
            renderRow={(work, index) => (
              <FailureRow
                work={work}
                index={index}
                ageNow={() =>
                  Date.parse(answer.timestamp) - Date.parse(work.timestamp) + Date.now() - (at ?? Date.now())
                }
              />
            )}
          />
        </>
      )}
    </div>
  );
}

/** How many there were over time. The list says the same in words. */
function OverTime({ failures, until }: { readonly failures: readonly FailedWork[]; readonly until: number }) {
  const from = Math.min(until - 1000, Date.parse(failures.at(-1)?.timestamp ?? ''));
  const counts = new Array<number>(BARS).fill(0);
  for (const { timestamp } of failures) {
    const share = (Date.parse(timestamp) - from) / (until - from);
    const at = Math.max(0, Math.min(BARS - 1, Math.floor(share * BARS)));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  const bars = counts.map((count, at) => (count === 0 ? '' : `M${at + 0.1} 100V${100 - (count / most) * 100}h.8V100z`));
  return (
    <div class="histogram">
      <svg viewBox={`0 0 ${BARS} 100`} preserveAspectRatio="none" aria-hidden="true">
        <path d={bars.join('')} />
      </svg>
      <div class="bar tight axis">
        <span>{clockTime(from)}</span>
        <span>{clockTime(until)}</span>
      </div>
    </div>
  );
}

interface RowProps {
  readonly work: FailedWork;
  readonly index: number;
  /** How long ago it ended, in milliseconds, by the clock of the service. */
  readonly ageNow: () => number;
}

function FailureRow({ work, index, ageNow }: RowProps) {
  const { timestamp, service, instance, outcome, tenant, attributes, lines, traceId } = work;
  const count = Object.values(lines).reduce((sum, each) => sum + each, 0);
  const who = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  return (
    <LongRow
      kind="failure-row"
      index={index}
      cells={[
        <Time at={timestamp} />,
        <span title={connection.processName(instance)}>
          <Text value={service} most={60} />
        </span>,
        count === 0 ? (
          <Text value={outcome} most={256} />
        ) : (
          <button type="button" class="link" title="Show its lines" onClick={() => openLines(work, ageNow())}>
            <Text value={outcome} most={256} />
          </button>
        ),
        <Text value={[...(tenant === undefined ? [] : [tenant]), ...who].join(' ')} />,
        <span
          title={Object.entries(lines)
            .map(([name, count]) => `${name} ${count}`)
            .join('\n')}
        >
          {count}
        </span>,
        <code>{traceId ?? ''}</code>,
      ]}
    />
  );
}

/** Shows the recorded lines of one piece of work in the tail. */
function openLines({ id, instance, milliseconds, lines }: FailedWork, age: number): void {
  const seconds = Math.ceil(Math.max(0, age + milliseconds) / 1000) + 1;
  const part = { ...(onlyWith(EVERYTHING, 'rdcp.work.id', id) ?? EVERYTHING), processes: instance };
  const query: Query = {
    ...queryOfPart(part),
    categories: Object.keys(lines).join(','),
    since: `${seconds}s`,
    past: 'true',
  };
  location.assign(href('tail', undefined, query));
  startTail(new URLSearchParams(query as Record<string, string>));
}
