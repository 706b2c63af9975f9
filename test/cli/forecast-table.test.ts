import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forecastTable, whileMeasuring } from '../../src/tools/cli/forecast-table.ts';
import { createTerminal } from '../../src/tools/cli/terminal.ts';
import type { CategoryForecast, ForecastResponse } from '../../src/wire/streams.ts';

const measured = (value: number) => ({ value, measured: true }) as never;
const figures = (calls: number, dropped: number, bytesPerCall?: number): CategoryForecast => ({
  callsPerSecond: measured(calls),
  bytesPerSecond: measured(calls * 100),
  ...(bytesPerCall !== undefined && { bytesPerCall: measured(bytesPerCall) }),
  gigabytesPerDay: measured(calls * 0.00864),
  droppedByBudget: measured(dropped),
  counts: { calls, unmatched: 0, outsideWork: 0, filtered: 0, unevaluated: 0, attributes: [] },
});
const forecast = (asked: number, answered: number, more: object = {}) =>
  ({
    duration: '5s',
    instances: { asked, answered },
    categories: { BUSY: figures(2000, 12.3, 100), QUIET: figures(0, 0), SOME: figures(1.25, 0, 99.5) },
    ...more,
  }) as unknown as ForecastResponse;

test('small figures have a decimal, large ones none, and what was not measured is a dash', () => {
  const plain = { width: 200, paint: (cell: string) => cell } as never;
  const lines = forecastTable(plain, forecast(1, 1)).split('\n');
  const cells = lines.map((line) => line.trim().split(/ {2,}/));
  assert.deepEqual(cells.slice(1, 4), [
    ['BUSY', '2000', '200000', '100', '17.3', '12'],
    ['QUIET', '0', '0', '-', '0.000', '0'],
    ['SOME', '1.3', '125', '100', '0.011', '0'],
  ]);
  assert.equal(lines.at(-1), 'measured for 5s in 1 of 1 process');
  assert.match(forecastTable(plain, forecast(3, 2)), /in 2 of 3 processes$/);
});

test('a person who waits for a measurement sees how long it still takes, in one line that goes', async () => {
  const written: string[] = [];
  const stderr = { write: (text: string) => void written.push(text), isTTY: true };
  const host = { stdout: { write: () => undefined }, cwd: '/' };
  assert.equal(
    await whileMeasuring(createTerminal({ ...host, stderr, env: { TERM: 'xterm' } }), '10s', async () => 7),
    7,
  );
  assert.deepEqual(written, ['\rMeasuring: 10 s left\u001b[K', '\r\u001b[K']);
  const piped: string[] = [];
  const plain = { write: (text: string) => void piped.push(text) };
  await whileMeasuring(createTerminal({ ...host, stderr: plain, env: {} }), '10s', async () => 7);
  assert.deepEqual(piped, []);
});
