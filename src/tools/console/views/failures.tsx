import type { FailedWork } from '../../../wire/streams.ts';
import { parseDuration } from '../../../wire/time.ts';
import { counted } from '../../../wire/words/count.ts';
import { connection, replaceQuery, route } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { exactSpan } from '../parts/format.ts';
import { Empty, Loading, Notice } from '../parts/notice.tsx';
import { BarChart } from '../parts/pictures.tsx';
import { bucketsOf } from '../parts/scale.ts';
import { LongTable } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { EVERYTHING, onlyWith, queryOfPart, readPart } from '../state/part.ts';
import { goToTail } from './tail/running-tail.ts';

const MOST = 200;
const MINUTE = 60_000;

/** The requests and jobs that failed lately, of what is recorded. Each question is audited, so it is not asked again by itself. */
export function FailuresView() {
  const match = route.value.query.get('match') ?? '';
  const part = readPart({ ...EVERYTHING, match: [match] });
  const target = typeof part === 'object' && part.target?.match ? { match: part.target.match } : undefined;
  const ask = (signal: AbortSignal) => connection.client.failures({ limit: MOST, target, signal });
  const polled = usePolled(ask, { key: JSON.stringify(target) });
  const { value: answer, problem, isLoading, at = Date.now(), refresh } = polled;
  if (answer === undefined)
    return problem ? <Notice problem={problem} onRetry={refresh} /> : <Loading what="failures" />;
  const { failures, more, instances, recorder } = answer;
  const answeredAt = Date.parse(answer.timestamp);
  const times = failures.map(({ timestamp }) => Date.parse(timestamp));
  const reach = (parseDuration(recorder.reachesBack) ?? 0) * 1000;
  // Of the oldest minutes not all are known, where there are more.
  const minutes = bucketsOf(times, { ...(!more && { since: answeredAt - reach }), until: answeredAt, step: MINUTE });
  return (
    <div class="stack" aria-busy={isLoading}>
      <div class="bar">
        <span>
          {counted(failures.length, 'failure')}
          {more && ' and older ones'}
        </span>
        {instances.answered < instances.asked && (
          <span class="wrong">
            {instances.answered} of {counted(instances.asked, 'process', 'processes')} answered
          </span>
        )}
        {reach > 0 && <span class="muted">in the last {exactSpan(reach / 1000)}</span>}
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
        <span class="muted">
          <Ago at={at} />
        </span>
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
          <BarChart label="Failures per minute" of={minutes} />
          <LongTable
            label="Failures"
            kind="failure-row"
            items={failures}
            keyOf={({ id, instance }) => `${instance} ${id}`}
            columns={{
              When: ({ timestamp }) => <Time at={timestamp} />,
              Service: ({ service, instance }) => (
                <span title={connection.processName(instance)}>
                  <Text value={service} most={60} />
                </span>
              ),
              What: (work) => {
                const outcome = <Text value={work.outcome} most={256} />;
                if (Object.keys(work.lines).length === 0) return outcome;
                const age = () => answeredAt - Date.parse(work.timestamp) + Date.now() - at;
                return (
                  <button type="button" class="link" title="Show its lines" onClick={() => openLines(work, age())}>
                    {outcome}
                  </button>
                );
              },
              Who: ({ tenant, attributes }) => (
                <Text value={[tenant, ...pairs(attributes, '=')].filter((each) => each !== undefined).join(' ')} />
              ),
              Lines: ({ lines }) => (
                <span title={pairs(lines, ' ').join('\n')}>
                  {Object.values(lines).reduce((sum, count) => sum + count, 0)}
                </span>
              ),
              Trace: ({ traceId }) => <code>{traceId}</code>,
            }}
          />
        </>
      )}
    </div>
  );
}

function pairs(values: Readonly<Record<string, unknown>>, between: string): string[] {
  return Object.entries(values).map(([name, value]) => `${name}${between}${value}`);
}

/**
 * Shows the recorded lines of one piece of work in the tail.
 * @param age how long ago it ended, in milliseconds, by the clock of the service
 */
function openLines({ id, instance, milliseconds, lines }: FailedWork, age: number): void {
  const seconds = Math.ceil(Math.max(0, age + milliseconds) / 1000) + 1;
  goToTail({
    ...queryOfPart({ ...(onlyWith(EVERYTHING, 'rdcp.work.id', id, 'lines') ?? EVERYTHING), processes: instance }),
    categories: Object.keys(lines).join(','),
    since: `${seconds}s`,
    past: 'true',
  });
}
