import { randomUUID } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import { CATEGORIES } from '../support/categories.ts';
import { KEYS } from '../support/server.ts';

type Kind = 'read' | 'control' | 'refused';

/** A request of the load, and what came of it. */
export interface Outcome {
  readonly id: string;
  readonly kind: Kind;
  /** Absent where the connection ended without an answer. */
  readonly status?: number;
  readonly headers?: IncomingHttpHeaders;
  /** What the connection ended with. */
  readonly error?: string;
}

export interface Load {
  /** So far. */
  readonly outcomes: readonly Outcome[];
  /** Sends nothing new, and waits for what is on its way. */
  stop(): Promise<readonly Outcome[]>;
}

const KINDS: readonly Kind[] = ['read', 'control', 'control', 'refused'];

/** Clients that each send one request after the other, half of them on connections that they keep. */
export function startLoad(url: string, clients: number): Load {
  const agent = new Agent({ keepAlive: true });
  const outcomes: Outcome[] = [];
  let stopped = false;

  async function client(index: number): Promise<void> {
    for (let turn = 0; !stopped; turn += 1) {
      const kind = KINDS[(index + turn) % KINDS.length] as Kind;
      const outcome = await send(url, kind, index % 2 === 0 ? agent : undefined);
      outcomes.push(outcome);
      if (outcome.status === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  return {
    outcomes,
    async stop() {
      stopped = true;
      await running;
      agent.destroy();
      return outcomes;
    },
  };
}

function send(url: string, kind: Kind, agent: Agent | undefined): Promise<Outcome> {
  const id = randomUUID();
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const isControl = kind === 'control';
  const sent = request(url + (isControl ? PATHS.control : PATHS.status), {
    method: isControl ? 'POST' : 'GET',
    agent: agent ?? false,
    headers: {
      [HEADERS.requestId]: id,
      [HEADERS.apiKey]: kind === 'refused' ? 'no-such-key' : KEYS.operator,
      ...(isControl && { 'Content-Type': 'application/json' }),
    },
  });
  const failed = (error: Error) => resolve({ id, kind, error: 'code' in error ? String(error.code) : error.message });
  sent.on('error', failed);
  sent.on('response', (response) => {
    response.on('error', failed);
    response.resume();
    response.on('end', () => {
      if (response.complete) resolve({ id, kind, status: response.statusCode ?? 0, headers: response.headers });
      else failed(new Error('cut off in the middle'));
    });
  });
  sent.end(isControl ? JSON.stringify({ action: 'toggle', categories: [...CATEGORIES] }) : undefined);
  return promise;
}
