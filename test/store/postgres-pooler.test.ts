import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { fleetOf } from '../support/on-records.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { change, NOW, until } from './contract/samples.ts';
import { eventually, follow, PATIENCE_MS } from './follower.ts';

describe('behind pgbouncer in transaction mode', { skip: whyNoPostgres('pgbouncer') }, () => {
  let server: PostgresServer;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  const warnings: string[] = [];
  before(async () => {
    const ignore = () => {};
    const logger: DiagLogger = {
      error: ignore,
      warn: (text) => warnings.push(text),
      info: ignore,
      debug: ignore,
      verbose: ignore,
    };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    server = await startPostgres();
    pooler = await startPgbouncer(server);
  });
  after(async () => {
    diag.disable();
    await pooler.close();
    await server.close();
  });

  function open(url: string): StateStore {
    return createPostgresStore({ url, deadlineMs: PATIENCE_MS });
  }

  test('changes and messages arrive by reads, from and to processes that are connected directly', async (t) => {
    const [pooled, second, direct] = [open(pooler.url), open(pooler.url), open(server.url)];
    t.after(async () => {
      for (const store of [pooled, second, direct]) await store.close();
    });
    const followers = [await follow(pooled), await follow(second), await follow(direct)];
    const heard = followers.map(() => [] as string[]);
    for (const [index, { store }] of followers.entries()) store.messages?.onMessage((text) => heard[index]?.push(text));
    // What polls is known by its announcement.
    await fleetOf(pooled).announce({ id: 'pooled', host: 'h', pid: 1, service: 's', startedAt: NOW }, undefined);
    await eventually(() => pooled.check());
    await eventually(() => second.check());

    await direct.commit(change('acme', 0, { A: { permanent: true } }));
    for (const { heard: changes } of followers) await until(() => changes.get('acme')?.revision === 1, 'the change');

    const long = 'x'.repeat(20_000);
    await direct.messages?.send('short');
    await direct.messages?.send(long);
    await pooled.messages?.send('to one', direct.messages?.address);
    await until(() => heard.flat().length === 5, 'the messages');
    assert.deepEqual(heard, [['short', long], ['short', long], ['to one']]);

    const said = warnings.filter((text) => text.includes('a pooler is before PostgreSQL'));
    assert.equal(said.length, 2, 'once for each of the two');
  });

  test('a connection of the pooler that breaks is opened again, and the table begins anew after a crash', async (t) => {
    const [pooled, direct] = [open(pooler.url), open(server.url)];
    t.after(async () => {
      await pooled.close();
      await direct.close();
    });
    await follow(pooled);
    const heard: string[] = [];
    pooled.messages?.onMessage((text) => heard.push(text));
    const instance = { id: 'pooled', host: 'h', pid: 1, service: 's', startedAt: NOW };
    await fleetOf(pooled).announce(instance, undefined);
    await eventually(() => pooled.check());
    await eventually(() => direct.messages!.send('before'));
    await until(() => heard.length === 1, 'the first message');

    await server.kill();
    await server.start();
    await eventually(() => fleetOf(pooled).announce(instance, undefined), PATIENCE_MS);
    await eventually(() => pooled.check(), PATIENCE_MS);
    await eventually(() => direct.messages!.send('after'), PATIENCE_MS);
    await until(() => heard.length === 2, 'the message after the crash');
    assert.deepEqual(heard, ['before', 'after']);
  });
});
