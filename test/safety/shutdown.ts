import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { verify } from '../audit/entries.ts';
import { shopEnvironment } from '../examples/running-shop.ts';
import { assertBuilt, built, ROOT } from '../support/built.ts';
import { CATEGORIES } from '../support/categories.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { startLoad } from './load.ts';
import { type Program, run } from './program.ts';
import { startService, testConfig, trailOf } from './service.ts';

const CLIENTS = 16;
const HERE = import.meta.dirname;

interface Started extends Program {
  readonly url: string;
}

interface Place {
  readonly cwd: string;
  readonly config: RdcpConfig;
  /** Where the program notes the requests that it was given. */
  readonly env: NodeJS.ProcessEnv;
}

const PRELOAD = join(HERE, 'accepted-requests.ts');

/** Starts a program under register, by the source or as it is built. */
async function startUnderRegister(
  t: TestContext,
  { cwd, config, env }: Place,
  register: string,
  file: string,
): Promise<Started> {
  const configFile = join(cwd, 'rdcp.json');
  const shop = await shopEnvironment();
  writeFileSync(configFile, JSON.stringify({ ...config, server: { port: Number(shop.RDCP_PORT) } }));
  const program = run(t, file, {
    imports: [PRELOAD, register],
    cwd,
    env: { ...shop, ...env, RDCP_CONFIG: configFile },
  });
  const [, url = ''] = await program.found(/remote control on (http:[^,\s]+)/, 'stderr');
  return { ...program, url };
}

interface Way {
  readonly end: number | NodeJS.Signals;
  readonly start: (t: TestContext, place: Place) => Promise<Started>;
}

export const WAYS = {
  'an application that closes its own endpoint': {
    end: 0,
    start: (t, { config, ...rest }) => startService(t, { ...rest, config, imports: [PRELOAD] }),
  },
  'an application that mounts the endpoint in its own server': {
    end: 0,
    start: (t, { config, ...rest }) => startService(t, { ...rest, config, imports: [PRELOAD], mounts: true }),
  },
  'the example under register, which handles SIGTERM': {
    end: 0,
    start: async (t, place) => {
      assertBuilt();
      const register = import.meta.resolve('opentelemetry-instrumentation-rdcp/register');
      const shop = await startUnderRegister(t, place, register, join(ROOT, 'examples/shop/main.ts'));
      await shop.found(/Ctrl-C/);
      return shop;
    },
  },
  'an application under register that handles no signal': {
    end: 'SIGTERM',
    start: (t, place) => startUnderRegister(t, place, built('register.js'), join(HERE, 'waiting-app.ts')),
  },
} as const satisfies Record<string, Way>;

/** Sends SIGTERM to each of these while clients are at it. */
export function drains(ways: readonly (keyof typeof WAYS)[]): void {
  describe('SIGTERM under load', { concurrency: 2 }, () => {
    for (const name of ways) {
      const { start, end }: Way = WAYS[name];
      it(`${name} answers what it accepted, keeps its trail and ends with ${end}`, async (t) => {
        const cwd = newFolder(t);
        const file = join(cwd, 'state.db');
        const accepted = join(cwd, 'accepted');
        writeFileSync(accepted, '');
        const config = testConfig({
          store: `sqlite:${file}`,
          categories: Object.fromEntries(CATEGORIES.map((category) => [category, { description: 'in the test' }])),
          fleet: { acknowledgeTimeoutSeconds: 0.4 },
        });
        // Changes wait for one who does not answer, so that many requests are under way at any time.
        const silent = await startService(t, { config: { store: `sqlite:${file}` } });
        silent.child.kill('SIGSTOP');

        const program = await start(t, { cwd, config, env: { RDCP_ACCEPTED_REQUESTS: accepted } });
        const load = startLoad(program.url, CLIENTS);
        await until('answers of every kind', () => (load.outcomes.length > 4 * CLIENTS ? true : undefined));
        program.child.kill('SIGTERM');
        assert.equal(await program.ended, end, program.output.stderr);
        const outcomes = await load.stop();

        const ids = new Set(readFileSync(accepted, 'utf8').split('\n'));
        const unanswered = outcomes.filter(({ id, status }) => ids.has(id) && status === undefined);
        assert.deepEqual(unanswered, [], 'every accepted request is answered');
        const answered = outcomes.filter(({ status }) => status !== undefined);
        for (const { kind, status, headers } of answered) {
          if (status === 503) assert.equal(headers?.connection, 'close');
          else assert.equal(status, kind === 'refused' ? 401 : 200);
        }
        const count = (wanted: number) => answered.filter(({ status }) => status === wanted).length;
        t.diagnostic(
          `${count(200)} answered 200, ${count(401)} 401, ${count(503)} 503; ${outcomes.length - answered.length} never accepted`,
        );

        const trail = await trailOf(file);
        const kept = new Set(trail.map(({ requestId }) => requestId));
        const acknowledged = answered.filter(({ kind, status }) => kind === 'control' && status === 200);
        assert.ok(acknowledged.length > CLIENTS);
        assert.deepEqual(
          acknowledged.filter(({ id }) => !kept.has(id)),
          [],
          'every acknowledged change is in the trail',
        );
        const refusals = trail.filter(({ action }) => action === 'authenticate');
        assert.equal(
          refusals.reduce((sum, { count = 1 }) => sum + count, 0),
          count(401),
          'every refusal is in the trail',
        );
        assert.equal(verify(trail.reverse()), undefined);
      });
    }
  });
}
