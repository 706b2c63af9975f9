// Everything at once for half an hour, against the built package: reads, changes, refusals, debug calls on and off,
// temporary controls that end, recorded failures, activations for some users, scrapes. Prints what the process of the service takes minute by minute, and whether that
// stays as it is. `node benchmarks/soak.ts [minutes] [store]`; the store is a SQLite file of its own where none is given.

import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { built, formatVerdict, median, type Verdict, verdict } from './measurement.ts';
import { API_KEY, API_KEY_HASH, CATEGORIES, ISSUER, token } from './services/identities.ts';

const SAMPLE_MS = 5000;
const SAMPLES_A_MINUTE = 60_000 / SAMPLE_MS;
/** Milliseconds from one request of the load to the next. */
const PACE_MS = 40;
const TENANTS = 50;
const LONGEST_CONTROL_SECONDS = 10;
const DEBUG_CALLS_EACH_10_MS = 20;
/** Pieces of work, each of another user: 10,000 values a second that activations are matched with. */
const WORKS_EACH_10_MS = 100;
/** One in so many fails, so that what was recorded of it is written. */
const FAILS_ONE_IN = 100;
/** Of its time, this share is not judged: V8 compiles, caches fill. */
const WARM_UP = 1 / 3;
/** Mebibytes a minute by which memory may rise after that: a leak of 200 bytes a request is more. */
const MAX_RISE = 0.25;
const MAX_DELAY_MS = 20;
const MIB = 2 ** 20;

interface Sample {
  /** Bytes. */
  readonly resident: number;
  /** Bytes on the heap and outside that belong to it; the last sample of a minute comes after a full collection. */
  readonly live: number;
  /** Milliseconds, since the sample before. */
  readonly delayP99: number;
  readonly delayMax: number;
  /** Milliseconds, since the start. */
  readonly delayP99InAll: number;
  readonly emitted: number;
}

/** Tells the parent what this process takes. */
function sample(emitted: () => number): void {
  const resolution = 1;
  const delay = monitorEventLoopDelay({ resolution });
  const delayInAll = monitorEventLoopDelay({ resolution });
  for (const histogram of [delay, delayInAll]) histogram.enable();
  // Node records the time between two runs of its timer, which holds the timer's own interval.
  const milliseconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution);
  let samples = 0;
  setInterval(() => {
    samples += 1;
    const sampled = {
      resident: process.memoryUsage.rss(),
      delayP99: milliseconds(delay.percentile(99)),
      delayMax: milliseconds(delay.max),
      delayP99InAll: milliseconds(delayInAll.percentile(99)),
      emitted: emitted(),
    };
    if (samples % SAMPLES_A_MINUTE === 0) globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ ...sampled, live: heapUsed + external } satisfies Sample);
    delay.reset();
  }, SAMPLE_MS);
}

const tenantOf = (number: number) => `tenant-${number % TENANTS}`;

/** The service, in the process that is measured, under register: debug calls in tenants' contexts and outside. */
async function serve(): Promise<void> {
  const { category, runWithAttributes, runWithTenant, runWork }: typeof import('../src/api.ts') = await import(
    built('api.js')
  );
  const categories = CATEGORIES.map((name) => category(name, { description: `What ${name} does` }));
  let turns = 0;
  let emitted = 0;
  const work = () => {
    for (let call = 0; call < DEBUG_CALLS_EACH_10_MS; call += 1) {
      categories[call % categories.length]?.debug('at work', () => ({ emitted: ++emitted }));
    }
  };
  let users = 0;
  const order = () => {
    users += 1;
    categories[users % categories.length]?.debug('order', () => ({ emitted: ++emitted }));
    if (users % FAILS_ONE_IN === 0) throw new Error('refused');
  };
  setInterval(() => {
    turns += 1;
    for (let each = 0; each < WORKS_EACH_10_MS; each += 1) {
      try {
        runWithAttributes({ 'user.id': `user-${users}` }, () => runWork('order', order));
      } catch {
        // The one that was to fail.
      }
    }
    if (turns % 4 === 0) work();
    else runWithTenant(tenantOf(turns), work);
  }, 10);
  sample(() => emitted);
}

const READER_KEY = 'the-key-of-one-who-may-only-read-the-status';

async function startService(directory: string, store: string) {
  const config = join(directory, 'rdcp.json');
  const readerHash = `sha256:${createHash('sha256').update(READER_KEY).digest('hex')}`;
  const apiKeys = [
    { id: 'admin', hash: API_KEY_HASH, clientId: 'admin', scopes: ['admin'] },
    { id: 'reader', hash: readerHash, clientId: 'reader', scopes: ['status'] },
  ];
  writeFileSync(
    config,
    JSON.stringify({
      server: { port: 0 },
      store,
      security: { apiKeys, jwt: ISSUER },
      tenancy: { isolation: 'organization' },
      limits: { controlPerMinute: 100_000, readPerMinute: 100_000 },
    }),
  );
  const child = fork(import.meta.filename, ['--serve'], {
    cwd: directory,
    execArgv: ['--no-warnings', '--expose-gc', '--import', built('register.js')],
    env: { ...process.env, RDCP_CONFIG: config, OTEL_EXPORTER_PROMETHEUS_PORT: '0' },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  const { url, metrics } = await addressesOf(child);
  return { child, url, metrics };
}

/** Where it listens, from its one line; what it writes after that is debug output, of which nothing is kept. */
function addressesOf({ stderr }: ChildProcess): Promise<{ url: string; metrics: string }> {
  const { promise, resolve } = Promise.withResolvers<{ url: string; metrics: string }>();
  let text: string | undefined = '';
  stderr?.setEncoding('utf8').on('data', (written: string) => {
    if (text === undefined) return;
    text += written;
    const [, url, metrics] = /remote control on ([^,\s]+).*metrics on ([^,\s]+)/.exec(text) ?? [];
    if (url === undefined || metrics === undefined) return;
    text = undefined;
    resolve({ url, metrics });
  });
  return promise;
}

interface Sent {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The statuses that are right. */
  readonly expected: readonly number[];
}

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!;
const ADMIN = { 'X-RDCP-API-Key': API_KEY };

/** All lines, those of work that fails, or those of some users. */
function part(): object {
  return pick([{}, { otelrdcp_when: { failed: true } }, { otelrdcp_target: { match: { 'user.id': 'user-1*' } } }]);
}

function anyChange(): Sent {
  const action = pick(['enable', 'enable', 'enable', 'disable', 'toggle', 'reset', 'status']);
  const isTemporary = ['enable', 'toggle'].includes(action) && Math.random() < 0.8;
  const duration = 1 + Math.floor(Math.random() * LONGEST_CONTROL_SECONDS);
  const headers = { ...ADMIN, 'X-RDCP-Tenant-ID': tenantOf(Math.floor(Math.random() * TENANTS)) };
  const categories = CATEGORIES.filter(() => Math.random() < 0.2);
  return {
    path: '/rdcp/v1/control',
    headers: Math.random() < 0.2 ? ADMIN : headers,
    body: {
      action,
      categories: categories.length === 0 ? CATEGORIES[0] : categories,
      ...(isTemporary && {
        options: { temporary: true, duration, reason: 'soak', ...(action === 'enable' && part()) },
      }),
    },
    expected: [200],
  };
}

/** The load, one after the other. */
function mixture(bearer: () => string, metrics: string): readonly (() => Sent)[] {
  const read = (path: string) => (): Sent => ({ path, headers: ADMIN, expected: [200] });
  return [
    read('/rdcp/v1/status'),
    anyChange,
    read('/rdcp/v1/discovery'),
    () => ({ path: '/rdcp/v1/status', headers: { 'X-RDCP-API-Key': 'nobody' }, expected: [401, 429] }),
    anyChange,
    () => ({ path: '/rdcp/v1/status', headers: { Authorization: `Bearer ${bearer()}` }, expected: [200] }),
    read('/rdcp/v1/health'),
    () => ({ ...anyChange(), headers: { 'X-RDCP-API-Key': READER_KEY }, expected: [403] }),
    read('/rdcp/v1/metrics'),
    () => ({ ...anyChange(), body: { action: 'enable' }, expected: [400] }),
    anyChange,
    read('/rdcp/v1/audit?limit=20'),
    () => ({ ...anyChange(), body: { action: 'enable', categories: 'NO_SUCH' }, expected: [404] }),
    read('/rdcp/v1/tenants'),
    () => ({ path: metrics, expected: [200] }),
  ];
}

interface Tally {
  underway: number;
  requests: number;
  readonly surprises: Map<string, number>;
}

function send(url: string, agent: Agent | false, next: Sent, tally: Tally): void {
  const { path, headers, body, expected } = next;
  const surprise = (what: string) => tally.surprises.set(what, (tally.surprises.get(what) ?? 0) + 1);
  tally.underway += 1;
  const sent = request(new URL(path, url), {
    method: body === undefined ? 'GET' : 'POST',
    agent,
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
  });
  sent.on('error', (error) => {
    // RFC 9112, section 9.3.1: an idle connection may be ended at the moment at which it is used.
    if (sent.reusedSocket && 'code' in error && error.code === 'ECONNRESET') send(url, false, next, tally);
    else surprise(`${path}: ${error.message}`);
  });
  sent.on('close', () => {
    tally.underway -= 1;
  });
  sent.on('response', (response) => {
    tally.requests += 1;
    const status = response.statusCode ?? 0;
    if (!expected.includes(status)) surprise(`${path}: ${status}`);
    response.resume();
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
}

/** By least squares, over the minutes. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [above, below] = [0, 0];
  for (const [at, value] of values.entries()) {
    above += (at - middle) * (value - mean);
    below += (at - middle) ** 2;
  }
  return above / below;
}

function judgeRise(what: string, minutes: readonly number[]): Verdict {
  const judged = minutes.slice(Math.floor(minutes.length * WARM_UP));
  const rise = slope(judged);
  const measured = `${rise.toFixed(3)} MiB a minute, over ${judged.length} minutes`;
  return verdict(what, `rises at most ${MAX_RISE} MiB a minute`, measured, rise <= MAX_RISE, rise);
}

async function soak(minutes: number, store: string | undefined): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-soak-'));
  const { child, url, metrics } = await startService(directory, store ?? `sqlite:${join(directory, 'state.db')}`);
  const agent = new Agent({ keepAlive: true });
  const tally: Tally = { underway: 0, requests: 0, surprises: new Map() };
  let bearer = await token();
  const mixed = mixture(() => bearer, metrics);
  let turn = 0;
  const timers = [
    setInterval(() => {
      const next = mixed[turn % mixed.length]!;
      // Every seventh comes on a connection of its own.
      send(url, turn % 7 === 0 ? false : agent, next(), tally);
      turn += 1;
    }, PACE_MS),
    setInterval(async () => {
      bearer = await token();
    }, 5000),
  ];

  const resident: number[] = [];
  const live: number[] = [];
  // What the machine alone does to a process that has nothing to do.
  const idle = fork(import.meta.filename, ['--idle'], { execArgv: ['--no-warnings'] });
  let idleDelay = Number.NaN;
  idle.on('message', (message) => {
    idleDelay = (message as Sample).delayP99InAll;
  });
  let delay = Number.NaN;
  console.log('minute   resident MiB   live MiB   delay p99 ms   delay max ms   requests   emitted   load');
  for (let minute = 1; minute <= minutes; minute += 1) {
    const samples: Sample[] = [];
    while (samples.length < SAMPLES_A_MINUTE) samples.push((await once(child, 'message'))[0] as Sample);
    resident.push(median(samples.map((sample) => sample.resident)) / MIB);
    live.push((samples.at(-1)?.live ?? Number.NaN) / MIB);
    delay = samples.at(-1)?.delayP99InAll ?? delay;
    const columns = [
      String(minute).padStart(6),
      resident.at(-1)?.toFixed(1).padStart(15),
      live.at(-1)?.toFixed(1).padStart(11),
      median(samples.map(({ delayP99 }) => delayP99))
        .toFixed(1)
        .padStart(15),
      Math.max(...samples.map(({ delayMax }) => delayMax))
        .toFixed(1)
        .padStart(15),
      String(tally.requests).padStart(11),
      String(samples.at(-1)?.emitted).padStart(10),
      loadavg()[0]?.toFixed(1).padStart(7),
    ];
    console.log(columns.join(''));
  }
  for (const timer of timers) clearInterval(timer);
  while (tally.underway > 0) await sleep(10);
  agent.destroy();
  for (const process of [child, idle]) {
    process.disconnect();
    await once(process, 'exit');
  }
  rmSync(directory, { recursive: true });

  const unexpected = [...tally.surprises].map(([what, count]) => `${count} times ${what}`);
  for (const line of [
    judgeRise('resident memory after the warm-up', resident),
    judgeRise('live memory after the warm-up', live),
    verdict(
      'event-loop delay, p99',
      `below ${MAX_DELAY_MS} ms`,
      `${delay.toFixed(1)} ms; ${idleDelay.toFixed(1)} ms in an idle process beside it`,
      delay < MAX_DELAY_MS,
      delay,
    ),
    verdict(
      'answers that were not the right ones',
      'none',
      unexpected.join('; ') || `none of ${tally.requests}`,
      unexpected.length === 0,
      unexpected.length,
    ),
  ])
    console.log(formatVerdict(line));
}

process.on('disconnect', () => process.exit());
const [first, store] = process.argv.slice(2);
if (first === '--serve') await serve();
else if (first === '--idle') sample(() => 0);
else await soak(Number(first ?? 30), store);
