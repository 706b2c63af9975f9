// In a process of its own: it patches pino.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { Logger } from 'pino';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { makeKey } from '../auth/records.ts';
import { until } from '../support/until.ts';

test('a service is quietened for a second over HTTP, children included, and writes again by itself', async (t) => {
  const admin = makeKey({ scopes: ['admin'] });
  const rdcp = createRdcp({
    server: { port: 0 },
    announce: false,
    adopt: { pino: true },
    security: { apiKeys: [admin.record] },
  });
  t.after(() => rdcp.close());
  const operator = createRdcpClient({ baseUrl: (await rdcp.listen()).url, apiKey: admin.key });
  const pino: typeof import('pino').default = createRequire(import.meta.url)('pino');
  const lines: string[] = [];
  const root = pino({ name: 'noisy' }, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const loggers: Logger[] = [root, root.child({ request: 1 })];
  const written = () => {
    for (const logger of loggers) for (const level of ['debug', 'info', 'warn', 'error'] as const) logger[level](level);
    return lines.splice(0).join();
  };
  const usual = 'info,warn,error,info,warn,error';
  assert.equal(written(), usual);

  await operator.enable('NOISY', { otelrdcp_level: 'warn', duration: '1s', reason: 'fills the disk' });
  loggers.push(loggers[1]!.child({ late: true }));
  assert.equal(written(), Array(3).fill('warn,error').join());
  const { categories } = await operator.discovery();
  assert.equal(categories.find(({ name }) => name === 'NOISY')?.otelrdcp_level, 'warn');
  loggers.pop();
  await until('it writes again', () => written() === usual, 10_000);

  await operator.enable('NOISY', { otelrdcp_level: 'error', duration: '1h' });
  assert.equal(written(), 'error,error');
  await operator.enable('NOISY', { otelrdcp_level: 'debug', duration: '1h' });
  assert.equal(written(), 'debug,info,warn,error,debug,info,warn,error');
  await operator.reset('NOISY', { otelrdcp_only: 'temporary' });
  assert.equal(written(), usual);
  const { entries } = await operator.audit({ category: 'NOISY' });
  assert.deepEqual(
    entries.map(({ action, otelrdcp_level: level }) => [action, level]),
    [
      ['reset', undefined],
      ['enable', 'debug'],
      ['enable', 'error'],
      ['expire', undefined],
      ['enable', 'warn'],
    ],
  );
});

test('recorder.guards of the service decides whether a namespace of debug that is only recorded is on', async () => {
  for (const guards of [true, false]) {
    const recorder = { categories: ['*'], guards };
    const rdcp = createRdcp({
      server: false,
      announce: false,
      adopt: { debug: true },
      recorder,
      security: { apiKeys: [] },
    });
    const log = createRequire(import.meta.url)('debug')(`guarded-${guards}`);
    assert.equal(Boolean(log.enabled), guards);
    await rdcp.close();
    assert.equal(Boolean(log.enabled), false);
  }
});
