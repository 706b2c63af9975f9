import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { FleetResponse } from '../../src/wire/messages.ts';
import { startProxy } from '../store/proxy.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { inFull } from '../support/tiers.ts';
import { enable, eventually, type MemberProcess, startMember, together } from './processes.ts';

/** A store, with a way to it that a test blocks, and a hand that makes announcements older. */
interface Setup {
  readonly url: string;
  /** By which the process is reached that is cut off. */
  readonly cutUrl: string;
  cutOff(process: MemberProcess): void;
  reconnect(process: MemberProcess): void;
  /** Lets the announcement of a process be a minute old. */
  age(id: string): void;
  close(): Promise<void>;
}

/** Nothing arrives, and no connection is closed: one way alone, Redis could still tell the process what was changed. */
async function behindProxy(url: string, port: number) {
  const proxy = await startProxy(port);
  return {
    url,
    cutUrl: url.replace(`:${port}`, `:${proxy.port}`),
    cutOff() {
      proxy.hold('up');
      proxy.hold('down');
    },
    reconnect: () => proxy.release(),
    close: () => proxy.close(),
  };
}

const STORES: Readonly<Record<string, { readonly skip: string | false; readonly start: () => Promise<Setup> }>> = {
  Redis: {
    skip: whyNoRedis(),
    async start() {
      const server = await startRedis();
      const way = await behindProxy(server.url, server.port);
      return {
        ...way,
        age: (id) => void server.command('ZADD', '{rdcp}:beats', 'XX', `${Date.now() - 60_000}000`, id),
        close: () => way.close().finally(server.close),
      };
    },
  },
  PostgreSQL: {
    skip: whyNoPostgres(),
    async start() {
      const server = await startPostgres();
      const way = await behindProxy(server.url, server.port);
      return {
        ...way,
        age: (id) =>
          void server.sql(
            `UPDATE rdcp.records SET written_at = rdcp.clock() - 60000 WHERE kind = 'beat' AND key = '${id}'`,
          ),
        close: () => way.close().finally(server.close),
      };
    },
  },
  SQLite: {
    skip: false,
    async start() {
      const folder = mkdtempSync(join(tmpdir(), 'rdcp-silent-'));
      const path = join(folder, 'state.db');
      return {
        url: `sqlite:${path}`,
        cutUrl: `sqlite:${path}`,
        cutOff: (process) => process.signal('SIGSTOP'),
        reconnect: (process) => process.signal('SIGCONT'),
        age(id) {
          const database = new DatabaseSync(path);
          database.exec('PRAGMA busy_timeout = 5000');
          database.prepare("UPDATE record SET written_at = written_at - 60000 WHERE kind = 'beat' AND key = ?").run(id);
          database.close();
        },
        close: async () => rmSync(folder, { recursive: true }),
      };
    },
  },
};

for (const [name, { skip, start }] of Object.entries(STORES)) {
  // In the fast tier, one store behind a network.
  const run = name === 'Redis' ? test : inFull;
  run(
    `on ${name}, a process that is cut off counts, is named, and is not also lost when it is back`,
    { skip },
    async (t) => {
      const setup = await start();
      t.after(setup.close);
      const [first, cut] = await Promise.all([startMember({ store: setup.url }), startMember({ store: setup.cutUrl })]);
      t.after(() => Promise.all([first.kill(), cut.kill()]));
      await together(first, 2);
      const id = await cut.id();
      const lost = async () => (await first.get<FleetResponse>('/rdcp/v1/fleet')).lost?.map((member) => member.id);
      const isSilent = async () => (await lost())?.join() === id;
      const change = async (action: string, requestId?: string) => {
        const { body, replayed } = await first.control({ ...enable('DATABASE'), action }, requestId);
        const { instances, applied, pending, lastSeen } = body.otelrdcp_fleet ?? {};
        return { ...body, replayed, counts: [instances, applied, pending, Object.keys(lastSeen ?? {})] };
      };

      assert.deepEqual((await change('enable')).counts, [2, 2, [], []]);
      setup.cutOff(cut);
      await eventually('the process to fall silent', async () => {
        setup.age(id);
        return isSilent();
      });
      const { status, message, counts } = await change('disable', 'once');
      assert.deepEqual([status, counts], ['partial', [2, 1, [id], [id]]]);
      assert.match(message, /; 1 of 2 processes has not been heard of since \d\d:\d\d:\d\d UTC$/);
      if (name !== 'SQLite') assert.equal(await cut.enabled(), true, 'it goes on');

      setup.reconnect(cut);
      await together(first, 2);
      assert.deepEqual([await lost(), await cut.enabled()], [undefined, false]);
      const repeated = await change('disable', 'once');
      assert.deepEqual([repeated.replayed, repeated.status, repeated.counts], [true, 'success', [2, 2, [], []]]);
      assert.deepEqual((await change('enable')).counts, [2, 2, [], []]);

      await cut.end();
      assert.deepEqual((await change('disable')).counts, [1, 1, [], []], 'it has said goodbye');
    },
  );
}
