import { useEffect, useRef, useState } from 'preact/hooks';
import type { CategoryForecast, ForecastResponse } from '../../protocol/streams.ts';
import { Button } from '../parts/button.tsx';
import { Notice } from '../parts/notice.tsx';
import { shortBytes, shortNumber } from '../parts/numbers.ts';
import type { Connection } from '../state/connection.ts';
import type { Problem } from '../state/problem.ts';

/** How long is measured, in seconds. */
const SECONDS = 10;
/** Rows of the table; the sum is of all. */
const MOST_ROWS = 5;

interface ForecastProps {
  readonly connection: Connection;
  readonly categories: readonly string[];
  readonly tenant: string | undefined;
}

type Measuring =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly since: number }
  | { readonly state: 'done'; readonly answer: ForecastResponse }
  | { readonly state: 'failed'; readonly problem: Problem };

/** What the categories would write if they were on: measured, without a line. */
export function Forecast({ connection, categories, tenant }: ForecastProps) {
  const [measuring, setMeasuring] = useState<Measuring>({ state: 'idle' });
  const running = useRef<AbortController | undefined>(undefined);
  const abort = () => {
    running.current?.abort();
    running.current = undefined;
  };
  useEffect(() => {
    // What was measured is of one tenant.
    setMeasuring({ state: 'idle' });
    return abort;
  }, [tenant]);

  async function measure(): Promise<void> {
    const controller = new AbortController();
    running.current = controller;
    setMeasuring({ state: 'running', since: performance.now() });
    try {
      const client = connection.clientFor(tenant);
      const answer = await client.forecast(categories, { duration: SECONDS, signal: controller.signal });
      setMeasuring({ state: 'done', answer });
      connection.announce('The forecast is there');
    } catch (error) {
      setMeasuring(
        controller.signal.aborted ? { state: 'idle' } : { state: 'failed', problem: connection.problemOf(error) },
      );
    }
  }

  return (
    <section class="forecast" aria-label="Forecast">
      {measuring.state === 'running' ? (
        <Progress
          since={measuring.since}
          onStop={() => {
            abort();
            setMeasuring({ state: 'idle' });
          }}
        />
      ) : (
        <Button onClick={() => void measure()}>
          {measuring.state === 'done' ? 'Measure again' : `What would it write? Measure ${SECONDS} s`}
        </Button>
      )}
      {measuring.state === 'failed' && <Notice problem={measuring.problem} />}
      {measuring.state === 'done' && <Result answer={measuring.answer} />}
    </section>
  );
}

function Progress({ since, onStop }: { readonly since: number; readonly onStop: () => void }) {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setPassed((performance.now() - since) / 1000), 250);
    return () => clearInterval(timer);
  }, [since]);
  return (
    <div class="progress">
      <progress max={SECONDS} value={Math.min(passed, SECONDS)} aria-label="Measuring" />
      <span class="muted" aria-hidden="true">
        {Math.max(0, Math.ceil(SECONDS - passed))} s
      </span>
      <Button onClick={onStop}>Stop</Button>
    </div>
  );
}

function Result({ answer }: { readonly answer: ForecastResponse }) {
  const rows = Object.entries(answer.categories).sort(
    ([, a], [, b]) => b.bytesPerSecond.value - a.bytesPerSecond.value,
  );
  const sum = (pick: (forecast: CategoryForecast) => { readonly value: number }) =>
    rows.reduce((total, [, forecast]) => total + pick(forecast).value, 0);
  const { asked, answered } = answer.instances;
  return (
    <>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">Category</th>
            <th scope="col">Lines/s</th>
            <th scope="col">Per second</th>
            <th scope="col">Per day</th>
            <th scope="col">Dropped/s</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map(([name, forecast]) => (
            <tr key={name}>
              <th scope="row" class="name">
                {name}
              </th>
              <td>{shortNumber(forecast.callsPerSecond.value)}</td>
              <td>{shortBytes(forecast.bytesPerSecond.value)}</td>
              <td>{shortBytes(forecast.gigabytesPerDay.value * 1e9)}</td>
              <td>{shortNumber(forecast.droppedByBudget.value)}</td>
            </tr>
          ))}
        </tbody>
        {rows.length > 1 && (
          <tfoot>
            <tr>
              <th scope="row">All {rows.length}</th>
              <td>{shortNumber(sum(({ callsPerSecond }) => callsPerSecond))}</td>
              <td>{shortBytes(sum(({ bytesPerSecond }) => bytesPerSecond))}</td>
              <td>{shortBytes(sum(({ gigabytesPerDay }) => gigabytesPerDay) * 1e9)}</td>
              <td>{shortNumber(sum(({ droppedByBudget }) => droppedByBudget))}</td>
            </tr>
          </tfoot>
        )}
      </table>
      <p class={answered < asked ? 'wrong' : 'muted'}>
        Measured in {answered} of {asked} {asked === 1 ? 'process' : 'processes'}. “Dropped” is by the configured
        budget.
      </p>
    </>
  );
}
