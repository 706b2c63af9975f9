import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcpClient } from '../../src/client.ts';
import type { ControlResponse, ErrorResponse } from '../../src/wire/messages.ts';
import { KEY } from '../fleet/processes.ts';
import { KEYS, LINES, type Operation, type Reading } from './schedule.ts';
import type { Life, World } from './world.ts';

/** After this time a request counts as not answered, in milliseconds. */
const PATIENCE_MS = 20_000;

type Answer = ControlResponse & Partial<ErrorResponse>;
/** `local`: in one process until the store is back. `unknown`: no answer, or one that says so. `wrong`: none in time, or none of the protocol. */
type Outcome = 'ok' | 'local' | 'failed' | 'unknown' | 'wrong';
export type Attempt = Awaited<ReturnType<typeof attempt>>;
export type Requested = NonNullable<Awaited<ReturnType<typeof request>>>;
export type Tailed = NonNullable<Awaited<ReturnType<typeof tail>>>;

function outcomeOf(status: number, body: Answer): Outcome {
  if (status === 200) return body.message.includes('in this process alone') ? 'local' : 'ok';
  if (body.error === undefined || (status >= 500 && status !== 503)) return 'wrong';
  return body.error.details?.outcome === 'unknown' ? 'unknown' : 'failed';
}

async function attempt(life: Life, { key, action, seconds }: Operation, id: string) {
  const { category, tenant } = KEYS[key] ?? {};
  const start = Date.now();
  const headers = {
    'X-RDCP-API-Key': KEY,
    'X-RDCP-Request-ID': id,
    'Content-Type': 'application/json',
    ...(tenant !== undefined && { 'X-RDCP-Tenant-ID': tenant }),
  };
  const options = seconds === undefined ? {} : { duration: seconds };
  const body = JSON.stringify({ action, categories: [category], options });
  try {
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(PATIENCE_MS) };
    const response = await fetch(`${life.process.url}/rdcp/v1/control`, request);
    const answer = (await response.json()) as Answer;
    const isReplay = response.headers.get('X-RDCP-Replayed') === 'true';
    return { life, start, end: Date.now(), outcome: outcomeOf(response.status, answer), isReplay, answer };
  } catch (error) {
    // A process that ends meanwhile gives no answer, and any other gives one in time.
    const outcome = error instanceof Error && error.name === 'TimeoutError' ? ('wrong' as const) : ('unknown' as const);
    return { life, start, end: Date.now(), outcome, isReplay: false };
  }
}

/** Makes a request, and repeats it unless the first answer was that nothing was done. `undefined` where the process is away. */
export async function request(world: World, operation: Operation) {
  const life = world.inSlot(operation.process);
  if (life === undefined) return undefined;
  const id = randomUUID();
  const first = await attempt(life, operation, id);
  const attempts = [first];
  if (operation.repeat !== undefined && (first.outcome === 'ok' || first.outcome === 'unknown')) {
    await sleep(operation.repeat.after);
    const other = world.inSlot(operation.repeat.process);
    if (other !== undefined) attempts.push(await attempt(other, operation, id));
  }
  return { operation, id, attempts };
}

export async function tail(world: World, { process, seconds }: Reading) {
  const life = world.inSlot(process);
  if (life === undefined) return undefined;
  /** Of each process, by its pid, the numbers of its lines and when they were written. */
  const shown = new Map<number, { n: number; at: number }[]>();
  const start = Date.now();
  /** Counts are whole where it ended in time. */
  let ended = { dropped: 0, whole: false };
  const client = createRdcpClient({ baseUrl: life.process.url, apiKey: KEY });
  try {
    for await (const { event, data } of client.tail(LINES, { duration: `${seconds}s`, rate: 10_000 })) {
      if (event === 'end') ended = { dropped: data.dropped, whole: data.reason === 'expired' };
      if (event !== 'line') continue;
      const { pid, n } = data.attributes as { pid: number; n: number };
      if (!shown.has(pid)) shown.set(pid, []);
      shown.get(pid)?.push({ n, at: Date.parse(data.timestamp) });
    }
  } catch {
    // Its process was killed.
  }
  return { life, start, end: Date.now(), ...ended, shown };
}
