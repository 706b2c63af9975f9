// Every attack at once, for five minutes, against the built package in a service with traffic of its own: idle
// connections, spent quotas, junk tokens, refusals meant to wash out the audit trail, large requests, a locked store,
// stderr that nobody reads. Prints what the service's own clients and its operator see of it, before and meanwhile.
// `npm run attack -- [minutes]`. The attackers run at low priority: elsewhere they would have processors of their own.

import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { loadavg, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Scope } from '../src/index.ts';
import { built, formatVerdict, type Verdict, verdict } from './measurement.ts';

const QUIET_SECONDS = 30;
const MIB = 2 ** 20;

const OPERATOR = 'the-key-of-the-operator-who-must-be-served';
const TENANT = 'the-key-of-a-tenant-that-has-turned-hostile';
const READER = 'the-key-of-another-tenant-that-may-only-read';

/** Addresses of loopback that the attacks come from; the operator and the service's own clients come from 127.0.0.1. */
const FROM = { idle: '127.0.0.2', spent: '127.0.0.3', tokens: '127.0.0.4', keys: '127.0.0.5', junk: '127.0.0.6' };

const key = (id: string, secret: string, scopes: Scope[], tenantId?: string) => ({
  id,
  clientId: id,
  scopes,
  hash: `sha256:${createHash('sha256').update(secret).digest('hex')}`,
  ...(tenantId && { tenantId }),
});

/** The service's own traffic: answered after `work`. @returns the address */
async function serveOwn(work: () => void): Promise<string> {
  const own = createServer((_, response) => {
    work();
    response.end('done');
  });
  // An idle connection that ends at the moment at which it is used is a failed request (RFC 9112, section 9.3.1).
  own.keepAliveTimeout = 0;
  own.listen(0, '127.0.0.1');
  await once(own, 'listening');
  return `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
}

/** A service without a remote control, which nobody attacks: shows what the attackers take from everybody on the machine. */
async function standBeside(): Promise<void> {
  process.once('disconnect', () => process.exit());
  process.send?.({ own: await serveOwn(() => {}) });
}

/** The service: its own traffic on a port of its own, with debug calls in every request, in the same event loop. */
async function serve(file: string): Promise<void> {
  const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));
  const rdcp = createRdcp({
    server: { port: 0 },
    store: `sqlite:${file}`,
    security: {
      apiKeys: [
        key('operator', OPERATOR, ['discovery', 'status', 'control', 'admin']),
        key('hostile', TENANT, ['discovery', 'status', 'control'], 'mallory'),
        key('reader', READER, ['status'], 'eve'),
      ],
      tokens: { issuer: 'https://rdcp.example', audience: 'rdcp', secret: randomBytes(32).toString('hex') },
    },
    tenancy: { isolation: 'organization' },
    categories: { FLOOD: { description: 'in a hot loop', enabled: true }, WORK: { description: 'of each request' } },
    emit: { to: 'stderr' },
  });
  const [flood, work] = [rdcp.category('FLOOD'), rdcp.category('WORK')];
  setInterval(() => {
    for (let call = 0; call < 50; call++) flood.debug('nobody reads this', { text: 'x'.repeat(100), call });
  }, 10);
  const own = await serveOwn(() => {
    for (let point = 0; point < 50; point++) work.debug('at work', { point });
  });
  const { url } = await rdcp.listen();
  process.on('message', () => {
    const resident = process.memoryUsage.rss();
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ resident, live: heapUsed + external });
  });
  process.once('disconnect', () => void rdcp.close().then(() => process.exit()));
  process.send?.({ url, own });
}

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly localAddress?: string;
  readonly agent?: Agent | false;
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

function ask(
  url: string,
  { path = '/', body, agent = false, method = body === undefined ? 'GET' : 'POST', ...rest }: Asked,
) {
  return new Promise<Answered>((resolve, reject) => {
    const began = performance.now();
    const sent = request(new URL(path, url), { method, agent, timeout: 10_000, ...rest }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - began }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within 10 s')));
    sent.on('error', reject);
    sent.end(body);
  });
}

const json = (secret: string, extra = {}) => ({
  'X-RDCP-API-Key': secret,
  'Content-Type': 'application/json',
  ...extra,
});
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** Repeats an attack, `perSecond` times a second, whatever becomes of each. */
function keepOn(perSecond: number, attack: (turn: number) => Promise<unknown>): void {
  let turn = 0;
  let underway = 0;
  const batch = Math.max(1, Math.round(perSecond / 50));
  setInterval(
    () => {
      for (let each = 0; each < batch && underway < 200; each++) {
        underway += 1;
        turn += 1;
        attack(turn)
          .catch(() => {})
          .finally(() => {
            underway -= 1;
          });
      }
    },
    (1000 * batch) / perSecond,
  );
}

/** Takes all connections that the service leaves to one address, and asks for more; half a request on every other one. */
function holdConnections(url: string, count: number): void {
  const { port } = new URL(url);
  let open = 0;
  setInterval(() => {
    for (let each = 0; each < 100 && open < count; each++) {
      open += 1;
      const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: FROM.idle });
      socket.on(
        'connect',
        () => open % 2 === 0 && socket.write('GET /rdcp/v1/status HTTP/1.1\r\nHost: localhost\r\nX-'),
      );
      socket.on('error', () => {});
      socket.on('close', () => {
        open -= 1;
      });
    }
  }, 100);
}

function attack(url: string): void {
  setPriority(19);
  const control = '/rdcp/v1/control';
  const names = Array.from({ length: 3000 }, (_, index) => `NO_SUCH_CATEGORY_${index}`);
  const junkRequests = [
    'GET / HTTP/1.1\r\n\r\n',
    `POST ${control} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `GET ${control} HTTP/9.9\r\n\r\n`,
    `GET /rdcp/v1/status HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(30_000)}\r\n\r\n`,
    '\x16\x03\x01\x02\x00\x01\x00',
  ];
  holdConnections(url, 4096);
  const agent = new Agent({ keepAlive: true, localAddress: FROM.spent });
  keepOn(400, () => ask(url, { path: '/rdcp/v1/status', agent, headers: { 'X-RDCP-API-Key': 'a'.repeat(43) } }));
  keepOn(100, (turn) => {
    const localAddress = `127.1.${(turn >> 8) % 4}.${1 + (turn % 250)}`;
    return ask(url, { path: '/rdcp/v1/audit', localAddress, headers: { Authorization: `Bearer opaque-${turn}` } });
  });
  keepOn(20, (turn) =>
    ask(url, {
      path: '/rdcp/v1/token',
      localAddress: FROM.tokens,
      headers: form,
      body: `grant_type=refresh_token&refresh_token=junk-${turn}`,
    }),
  );
  keepOn(20, () =>
    ask(url, {
      path: control,
      localAddress: FROM.keys,
      headers: json(READER),
      body: '{"action":"enable","categories":"WORK"}',
    }),
  );
  keepOn(10, () => {
    const body = JSON.stringify({ action: 'enable', categories: names });
    return ask(url, { path: control, localAddress: FROM.keys, headers: json(TENANT), body });
  });
  keepOn(10, () =>
    ask(url, {
      path: control,
      localAddress: FROM.keys,
      headers: json(TENANT),
      body: '{"action":"status","categories":"WORK"}',
    }),
  );
  keepOn(50, async (turn) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: FROM.junk });
    socket.on('error', () => {});
    socket.end(junkRequests[turn % junkRequests.length] ?? '');
    socket.resume();
    await once(socket, 'close');
  });
}

/** Another process that holds the write lock of the database, two seconds of every ten. */
async function lock(file: string): Promise<void> {
  const database = new DatabaseSync(file, { timeout: 1000 });
  for (;;) {
    await sleep(8000);
    try {
      database.exec('BEGIN IMMEDIATE');
      await sleep(2000);
      database.exec('ROLLBACK');
    } catch {
      // The service was writing.
    }
  }
}

const percentile = (values: readonly number[], share: number) =>
  [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

/** The service's own clients: 100 requests a second until they are stopped. */
function ownTraffic(url: string) {
  const agent = new Agent({ keepAlive: true });
  const took: number[] = [];
  let failed = 0;
  const timer = setInterval(() => {
    ask(url, { agent }).then(
      ({ ms }) => took.push(ms),
      () => {
        failed += 1;
      },
    );
  }, 10);
  return () => {
    clearInterval(timer);
    agent.destroy();
    return { took, failed };
  };
}

/** The operator: looks twice a second, and switches something every other second. */
function operator(url: string) {
  const looks: number[] = [];
  const acknowledged: string[] = [];
  const failures = { unserved: 0, refused: 0 };
  const failed = (what: keyof typeof failures) => () => {
    failures[what] += 1;
  };
  let turn = 0;
  const timers = [
    setInterval(() => {
      ask(url, { path: '/rdcp/v1/status', headers: json(OPERATOR) }).then(
        ({ status, ms }) => (status === 200 ? looks.push(ms) : failed('unserved')()),
        failed('unserved'),
      );
    }, 500),
    setInterval(() => {
      turn += 1;
      const id = `attack-${turn}`;
      const body = JSON.stringify({ action: 'toggle', categories: 'WORK', options: { reason: id } });
      ask(url, { path: '/rdcp/v1/control', headers: json(OPERATOR), body }).then(
        ({ status }) => (status === 200 ? acknowledged.push(id) : failed('refused')()),
        failed('refused'),
      );
    }, 2000),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
    return { looks, acknowledged, ...failures };
  };
}

/** In MiB: all that the system has given it, and what is left on its heaps after a full collection. */
async function memoryOf(child: ChildProcess): Promise<{ resident: number; live: number }> {
  child.send('memory');
  const [{ resident, live }] = await once(child, 'message');
  return { resident: resident / MIB, live: live / MIB };
}

/** Which of the changes that the operator was told of the trail has. */
async function reasonsInTrail(url: string): Promise<Set<string>> {
  const reasons = new Set<string>();
  let cursor: string | undefined;
  do {
    const path = `/rdcp/v1/audit?limit=1000&action=toggle${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer = JSON.parse((await ask(url, { path, headers: json(OPERATOR) })).text);
    for (const { reason } of answer.entries) reasons.add(reason);
    cursor = answer.nextCursor;
  } while (cursor !== undefined && cursor !== null);
  return reasons;
}

async function main(minutes: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-attack-'));
  const file = join(directory, 'state.db');
  const service = fork(import.meta.filename, ['--serve', file], {
    execArgv: ['--no-warnings', '--expose-gc'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  // Opened, and read by nobody.
  service.stderr?.pause();
  const [{ url, own }] = await once(service, 'message');
  const bystander = fork(import.meta.filename, ['--beside'], { execArgv: ['--no-warnings'] });
  const [beside] = await once(bystander, 'message');
  const run = async (seconds: number) => {
    const [stopOwn, stopBeside, stopOperator] = [ownTraffic(own), ownTraffic(beside.own), operator(url)];
    await sleep(seconds * 1000);
    return { ...stopOwn(), beside: stopBeside().took, ...stopOperator() };
  };
  await run(5);
  const quiet = await run(QUIET_SECONDS);
  const calm = await memoryOf(service);
  const attackers = [
    fork(import.meta.filename, ['--attack', url], { execArgv: ['--no-warnings'] }),
    fork(import.meta.filename, ['--lock', file], { execArgv: ['--no-warnings'] }),
  ];
  const memory: Awaited<ReturnType<typeof memoryOf>>[] = [];
  const parts: Awaited<ReturnType<typeof run>>[] = [];
  console.log(`before the attack: resident ${calm.resident.toFixed(1)} MiB, live ${calm.live.toFixed(1)} MiB`);
  console.log('minute   own p99 ms   operator max ms   resident MiB   live MiB   load');
  for (let minute = 1; minute <= minutes; minute += 1) {
    const part = await run(60);
    parts.push(part);
    const now = await memoryOf(service);
    memory.push(now);
    const columns = [
      String(minute).padStart(6),
      percentile(part.took, 0.99).toFixed(1).padStart(13),
      Math.max(...part.looks)
        .toFixed(0)
        .padStart(18),
      now.resident.toFixed(1).padStart(15),
      now.live.toFixed(1).padStart(11),
      (loadavg()[0] ?? Number.NaN).toFixed(1).padStart(7),
    ];
    console.log(columns.join(''));
  }
  for (const attacker of attackers) {
    attacker.kill('SIGKILL');
    await once(attacker, 'exit');
  }
  await sleep(3000);
  const reasons = await reasonsInTrail(url);
  for (const child of [service, bystander]) {
    child.disconnect();
    await once(child, 'exit');
  }
  const verified = spawnSync(
    process.execPath,
    [fileURLToPath(built('cli/main.js')), 'audit', 'verify', '--store', `sqlite:${file}`],
    {
      encoding: 'utf8',
    },
  );
  rmSync(directory, { recursive: true });

  const all = (pick: (part: (typeof parts)[number]) => readonly number[]) => parts.flatMap(pick);
  const sum = (pick: (part: (typeof parts)[number]) => number) => parts.reduce((total, part) => total + pick(part), 0);
  const acknowledged = parts.flatMap((part) => part.acknowledged);
  const lost = acknowledged.filter((id) => !reasons.has(id));
  const p99 = (pick: (part: (typeof parts)[number]) => readonly number[]) => percentile(all(pick), 0.99);
  const [before, meanwhile] = [percentile(quiet.took, 0.99), p99((part) => part.took)];
  const besideBefore = percentile(quiet.beside, 0.99);
  const besideMeanwhile = p99((part) => part.beside);
  const rise = (memory.at(-1)?.live ?? Number.NaN) - (memory[0]?.live ?? Number.NaN);
  const unserved = sum((part) => part.unserved);
  const slowest = Math.max(...all((part) => part.looks));
  const verdicts: Verdict[] = [
    verdict(
      "the service's own requests that failed",
      'none',
      `${sum((part) => part.failed)}`,
      sum((part) => part.failed) === 0,
      0,
    ),
    verdict(
      'operator, from an address that does not attack, status with a valid key',
      'always, within 250 ms',
      `${unserved} not served, slowest ${slowest.toFixed(0)} ms, p99 ${p99((part) => part.looks).toFixed(0)} ms`,
      unserved === 0 && slowest <= 250,
      slowest,
    ),
    verdict(
      'changes that were acknowledged and are not in the trail',
      'none',
      `${lost.length} of ${acknowledged.length}; ${sum((part) => part.refused)} refused while the store was locked`,
      lost.length === 0 && acknowledged.length > 0,
      lost.length,
    ),
    verdict('live memory, first minute to last', 'rises at most 10 MiB', `${rise.toFixed(1)} MiB`, rise <= 10, rise),
    verdict(
      'audit trail',
      'verifies',
      `${verified.status === 0 ? 'verified' : 'NOT verified'}: ${(verified.stdout || verified.stderr).trim().split('\n')[0]}`,
      verified.status === 0,
      verified.status ?? 1,
    ),
  ];
  for (const line of verdicts) console.log(formatVerdict(line));
  // What the attackers take from every process of the machine is in both.
  for (const [whose, during, quietly] of [
    ["the service's own requests", meanwhile, before],
    ['a bare service beside it, which is not attacked', besideMeanwhile, besideBefore],
  ] as const) {
    const times = (during / quietly).toFixed(2);
    console.log(`p99 of ${whose}: ${during.toFixed(1)} ms, quiet ${quietly.toFixed(1)} ms: ${times} times`);
  }
}

const [first, argument = ''] = process.argv.slice(2);
if (first === '--serve') await serve(argument);
else if (first === '--beside') await standBeside();
else if (first === '--attack') attack(argument);
else if (first === '--lock') await lock(argument);
else await main(Number(first ?? 5));
