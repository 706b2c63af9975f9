// How soon an operator reads the lines of a fleet of 1,000 on one Redis, and whether each line that is not read is counted. Members
// are simulated, several in a process. Needs redis-server, or REDIS_URL.

import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateApiKey, hashApiKey } from '../src/access/api-key.ts';
import { CATEGORY, ROUNDS } from './fleet-tail-members.ts';
import { built, percentile, publish, timing, verdict } from './measurement.ts';
import { openRedis } from './redis.ts';

const MEMBERS = 1000;
const MEMBERS_PER_PROCESS = 500;
/** Lines a second. All of them, and a part of them. */
const RATES = { all: 1000, some: 100 };
const TAIL_SECONDS = 30;
const PAUSE_MS = 1000;
const ms = (value: number) => `${value.toFixed(0)} ms`;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const { createRdcpClient }: typeof import('../src/client.ts') = await import(built('client.js'));
const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));

const key = generateApiKey({ env: 'bench', randomBytes });
const redis = await openRedis();
const rdcp = createRdcp({
  store: redis.url,
  server: { port: 0 },
  announce: false,
  security: { apiKeys: [{ id: 'bench', hash: hashApiKey(key), clientId: 'bench', scopes: ['admin'] }] },
  limits: { controlPerMinute: 1_000_000, readPerMinute: 1_000_000 },
});
const { url: baseUrl } = await rdcp.listen();
const client = createRdcpClient({ baseUrl, apiKey: key });
const members: ChildProcess[] = Array.from({ length: MEMBERS / MEMBERS_PER_PROCESS }, () =>
  fork(join(import.meta.dirname, 'fleet-tail-members.ts'), ['tailed', redis.url, String(MEMBERS_PER_PROCESS)], {
    execArgv: [],
  }),
);

/** Each member debugs some times. */
function debug(): Promise<unknown> {
  return Promise.all(
    members.map((member) => {
      member.send('debug');
      return once(member, 'message');
    }),
  );
}

/** Tails all members from before they debug until all their lines were read or reported as dropped, or the time is up. */
async function read(rate: number) {
  const asked = now();
  const took: number[] = [];
  const joined = new Set<string>();
  let joinedAfter = Number.NaN;
  let dropped = 0;
  for await (const { event, data } of client.tail(CATEGORY, { rate, duration: TAIL_SECONDS })) {
    if (event === 'dropped') dropped += data.count;
    if (event === 'line') took.push(now() - Number(data.attributes.at));
    if (event === 'instance' && data.state === 'joined') {
      joined.add(data.id);
      if (joined.size === MEMBERS) {
        joinedAfter = now() - asked;
        void debug();
      }
    }
    if (took.length + dropped >= MEMBERS * ROUNDS) break;
  }
  return { took, dropped, joinedAfter, lost: MEMBERS * ROUNDS - took.length - dropped };
}

try {
  await Promise.all(members.map((member) => once(member, 'message')));
  while (((await client.status()).otelrdcp_fleet?.instances ?? 0) <= MEMBERS) await sleep(200);
  const all = await read(RATES.all);
  await sleep(PAUSE_MS);
  const some = await read(RATES.some);
  const p99 = percentile(all.took, 0.99);
  const { lost } = some;
  publish({
    timings: [timing(`a line of ${MEMBERS} processes to its reader`, all.took)],
    verdicts: [
      verdict(
        `${MEMBERS} processes have joined a tail`,
        '<= 2 s',
        ms(all.joinedAfter),
        all.joinedAfter <= 2000,
        all.joinedAfter,
      ),
      verdict(`a line of ${MEMBERS} processes to its reader, p99`, '<= 500 ms', ms(p99), p99 <= 500, p99),
      verdict(`lines neither read nor counted as dropped, of ${MEMBERS * ROUNDS}`, '0', String(lost), lost === 0, lost),
    ],
  });
} finally {
  for (const member of members) member.kill();
  await rdcp.close();
  redis.close();
}
