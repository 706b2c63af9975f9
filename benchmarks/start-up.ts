// What an application pays at its start under `--import …/register`, beside NodeSDK with its Prometheus exporter: when its
// first statement runs, when the endpoint answers, and its resident memory once all is loaded. And what `rdcp --version`
// takes beside a Node that does nothing. Everything is counted from the start of the process, in turn.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { built, median, publish, verdict } from './measurement.ts';

const PROCESSES = 9;
/** From the first statement until memory is read: by then everything that loads later is loaded, and idle. */
const SETTLE_MS = 2000;

const REGISTER = built('register.js');
const CLI = fileURLToPath(built('cli/main.js'));

const directory = mkdtempSync(join(tmpdir(), 'rdcp-benchmark-'));
const app = join(directory, 'app.mjs');
writeFileSync(
  app,
  `const at = performance.timeOrigin + performance.now();
  process.send({ at });
  setTimeout(() => process.send({ memory: process.memoryUsage.rss() }), ${SETTLE_MS});`,
);
// JavaScript, as an application would have it: Node would have to strip the types of one of the files here.
const nodeSdk = join(directory, 'node-sdk.mjs');
writeFileSync(
  nodeSdk,
  `import { PrometheusExporter } from '${import.meta.resolve('@opentelemetry/exporter-prometheus')}';
  import { NodeSDK } from '${import.meta.resolve('@opentelemetry/sdk-node')}';
  Object.assign(process.env, { OTEL_TRACES_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' });
  const port = Number(process.env.OTEL_EXPORTER_PROMETHEUS_PORT);
  new NodeSDK({ metricReaders: [new PrometheusExporter({ port })] }).start();`,
);
const empty = join(directory, 'empty.js');
writeFileSync(empty, '');

interface Start {
  /** Milliseconds until the application's first statement. */
  readonly statement: number;
  /** Milliseconds until the endpoint answered; NaN where there is none. */
  readonly answer: number;
  /** Ends the process once it is settled; its memory by then, in bytes. */
  readonly settled: () => Promise<number>;
}

async function start(preload: string, answers: boolean): Promise<Start> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const from = performance.timeOrigin + performance.now();
  const child = spawn(process.execPath, ['--import', preload, app], {
    cwd: directory,
    env: { PATH: process.env.PATH, RDCP_PORT: String(port), OTEL_EXPORTER_PROMETHEUS_PORT: String(metricsPort) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [{ at }] = (await once(child, 'message')) as [{ at: number }];
  const memory = once(child, 'message') as Promise<[{ memory: number }]>;
  const answer = answers ? (await answered(port)) - from : Number.NaN;
  const settled = async () => {
    const [told] = await memory;
    child.kill('SIGKILL');
    await exited;
    return told.memory;
  };
  return { statement: at - from, answer, settled };
}

/** When the endpoint gave its first answer. */
async function answered(port: number): Promise<number> {
  for (;;) {
    try {
      await (await fetch(`http://127.0.0.1:${port}/.well-known/rdcp`)).text();
      return performance.timeOrigin + performance.now();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('there is no free port');
  return address.port;
}

function run(...args: readonly string[]): number {
  const from = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  return performance.now() - from;
}

const bare: Start[] = [];
const registered: Start[] = [];
const megabytesMore: number[] = [];
const versions: number[] = [];
const empties: number[] = [];
for (let round = 0; round <= PROCESSES; round++) {
  const measured = [await start(pathToFileURL(nodeSdk).href, false), await start(REGISTER, true)] as const;
  // Both settle at once: the first one is idle while the second one starts.
  const [less, more] = await Promise.all([measured[0].settled(), measured[1].settled()]);
  const commands = [run(CLI, '--version'), run(empty)] as const;
  // The first round warms the file system's cache.
  if (round === 0) continue;
  bare.push(measured[0]);
  registered.push(measured[1]);
  megabytesMore.push((more - less) / 2 ** 20);
  versions.push(commands[0]);
  empties.push(commands[1]);
}
rmSync(directory, { recursive: true });

const beside = median(bare.map(({ statement }) => statement));
const statement = median(registered.map((each) => each.statement));
const answer = median(registered.map((each) => each.answer));
const [version, nothing] = [median(versions), median(empties)];
const megabytes = median(megabytesMore);

function share(what: string, milliseconds: number, reference: number, most: number, of: string) {
  const ratio = milliseconds / reference;
  const measured = `${ratio.toFixed(2)} (${milliseconds.toFixed(0)} of ${reference.toFixed(0)} ms)`;
  return verdict(what, `<= ${most} of ${of}`, measured, ratio <= most, ratio);
}

publish({
  timings: [],
  verdicts: [
    share('register: the first statement', statement, beside, 1.4, 'NodeSDK, Prometheus'),
    share('register: the endpoint answers', answer, beside, 2.2, 'that first statement'),
    verdict(
      'register: resident memory',
      '<= 16 MB more than that',
      `${megabytes.toFixed(1)} MB`,
      megabytes <= 16,
      megabytes,
    ),
    share('rdcp --version', version, nothing, 2.5, 'an empty Node'),
  ],
});
