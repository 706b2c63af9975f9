// POST /rdcp/v1/control, audited, beside a bare Koa route that reads the same JSON with koa-body and sends a string as
// long as the answer. Every request has an id of its own, as the client gives it one, so its answer is kept for repeats.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beside, type Contender, contest, createGenerator, request, start } from './load/contest.ts';
import { publish, verdict } from './measurement.ts';
import { API_KEY, CATEGORIES } from './services/identities.ts';

/** How long the latencies at a quarter of the peak are watched. */
const QUARTER_MS = 5000;
/** Longest that the slowest hundredth may begin at, milliseconds. */
const P99_MS = 25;

const directory = mkdtempSync(join(tmpdir(), 'rdcp-benchmark-'));
const memory = await start('endpoint', 'memory:');
const sqlite = await start('endpoint', `sqlite:${join(directory, 'state.sqlite')}`);

const toggles = CATEGORIES.map((category) => JSON.stringify({ action: 'toggle', categories: [category] }));
const headers = { 'X-RDCP-API-Key': API_KEY, 'X-RDCP-Request-ID': 'r-{n}' };
const controls = toggles.map((body) => request('/rdcp/v1/control', headers, body));

const generator = createGenerator();
const { answerBytes } = await generator.send({
  port: memory.port,
  requests: controls,
  connections: 1,
  milliseconds: 2000,
});
const bare = await start('bare-koa', String(answerBytes));

const BARE = `a bare Koa route with koa-body, ${answerBytes} bytes`;
const MEMORY = 'control, audited, memory store';
const SQLITE = 'control, audited, SQLite, durable';
const contenders: Contender[] = [
  { name: BARE, service: bare, requests: toggles.map((body) => request('/rdcp/v1/control', headers, body)) },
  { name: MEMORY, service: memory, requests: controls },
  { name: SQLITE, service: sqlite, requests: controls },
];
const outcomes = await contest(contenders);

const peak = 1e9 / outcomes.get(SQLITE)!.wall.p50;
const { latencies } = await generator.send({
  port: sqlite.port,
  requests: controls,
  connections: 16,
  milliseconds: QUARTER_MS,
  perSecond: peak / 4,
});
const p99 = latencies[Math.floor(0.99 * latencies.length)]!;

generator.stop();
for (const { service } of contenders) service.stop();
rmSync(directory, { recursive: true });

const inMemory = beside(outcomes.get(MEMORY)!, outcomes.get(BARE)!, 'processor');
const durable = beside(outcomes.get(SQLITE)!, outcomes.get(BARE)!, 'clock');
const quarter = `at ${Math.round(peak / 4)} requests a second`;
publish({
  timings: [...outcomes.values()].flatMap(({ wall, cpu }) => [wall, cpu]),
  verdicts: [
    verdict(MEMORY, '>= 0.2 of the bare Koa route', inMemory.text, inMemory.ratio >= 0.2, inMemory.ratio),
    verdict(SQLITE, '>= 0.1 of the bare Koa route', durable.text, durable.ratio >= 0.1, durable.ratio),
    verdict(`${SQLITE}, p99 ${quarter}`, `<= ${P99_MS} ms`, `${p99.toFixed(1)} ms`, p99 <= P99_MS, p99),
  ],
});
