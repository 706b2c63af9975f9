import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { CONSOLE_PATHS, PATHS } from '../../src/wire/constants.ts';
import type { ConsoleSessionResponse, FleetResponse } from '../../src/wire/messages.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS } from '../support/server.ts';
import { inFull } from '../support/tiers.ts';
import { actAsOne, becomes, startCluster } from './cluster.ts';

/** Each request of its own connection: the cluster gives these to its workers in turn. */
async function onNewConnection(url: string, path: string, body: object) {
  const content = JSON.stringify(body);
  const text = requestText(
    'POST',
    path,
    [
      ['Host', new URL(url).host],
      ['Content-Type', 'application/json'],
      ['Content-Length', String(content.length)],
      ...(path === CONSOLE_PATHS.code ? ([['X-RDCP-API-Key', KEYS.operator]] as const) : []),
    ],
    content,
  );
  const answer = parseAnswer(await exchange(url, text))?.body ?? '{}';
  return JSON.parse(answer) as { readonly code?: string } & Partial<ConsoleSessionResponse>;
}

describe('node:cluster with the default store', { concurrency: 2 }, () => {
  actAsOne({ changes: ['register'], lines: [], scrapes: ['register'] });

  it('a worker that is killed counts no more, and the one forked in its place knows what is on', async (t) => {
    const cluster = await startCluster(t, { remote: 'register' });
    await cluster.enable();
    await cluster.ask('workers', 'emit', 5);
    await becomes(10, cluster.calls);
    await cluster.ask('kill');
    await cluster.ask('fork');
    await becomes('true,true', async () => String(await cluster.ask('workers', 'enabled')));
    await cluster.ask('workers', 'emit', 1);
    await becomes(7, cluster.calls);
    const { body } = await cluster.request<FleetResponse>(PATHS.fleet, { key: 'admin' });
    assert.ok(body.instances.length >= 3);
  });

  inFull('what was set before the first fork, and the trail of it, is there afterwards', async (t) => {
    const cluster = await startCluster(t, { remote: 'all', workers: 0 });
    assert.equal((await cluster.enable()).otelrdcp_fleet, undefined);
    await cluster.ask('fork');
    await becomes('true', async () => String(await cluster.ask('workers', 'enabled')));
    const { body } = await cluster.request<AuditResponse>(PATHS.audit, { key: 'admin' });
    assert.deepEqual(
      body.entries.map(({ action }) => action),
      ['enable'],
    );
  });

  inFull('a one-time code for the console works whichever worker the browser reaches, and once', async (t) => {
    const cluster = await startCluster(t, { remote: 'workers', workers: 3 });
    const codes = await Promise.all(
      Array.from({ length: 4 }, () => onNewConnection(cluster.url, CONSOLE_PATHS.code, {})),
    );
    const redeemed = await Promise.all(
      codes
        .flatMap(({ code }) => [code, code])
        .map((code) => onNewConnection(cluster.url, CONSOLE_PATHS.session, { code })),
    );
    assert.deepEqual(
      redeemed.map(({ credential }) => credential?.value ?? 'refused').sort(),
      [...Array(4).fill(KEYS.operator), ...Array(4).fill('refused')].sort(),
    );
    const folder = join(cluster.base, cluster.folders()[0] ?? '');
    const another = await onNewConnection(cluster.url, CONSOLE_PATHS.code, {});
    for (const file of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, file)).toString('latin1');
      assert.ok(!bytes.includes(KEYS.operator) && !bytes.includes(another.code ?? ''), `${file} holds no credential`);
    }
  });

  inFull('leaves nothing behind', async (t) => {
    const cluster = await startCluster(t, { remote: 'register' });
    assert.equal(cluster.folders().length, 1);
    cluster.child.kill('SIGTERM');
    await cluster.ended;
    assert.deepEqual(cluster.folders(), []);
  });
});

it('workers that may not write a folder say so in a line each, and that a change reached one of them alone', async (t) => {
  const cluster = await startCluster(t, { remote: 'workers', workers: 2, unshared: true });
  assert.equal(cluster.output.stderr.match(/^rdcp: the processes of this cluster share no state \(/gm)?.length, 2);
  const { status, message, otelrdcp_shared: shared } = await cluster.enable();
  assert.equal(status, 'partial');
  assert.match(message, /, in this process alone: the processes of this cluster share no state$/);
  assert.equal(shared, undefined, 'said once');
  const enabled = await cluster.ask<boolean[]>('workers', 'enabled');
  assert.deepEqual(enabled.toSorted(), [false, true]);
});
