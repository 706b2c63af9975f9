import { useEffect, useRef, useState } from 'preact/hooks';
import { describeSilence } from '../../../wire/call-counts.ts';
import type { ForecastResponse } from '../../../wire/streams.ts';
import { processesText } from '../../../wire/words/count.ts';
import { connection, now } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { shortBytes, shortNumber } from '../parts/format.ts';
import { Notice } from '../parts/notice.tsx';
import { Lanes } from '../parts/pictures.tsx';
import { Fields } from '../parts/tables.tsx';
import type { ReadPart } from '../state/part.ts';
import type { Problem } from '../state/problem.ts';

/** How long is measured, in seconds. */
const SECONDS = 10;

interface ForecastProps {
  readonly categories: readonly string[];
  readonly tenant: string | undefined;
  /** The work and lines to measure; what is wrong with them as text, which measures all. */
  readonly part: ReadPart | string;
}

type Measuring =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly since: number }
  | { readonly state: 'done'; readonly answer: ForecastResponse }
  | { readonly state: 'failed'; readonly problem: Problem };

/** Measures how much the categories would write if they were on, without writing a line. */
export function Forecast({ categories, tenant, part }: ForecastProps) {
  const [measuring, setMeasuring] = useState<Measuring>({ state: 'idle' });
  const chosen = typeof part === 'string' ? {} : part;
  const running = useRef<AbortController | undefined>(undefined);
  const stop = () => {
    running.current?.abort();
    setMeasuring({ state: 'idle' });
  };
  // A measurement belongs to one tenant, and to the work and lines that were chosen.
  useEffect(() => stop, [tenant, JSON.stringify(part)]);

  async function measure(): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    running.current = controller;
    setMeasuring({ state: 'running', since: Date.now() });
    const set = (measured: Measuring) => !signal.aborted && setMeasuring(measured);
    try {
      const { target, filter, when } = chosen;
      // How much one request writes is not known before.
      const match = target?.match && { target: { match: target.match } };
      const given = { duration: SECONDS, signal, filter, when, ...match };
      set({ state: 'done', answer: await connection.clientFor(tenant).forecast(categories, given) });
    } catch (error) {
      set({ state: 'failed', problem: connection.problemOf(error) });
    }
  }

  return (
    <section class="forecast" aria-label="Forecast">
      {measuring.state === 'running' ? (
        <div class="bar tight">
          <progress max={SECONDS} value={Math.floor((now.value - measuring.since) / 1000)} aria-label="Measuring" />
          <Button onClick={stop}>Stop</Button>
        </div>
      ) : (
        <Button onClick={() => void measure()}>
          {measuring.state === 'done' ? 'Measure again' : `Forecast: measure ${SECONDS} s`}
        </Button>
      )}
      {measuring.state === 'failed' && <Notice problem={measuring.problem} />}
      {measuring.state === 'done' && (
        <Result answer={measuring.answer} silence={describeSilence(measuring.answer, { tenant, ...chosen })} />
      )}
    </section>
  );
}

interface ResultProps {
  readonly answer: ForecastResponse;
  /** Why there would be no line. */
  readonly silence: string | undefined;
}

function Result({ answer: { categories, instances }, silence }: ResultProps) {
  const forecasts = Object.values(categories);
  const sum = (name: 'callsPerSecond' | 'bytesPerSecond' | 'gigabytesPerDay' | 'droppedByBudget') =>
    forecasts.reduce((total, forecast) => total + forecast[name].value, 0);
  const { asked, answered } = instances;
  // Without an answer nothing is measured, and a sum of nothing would show 0.
  const known = (text: string) => (answered === 0 ? '-' : text);
  return (
    <>
      {forecasts.length > 1 && answered > 0 && (
        <Lanes
          label="Forecast by category"
          heads={['Category', 'Dropped', 'Lines and text a second']}
          scale={{ from: 0, to: Math.max(...forecasts.map(({ callsPerSecond }) => callsPerSecond.value)) }}
          lanes={Object.entries(categories).map(([name, { callsPerSecond, bytesPerSecond, droppedByBudget }]) => {
            const [all, dropped] = [callsPerSecond.value, droppedByBudget.value];
            return {
              name,
              detail: dropped > 0 ? `${shortNumber(dropped)}/s dropped` : '',
              value: `${shortNumber(all)}/s, ${shortBytes(bytesPerSecond.value)}/s`,
              bars: [
                { from: 0, to: all - dropped, tone: 'some', title: 'written' },
                { from: all - dropped, to: all, tone: 'error', title: 'dropped by the budget' },
              ],
            };
          })}
        />
      )}
      <Fields
        of={{
          'Lines a second': known(shortNumber(sum('callsPerSecond'))),
          'Text a second': known(shortBytes(sum('bytesPerSecond'))),
          'Text a day': known(shortBytes(sum('gigabytesPerDay') * 1e9)),
          'Dropped by budget': known(`${shortNumber(sum('droppedByBudget'))} a second`),
          'Measured in': `${answered} of ${processesText(asked)}`,
        }}
      />
      {silence !== undefined && <p>{silence}.</p>}
    </>
  );
}
