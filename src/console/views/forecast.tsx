import { useEffect, useRef, useState } from 'preact/hooks';
import type { ForecastResponse } from '../../protocol/streams.ts';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { Fields } from '../parts/fields.tsx';
import { Notice } from '../parts/notice.tsx';
import { shortBytes, shortNumber } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';
import type { Connection } from '../state/connection.ts';
import type { Problem } from '../state/problem.ts';
import { useNow } from '../state/use-now.ts';

/** How long is measured, in seconds. */
const SECONDS = 10;

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
    setMeasuring({ state: 'running', since: Date.now() });
    try {
      const client = connection.clientFor(tenant);
      const answer = await client.forecast(categories, { duration: SECONDS, signal: controller.signal });
      setMeasuring({ state: 'done', answer });
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
          {measuring.state === 'done' ? 'Measure again' : `Forecast: measure ${SECONDS} s`}
        </Button>
      )}
      {measuring.state === 'failed' && <Notice problem={measuring.problem} />}
      {measuring.state === 'done' && <Result answer={measuring.answer} />}
    </section>
  );
}

function Progress({ since, onStop }: { readonly since: number; readonly onStop: () => void }) {
  const passed = Math.min(SECONDS, Math.floor((useNow() - since) / 1000));
  return (
    <div class="bar tight">
      <progress max={SECONDS} value={passed} aria-label="Measuring" />
      <Button onClick={onStop}>Stop</Button>
    </div>
  );
}

function Result({ answer: { categories, instances } }: { readonly answer: ForecastResponse }) {
  const forecasts = Object.values(categories);
  const sum = (name: 'callsPerSecond' | 'bytesPerSecond' | 'gigabytesPerDay' | 'droppedByBudget') =>
    forecasts.reduce((total, forecast) => total + forecast[name].value, 0);
  const { asked, answered } = instances;
  return (
    <>
      {forecasts.length > 1 && (
        <Table
          caption="Forecast by category"
          head={['Category', 'Lines/s', 'Text/s', 'Dropped/s']}
          rows={Object.entries(categories).map(([name, { callsPerSecond, bytesPerSecond, droppedByBudget }]) => [
            name,
            [shortNumber(callsPerSecond.value), shortBytes(bytesPerSecond.value), shortNumber(droppedByBudget.value)],
          ])}
        />
      )}
      <Fields
        of={{
          'Lines a second': shortNumber(sum('callsPerSecond')),
          'Text a second': shortBytes(sum('bytesPerSecond')),
          'Text a day': shortBytes(sum('gigabytesPerDay') * 1e9),
          'Dropped by budget': `${shortNumber(sum('droppedByBudget'))} a second`,
          'Measured in': `${answered} of ${counted(asked, 'process', 'processes')}`,
        }}
      />
    </>
  );
}
