import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, launch, PASSWORD, type RedisServer, startRedis } from './redis-server.ts';

/** A primary and its replica under three sentinels. */
export interface SentinelSetup {
  /** Both servers; the first one is the primary at the start. */
  readonly servers: readonly [RedisServer, RedisServer];
  readonly sentinels: readonly RedisServer[];
  /** Whom the sentinels hold to be the primary. */
  primary(): RedisServer;
  close(): Promise<void>;
}

/** The name under which the sentinels know the primary. */
export const SENTINEL_NAME = 'control';

export async function startSentinels(downAfterMs: number): Promise<SentinelSetup> {
  const first = await startRedis();
  const second = await startRedis('--replicaof', `127.0.0.1 ${first.port}`, '--repl-diskless-sync-delay', '0');
  const sentinels = await Promise.all(Array.from({ length: 3 }, () => startSentinel(first.port, downAfterMs)));
  await settled('the sentinels to know each other and the replica', () =>
    sentinels.every((sentinel) => {
      const view = fields(sentinel.command('SENTINEL', 'MASTER', SENTINEL_NAME));
      return (
        view.get('num-other-sentinels') === '2' && view.get('num-slaves') === '1' && view.get('flags') === 'master'
      );
    }),
  );
  return {
    servers: [first, second],
    sentinels,
    primary() {
      const [, port] = sentinels[0]!.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SENTINEL_NAME).split('\n');
      return Number(port) === first.port ? first : second;
    },
    async close() {
      await Promise.all([...sentinels, second, first].map((server) => server.close()));
    },
  };
}

function startSentinel(primaryPort: number, downAfterMs: number): Promise<RedisServer> {
  return launch((port, folder) => {
    const file = join(folder, 'sentinel.conf');
    // A sentinel writes what it learns into its configuration.
    if (!existsSync(file)) {
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `dir "${folder}"`,
        `requirepass "${PASSWORD}"`,
        `sentinel sentinel-pass "${PASSWORD}"`,
        `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primaryPort} 2`,
        `sentinel auth-pass ${SENTINEL_NAME} "${PASSWORD}"`,
        `sentinel down-after-milliseconds ${SENTINEL_NAME} ${downAfterMs}`,
        `sentinel failover-timeout ${SENTINEL_NAME} 3000`,
      ];
      writeFileSync(file, `${lines.join('\n')}\n`);
    }
    return [file, '--sentinel'];
  });
}

/** Three primaries, each with a third of the slots, and a replica of the one that has the slot of `{rdcp}`. */
export interface ClusterSetup {
  /** The slot of everything that a store keeps. */
  readonly slot: string;
  /** The primary of that slot at the start, and its replica. */
  readonly owner: RedisServer;
  readonly replica: RedisServer;
  /** The other two primaries. */
  readonly others: readonly RedisServer[];
  close(): Promise<void>;
}

const SLOTS = 16_384;

export async function startCluster(nodeTimeoutMs: number): Promise<ClusterSetup> {
  const nodes = await Promise.all(Array.from({ length: 4 }, () => startClusterNode(nodeTimeoutMs)));
  const [replica, ...primaries] = nodes as [RedisServer, RedisServer, RedisServer, RedisServer];
  const slot = replica.command('CLUSTER', 'KEYSLOT', '{rdcp}');
  const bounds = [0, 1, 2, 3].map((third) => Math.floor((third * SLOTS) / 3));
  for (const [index, node] of primaries.entries()) {
    node.command('CLUSTER', 'ADDSLOTSRANGE', String(bounds[index]), String(Number(bounds[index + 1]) - 1));
    node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    replica.command(
      'CLUSTER',
      'MEET',
      '127.0.0.1',
      String(node.port),
      node.command('CONFIG', 'GET', 'cluster-port').split('\n')[1] ?? '',
    );
  }
  const known = () =>
    nodes.every(
      (node) => infoOf(node).get('cluster_known_nodes') === '4' && infoOf(node).get('cluster_state') === 'ok',
    );
  await settled('the nodes of the cluster to know each other', known);
  const index = bounds.findLastIndex((bound) => bound <= Number(slot));
  const owner = primaries[index] as RedisServer;
  replica.command('CLUSTER', 'REPLICATE', owner.command('CLUSTER', 'MYID'));
  await settled('the replica to follow', () =>
    replica.command('INFO', 'replication').includes('master_link_status:up'),
  );
  return {
    slot,
    owner,
    replica,
    others: primaries.filter((node) => node !== owner),
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

function infoOf(node: RedisServer): Map<string, string> {
  return new Map(
    node
      .command('CLUSTER', 'INFO')
      .split('\r\n')
      .map((line) => line.split(':', 2) as [string, string]),
  );
}

async function startClusterNode(nodeTimeoutMs: number): Promise<RedisServer> {
  const settings = { enabled: 'yes', port: String(await freePort()), 'node-timeout': String(nodeTimeoutMs) };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--cluster-${name}`, value]);
  return startRedis(...args, '--repl-diskless-sync-delay', '0');
}

/** What a command answered as names and values in turn. */
export function fields(reply: string): Map<string, string> {
  const lines = reply.split('\n');
  return new Map(lines.flatMap((name, index) => (index % 2 === 0 ? [[name, lines[index + 1] ?? '']] : [])));
}

export async function settled(what: string, look: () => boolean, ms = 30_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!look()) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(50);
  }
}
