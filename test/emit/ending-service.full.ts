import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { run } from '../safety/program.ts';
import { assertBuilt, built } from '../support/built.ts';

const KEY = 'ending-service-under-test-0123456789abcdef';
const CONFIG: RdcpConfig = {
  server: { port: 0 },
  announce: false,
  security: { apiKeys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin'] }] },
};

/** Ways to end, with the type of the error in the lines, and the exit code. */
const ENDINGS: readonly (readonly [name: string, way: string, type: string, exit: number, signal?: NodeJS.Signals])[] =
  [
    ['an uncaught exception', 'throws', ', TypeError', 1],
    ['an unhandled rejection', 'rejects', ', RangeError', 1],
    ['process.exit in its handler', 'exits', '', 0],
    ['a signal whose listener exits', 'waits', '', 0, 'SIGINT'],
  ];

interface Way {
  readonly signal?: NodeJS.Signals | undefined;
  /** Whether log records are exported, later than the process lives. */
  readonly exports?: boolean;
  readonly register?: boolean;
}

/** Records a request in which the service ends. Returns the lines on stderr, with what they say of the work, and how it ended. */
async function end(t: TestContext, way: string, { signal, exports = false, register = false }: Way = {}) {
  assertBuilt();
  const { child, output, ended, found } = run(t, join(import.meta.dirname, 'ending-service.ts'), {
    ...(register ? { imports: [built('register.js')] } : { args: [JSON.stringify(CONFIG), String(exports)] }),
    env: register
      ? { RDCP_PORT: '0', RDCP_SERVER_API_KEY: KEY, OTEL_METRICS_EXPORTER: 'none' }
      : { OTEL_LOGS_EXPORTER: 'otlp' },
  });
  const [{ url, port }] = (await once(child, 'message')) as [{ url?: string; port: number }];
  const baseUrl = url ?? (await found(/remote control on ([^\s,]+)/, 'stderr'))[1]!;
  const when = { duration: '1m', otelrdcp_when: { failed: true } } as const;
  await createRdcpClient({ baseUrl, apiKey: KEY }).enable('ORDERS', when);
  const answer = fetch(`http://127.0.0.1:${port}/${way}`).catch(() => 'broken');
  if (signal !== undefined) {
    await once(child, 'message');
    child.kill(signal);
  }
  const [exit] = await Promise.all([ended, answer]);
  const lines = [...output.stderr.matchAll(/^\S+ DEBUG ORDERS (?<message>[a-z ]+) (?<attributes>\{.*?\})/gm)].map(
    ({ groups }) => `${groups!.message}: ${JSON.parse(groups!.attributes!)['rdcp.work.outcome']}`,
  );
  return { lines, exit };
}

describe('a process that ends in the middle of a recorded request', () => {
  for (const exports of [false, true]) {
    const where = exports ? ', although an exporter would be too late' : '';
    for (const [name, way, type, exit, signal] of ENDINGS) {
      it(`by ${name} writes its lines before${where}`, async (t) => {
        const ended = await end(t, way, { signal, exports });
        const outcome = new RegExp(`^begun: GET /${way} interrupted by the end of the process after \\d+ ms${type}$`);
        const [first = '', ...others] = ended.lines;
        assert.equal(ended.exit, exit);
        assert.match(first, outcome);
        assert.deepEqual(others, ['in the middle: undefined']);
      });
    }
  }

  for (const register of [false, true]) {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      it(`by ${signal} without a listener writes nothing${register ? ', also under register' : ''}`, async (t) => {
        assert.deepEqual(await end(t, 'waits', { signal, register }), { lines: [], exit: signal });
      });
    }
  }
});
