// How soon a change shows in a fleet: from sending the request to one process until the last of 20 gates has followed,
// beside a bare Redis message to 20 subscribers in the same processes. One round of each in turn, so that both see the
// same machine. Needs redis-server, or REDIS_URL.

import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { generateApiKey, hashApiKey } from '../src/access/api-key.ts';
import type { ControlResponse, StatusResponse } from '../src/wire/messages.ts';
import { percentile, publish, timing, verdict } from './measurement.ts';
import { openRedis } from './redis.ts';

const PROCESSES = Number(process.env.FLEET_PROCESSES ?? 20);
const ROUNDS = Number(process.env.FLEET_ROUNDS ?? 300);
/** Between two measurements, in milliseconds: acknowledgements of the one are not to disturb the next. */
const PAUSE_MS = 15;
const CHANNEL = 'bare';
/** As long as the message of a change. */
const PAYLOAD = 'x'.repeat(250);

const key = generateApiKey({ env: 'bench', randomBytes });
const now = () => Number(process.hrtime.bigint()) / 1e6;

interface Noted {
  readonly flips: readonly (readonly [on: boolean, at: number])[];
  readonly messages: readonly number[];
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T];
  return message;
}

/** By node:http on a connection that stays open: what `fetch` itself costs is not the fleet's. */
const agent = new Agent({ keepAlive: true });
const headers = { 'X-RDCP-API-Key': key, 'Content-Type': 'application/json' };

async function ask<T>(address: string, path: string, body?: object): Promise<T> {
  const method = body === undefined ? 'GET' : 'POST';
  const sending = request(address + path, { agent, method, headers });
  sending.end(body && JSON.stringify(body));
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  const answer = await json(response);
  if (response.statusCode !== 200) throw new Error(JSON.stringify(answer));
  return answer as T;
}

async function together(address: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { otelrdcp_fleet } = await ask<StatusResponse>(address, '/rdcp/v1/status');
    if (otelrdcp_fleet?.applied === PROCESSES) return;
    await sleep(100);
  }
  throw new Error('the fleet never came together');
}

/** When the last process noted something, after each start. */
function lastOf(starts: readonly number[], noted: readonly (readonly number[])[]): number[] {
  return starts.map((start, round) => Math.max(...noted.map((times) => times[round] ?? Number.NaN)) - start);
}

const redis = await openRedis();
const members = Array.from({ length: PROCESSES }, () =>
  fork(join(import.meta.dirname, 'fleet-member.ts'), [redis.url, CHANNEL, hashApiKey(key)], { execArgv: [] }),
);
try {
  const started = await Promise.all(members.map((member) => answerOf<{ address: string }>(member)));
  const address = started[0]?.address ?? '';
  await together(address);
  const ready = members.map((member) => answerOf(member));
  for (const member of members) member.send('begin');
  await Promise.all(ready);
  const publisher = createClient({ url: redis.url });
  await publisher.connect();

  const sent: number[] = [];
  const published: number[] = [];
  const answered: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(PAUSE_MS);
    sent.push(now());
    const action = round % 2 === 0 ? 'enable' : 'disable';
    const { status } = await ask<ControlResponse>(address, '/rdcp/v1/control', { action, categories: 'CHECKOUT' });
    if (status !== 'success') throw new Error(`round ${round}: ${status}`);
    answered.push(now() - (sent.at(-1) ?? 0));
    await sleep(PAUSE_MS);
    published.push(now());
    await publisher.publish(CHANNEL, PAYLOAD);
  }
  await sleep(500);
  const noted = await Promise.all(
    members.map((member) => {
      const answer = answerOf<Noted>(member);
      member.send('end');
      return answer;
    }),
  );
  for (const { flips } of noted) {
    const wrong = flips.length !== ROUNDS || flips.some(([on], round) => on !== (round % 2 === 0));
    if (wrong) throw new Error('a gate did not follow every change');
  }
  publisher.destroy();

  const followed = lastOf(
    sent,
    noted.map(({ flips }) => flips.map(([, at]) => at)),
  );
  const heard = lastOf(
    published,
    noted.map(({ messages }) => messages),
  );
  const [p99, bare] = [percentile(followed, 0.99), percentile(heard, 0.99)];
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  publish({
    timings: [
      timing(`from the request to the last of ${PROCESSES} gates`, followed),
      timing(`from the request to the answer that all have followed`, answered),
      timing(`from a bare publish to the last of ${PROCESSES} subscribers`, heard),
    ],
    verdicts: [
      verdict(
        `a change in ${PROCESSES} processes, p99`,
        '<= 3 times a bare publish',
        `${(p99 / bare).toFixed(2)} times (${ms(p99)} to ${ms(bare)})`,
        p99 <= 3 * bare,
        p99 / bare,
      ),
      verdict(`a change in ${PROCESSES} processes, p99`, '<= 50 ms', ms(p99), p99 <= 50, p99),
    ],
  });
} finally {
  agent.destroy();
  for (const member of members) member.kill();
  redis.close();
}
