// What a flood of the endpoint's port does to the host: the delay of its event loop, beside that of a bare server of Node under
// the same flood in the same run, and how long an operator with a key waits who comes on a new connection from another address.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeCertificate } from '../test/support/certificate.ts';
import { request } from './load/contest.ts';
import type { Attack, LoopDelay } from './load/protocol.ts';
import { median, publish, type Verdict, verdict } from './measurement.ts';
import { API_KEY, ATTACKER_KEY } from './services/identities.ts';

const WARM_UP_MS = 2000;
const ATTACK_MS = 4000;
/** From one request of an operator to the next. */
const OPERATOR_MS = 200;
const GIVE_UP_MS = 10_000;
const MAX_RATIO = 1.5;
const MAX_WAIT_MS = 1000;
/** What a timer of Node is late by at any time, milliseconds: of two delays below it none is the longer one. */
const LEAST_DELAY_MS = 2;
/** Not that of the attackers, which has no connection left. */
const OPERATOR = '127.0.0.2';

const STATUS = '/rdcp/v1/status';
const HALF = 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ';
const wrong = { 'X-RDCP-API-Key': 'x'.repeat(40) };
const attacker = { 'X-RDCP-API-Key': ATTACKER_KEY };

const FLOODS: Readonly<Record<string, Omit<Attack, 'port'>>> = {
  '1,000 busy connections, no key': { protocol: 'http/1.1', connections: 1000, request: request(STATUS) },
  '1,000 busy connections, a wrong key': { protocol: 'http/1.1', connections: 1000, request: request(STATUS, wrong) },
  '1,000 busy connections, a key': { protocol: 'http/1.1', connections: 1000, request: request(STATUS, attacker) },
  '1,000 busy connections, no such path': { protocol: 'http/1.1', connections: 1000, request: request('/rdcp/v1/no') },
  '4,096 connections with half a request': { protocol: 'http/1.1', connections: 4096, request: HALF, once: true },
  '1,000 connections that come and go': { protocol: 'http/1.1', connections: 1000, request: HALF, stayMs: 100 },
  '1,000 busy connections of TLS, no key': { protocol: 'https', connections: 1000, request: request(STATUS) },
  '100 busy connections of HTTP/2, no key': { protocol: 'h2', connections: 100, request: STATUS },
};

const { certFile, keyFile } = writeCertificate();

interface Outcome {
  readonly delay: LoopDelay;
  readonly answersPerSecond: number;
  /** What operators waited for, milliseconds. */
  readonly waits: readonly number[];
}

function run(file: string, ...settings: readonly string[]): ChildProcess {
  return fork(join(import.meta.dirname, file), settings, { execArgv: ['--no-warnings'] });
}

async function ask<T>(child: ChildProcess, message: string): Promise<T> {
  child.send(message);
  return (await once(child, 'message'))[0] as T;
}

function wait(port: number, tls: boolean): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const started = performance.now();
  const failed = () => resolve(Number.POSITIVE_INFINITY);
  const sent = (tls ? httpsRequest : httpRequest)({
    ...{ port, host: '127.0.0.1', path: STATUS, agent: false, localAddress: OPERATOR, rejectUnauthorized: false },
    headers: { 'X-RDCP-API-Key': API_KEY },
    timeout: GIVE_UP_MS,
  });
  sent.on('timeout', () => sent.destroy());
  sent.on('error', failed);
  sent.on('response', (response) => {
    response.on('error', failed);
    response.on('end', () => (response.statusCode === 200 ? resolve(performance.now() - started) : failed()));
    response.resume();
  });
  sent.end();
  return promise;
}

async function flood(kind: 'bare' | 'endpoint', attack: Omit<Attack, 'port'>): Promise<Outcome> {
  const tls = attack.protocol !== 'http/1.1';
  const service = run('services/attacked.ts', kind, ...(tls ? [certFile, keyFile] : []));
  const [{ port }] = (await once(service, 'message')) as [{ port: number }];
  const flooding = run('load/attacker.ts');
  flooding.send({ ...attack, port });
  await sleep(WARM_UP_MS);
  const before = await ask<number>(flooding, 'answers');
  await ask<LoopDelay>(service, 'delay');
  const waits: Promise<number>[] = [];
  for (const end = performance.now() + ATTACK_MS; performance.now() < end; await sleep(OPERATOR_MS)) {
    if (kind === 'endpoint') waits.push(wait(port, tls));
  }
  const delay = await ask<LoopDelay>(service, 'delay');
  const answersPerSecond = ((await ask<number>(flooding, 'answers')) - before) / (ATTACK_MS / 1000);
  const waited = await Promise.all(waits);
  for (const child of [service, flooding]) {
    child.disconnect();
    await once(child, 'exit');
  }
  return { delay, answersPerSecond, waits: waited.sort((a, b) => a - b) };
}

const verdicts: Verdict[] = [];
for (const [name, attack] of Object.entries(FLOODS)) {
  const bare = await flood('bare', attack);
  const { delay, answersPerSecond, waits } = await flood('endpoint', attack);
  const ratio = Math.max(delay.p99, LEAST_DELAY_MS) / Math.max(bare.delay.p99, LEAST_DELAY_MS);
  const longest = waits.at(-1) ?? Number.POSITIVE_INFINITY;
  const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
  verdicts.push(
    verdict(
      `${name}: event-loop delay p99`,
      `<= ${MAX_RATIO} of bare Node`,
      `${ratio.toFixed(2)}: ${ms(delay.p99)}, bare ${ms(bare.delay.p99)}; ${Math.round(answersPerSecond)} answers/s, bare ${Math.round(bare.answersPerSecond)}`,
      ratio <= MAX_RATIO,
      ratio,
    ),
    verdict(
      `${name}: an operator of another address waits`,
      `<= ${MAX_WAIT_MS} ms`,
      `${ms(longest)} at most, ${ms(median(waits))} in the middle`,
      longest <= MAX_WAIT_MS,
      longest,
    ),
  );
}
publish({ timings: [], verdicts });
