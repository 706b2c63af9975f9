// Keeps every processor busy, so nothing runs beside it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { installInto, LINES, MANIFEST, packInto } from '../package/consumer.ts';
import { openReceiver } from '../register/otlp-receiver.ts';
import { run } from '../safety/program.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const KEY = 'failing-requests-under-test-0123456789abcdef';
const REQUESTS = 10_000;
const LINES_OF_EACH = 5;
const FAILING = Array.from({ length: REQUESTS / 100 }, (_, index) => index * 100);
/** They are fewer than the default budget of recorded lines lets out at once: none may be missing. */
const EXPECTED = FAILING.length * LINES_OF_EACH;
const CONNECTIONS = 50;

const LOGGERS = ['category', 'pino', 'debug'] as const;
type Logger = (typeof LOGGERS)[number];

/** A line that came out. */
interface Written {
  readonly message: string;
  readonly traceId?: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const root = newFolder();

const CONFIG: RdcpConfig = {
  announce: false,
  categories: { ORDERS: {} },
  recorder: { categories: ['ORDERS'], keepSeconds: 3600 },
  security: { apiKeys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin'] }] },
};

interface Started {
  /** Where it finds its packages. @default this project */
  readonly folder?: string;
  readonly config?: RdcpConfig;
  readonly env?: NodeJS.ProcessEnv;
}

async function start(t: TestContext, logger: Logger, { folder, config = CONFIG, env }: Started = {}) {
  const cwd = folder ?? root;
  const port = await freePort();
  writeFileSync(join(cwd, 'rdcp.json'), JSON.stringify(config));
  const source = join(import.meta.dirname, 'failing-service.ts');
  const file = folder === undefined ? source : join(folder, 'failing-service.ts');
  if (folder !== undefined) copyFileSync(source, file);
  const { child, output } = run(t, file, {
    cwd,
    imports: [folder === undefined ? built('register.js') : 'opentelemetry-instrumentation-rdcp/register'],
    env: {
      ...{ LOGGER: logger, RDCP_CONFIG: 'rdcp.json', RDCP_PORT: String(port), OTEL_TRACES_EXPORTER: 'none' },
      ...{ OTEL_METRICS_EXPORTER: 'none', ...env },
    },
  });
  const [servedOn] = (await once(child, 'message')) as [number];
  const url = `http://127.0.0.1:${port}`;
  const client = createRdcpClient({ baseUrl: url, apiKey: KEY });
  await until('the endpoint listens', () => client.status().then(Boolean, () => false));
  return { port: servedOn, url, client, output };
}

type Service = Awaited<ReturnType<typeof start>>;

/** Sends the requests, and returns the trace of each, by its number. */
async function load(ports: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const traces = new Map<number, string>();
  let next = 0;
  const connection = async () => {
    while (next < REQUESTS) {
      const number = next++;
      const port = ports[number % ports.length]!;
      const asked = get({ host: '127.0.0.1', port, path: `/${number}`, agent });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      await response.resume().toArray();
      assert.equal(response.statusCode, number % 100 === 0 ? 500 : 200);
      traces.set(number, String(response.headers['trace-id']));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  agent.destroy();
  return traces;
}

/** What became of the recorded calls in all processes of a fleet. */
async function counted({ client }: Service) {
  const { categories } = await client.discovery();
  return categories.find(({ name }) => name === 'ORDERS')?.otelrdcp_recorder ?? { written: 0, forgotten: 0, cut: 0 };
}

const ALL_COUNTED = { written: EXPECTED, forgotten: REQUESTS * LINES_OF_EACH - EXPECTED, cut: 0 };

/** Exactly the lines of the failing requests: those of one together, in order, and all marked the same. */
function check(written: readonly Written[], logger: Logger, traces?: ReadonlyMap<number, string>): void {
  const works = Map.groupBy(written, ({ attributes }) => String(attributes['rdcp.work.id']));
  assert.equal(works.size, FAILING.length);
  const numbers = [...works.values()].map((lines) => {
    const number = Number(lines[0]!.message.split(' ')[1]);
    for (const [line, { message, attributes, traceId }] of lines.entries()) {
      assert.equal(message, `request ${number} line ${line}`);
      const outcome = new RegExp(`^GET /${number} 500 after (?:\\d+ ms|\\d+\\.\\d s)$`);
      // The first line says what the work was.
      if (line === 0) assert.match(String(attributes['rdcp.work.outcome']), outcome);
      else assert.equal(attributes['rdcp.work.outcome'], undefined);
      if (logger !== 'debug') assert.deepEqual([attributes.request, attributes.line ?? 0], [number, line]);
      if (traces !== undefined) assert.equal(traceId, traces.get(number));
    }
    assert.equal(lines.length, LINES_OF_EACH);
    return number;
  });
  assert.deepEqual(
    numbers.sort((a, b) => a - b),
    FAILING,
  );
}

/** Under load asks for what fails, and then for the lines of one request, while everything is recorded. */
async function recordUnderLoad(t: TestContext, service: Service) {
  await service.client.enable('ORDERS', { duration: '5m', otelrdcp_when: { failed: true } });
  const began = performance.now();
  const traces = await load([service.port]);
  t.diagnostic(`${REQUESTS} requests in ${Math.round(performance.now() - began)} ms`);
  await until('all requests have ended', async () => {
    const { written, forgotten, cut } = await counted(service);
    return written + forgotten + cut === REQUESTS * LINES_OF_EACH;
  });
  assert.deepEqual(await counted(service), ALL_COUNTED);
  const past: string[] = [];
  const request = { since: '10m', past: true, target: { match: { 'url.path': '/77' } } } as const;
  for await (const { event, data } of service.client.tail('ORDERS', request))
    if (event === 'line') past.push(data.message);
  const expected = Array.from({ length: LINES_OF_EACH }, (_, line) => `request 77 line ${line}`);
  assert.deepEqual(past, expected);
  return traces;
}

const jsonLines = (text: string): Written[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const { trace_id: traceId, ...record } = JSON.parse(line);
      return { ...record, traceId };
    });

describe(`of ${REQUESTS} requests under load exactly the lines of those come out that failed`, () => {
  for (const line of ['3.x', '2.x'] as const) {
    it(`with OpenTelemetry ${line}`, async (t) => {
      const { pino, debug } = MANIFEST.devDependencies;
      const folder = line === '2.x' ? join(root, line) : undefined;
      if (folder) await installInto(folder, await packInto(root), { ...LINES[line], pino: pino!, debug: debug! });
      for (const logger of LOGGERS) {
        await t.test(`by ${logger}`, async (t) => {
          const receiver = await openReceiver(t);
          const env = { ...receiver.env, OTEL_BLRP_SCHEDULE_DELAY: '200' };
          const traces = await recordUnderLoad(t, await start(t, logger, { ...(folder && { folder }), env }));
          const written = () => receiver.records().filter(({ attributes }) => attributes['rdcp.category.name']);
          await until('the last record', () => written().length >= EXPECTED);
          check(
            written().map(({ body, ...record }) => ({ message: String(body), ...record })),
            logger,
            traces,
          );
        });
      }
    });
  }

  it('in a fleet of four, by one rdcp tail --on-error', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    const config: RdcpConfig = { ...CONFIG, emit: { to: 'json' }, store: redis.url };
    const env = { OTEL_LOGS_EXPORTER: 'none' };
    const fleet = await Promise.all(Array.from({ length: 4 }, () => start(t, 'category', { config, env })));
    const [first] = fleet as [Service];
    await until('four processes', async () => {
      const { instances } = await first.client.fleet().catch(() => ({ instances: [] }));
      return instances.length === 4;
    });
    const { output, found } = run(t, built('cli/main.js').replace('file://', ''), {
      args: ['tail', 'ORDERS', '--on-error', '--for', '5m', '--rate', '10000', '-o', 'json'],
      env: { RDCP_URL: first.url, RDCP_API_KEY: KEY },
    });
    await found(/All 4 processes take part\./, 'stderr');
    await load(fleet.map(({ port }) => port));
    await until('the last line', () => jsonLines(output.stdout).length >= EXPECTED).catch((cause) => {
      throw new Error(`${jsonLines(output.stdout).length} lines. ${output.stderr}`, { cause });
    });
    await until('each process to have announced what it counted', async () => {
      const { written, forgotten, cut } = await counted(first);
      return written + forgotten + cut >= REQUESTS * LINES_OF_EACH;
    });
    assert.deepEqual(await counted(first), ALL_COUNTED);
    check(jsonLines(output.stdout), 'category');
    for (const { output } of fleet) assert.deepEqual(jsonLines(output.stderr), []);
  });
});
