// What adoption adds to the start of a service made of published packages, under `--import …/register`: until it listens,
// in milliseconds and in processor time. Once with every source and once with none, in turn.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { built, median, publish, verdict } from './measurement.ts';

const PAIRS = 15;
const PACKAGES = ['express', 'fastify', 'koa', '@koa/router', 'pino', 'winston', 'debug', 'redis', 'mysql2', 'ioredis'];

const directory = mkdtempSync(join(tmpdir(), 'rdcp-benchmark-'));
const service = join(directory, 'service.mjs');
writeFileSync(
  service,
  `${PACKAGES.map((name, at) => `import package${at} from '${import.meta.resolve(name)}';`).join('\n')}
  import { createServer } from 'node:http';
  const server = createServer(package0()).listen(0, '127.0.0.1', () => {
    const at = performance.timeOrigin + performance.now();
    const { user, system } = process.cpuUsage();
    process.send({ at, processor: (user + system) / 1000 });
  });`,
);
const configs = [true, false].map((adopt) => {
  const file = join(directory, `adopt-${adopt}.json`);
  writeFileSync(file, JSON.stringify({ adopt, announce: false }));
  return file;
});

interface Start {
  /** Milliseconds until the service listened. */
  readonly listening: number;
  /** Milliseconds of processor time until then, of all threads. */
  readonly processor: number;
}

async function start(config: string): Promise<Start> {
  const from = performance.timeOrigin + performance.now();
  const child = spawn(process.execPath, ['--import', built('register.js'), service], {
    cwd: directory,
    env: { PATH: process.env.PATH, RDCP_CONFIG: config, RDCP_PORT: '0', OTEL_EXPORTER_PROMETHEUS_PORT: '0' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [{ at, processor }] = (await once(child, 'message')) as [{ at: number; processor: number }];
  child.kill('SIGKILL');
  await once(child, 'exit');
  return { listening: at - from, processor };
}

const more: Start[] = [];
const without: Start[] = [];
for (let pair = 0; pair <= PAIRS; pair++) {
  const order = pair % 2 === 0 ? [0, 1] : [1, 0];
  const starts: Start[] = [];
  for (const at of order) starts[at] = await start(configs[at]!);
  // The first pair warms the file system's cache.
  if (pair === 0) continue;
  const [adopted, bare] = [starts[0]!, starts[1]!];
  more.push({ listening: adopted.listening - bare.listening, processor: adopted.processor - bare.processor });
  without.push(bare);
}
rmSync(directory, { recursive: true });

function row(what: string, of: keyof Start) {
  const [added, beside] = [median(more.map((each) => each[of])), median(without.map((each) => each[of]))];
  const measured = `${added.toFixed(1)} ms (beside ${beside.toFixed(0)} ms)`;
  return verdict(
    `start-up with everything adopted: ${what}`,
    '<= 40 ms more than with nothing',
    measured,
    added <= 40,
    added,
  );
}

publish({ timings: [], verdicts: [row('the service listens', 'listening'), row('processor time', 'processor')] });
