import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { PATIENCE_MS } from './follower.ts';
import { launch, PASSWORD, type RedisServer, startRedis } from './redis-server.ts';

/** Two servers of which one follows the other. They change places when the primary fails. */
export type Pair = ReturnType<typeof pairOf>;
export type SentinelSetup = Awaited<ReturnType<typeof startSentinels>>;
export type ClusterSetup = Awaited<ReturnType<typeof startCluster>>;

/** The name under which the sentinels know the primary. */
const SENTINEL_NAME = 'control';

const SLOTS = 16_384;

/** On a busy machine nodes miss this limit of Redis's on a failover by hand; it is given up then, and has to be asked for again. */
const FAILOVER_TIMEOUT_MS = 5_000;

/** A pair under three sentinels. */
export async function startSentinels(downAfterMs: number) {
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
  return Object.assign(pairOf(first, second), {
    /** For `createSentinel`. */
    options: {
      name: SENTINEL_NAME,
      sentinelRootNodes: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      nodeClientOptions: { password: PASSWORD },
      sentinelClientOptions: { password: PASSWORD },
    },
    async close() {
      await Promise.all([...sentinels, second, first].map((server) => server.close()));
    },
  });
}

async function startSentinel(primaryPort: number, downAfterMs: number): Promise<RedisServer> {
  const sentinel = await launch((port, folder) => {
    const file = join(folder, 'sentinel.conf');
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
    // A sentinel writes what it learns into its configuration.
    if (!existsSync(file)) writeFileSync(file, `${lines.join('\n')}\n`);
    return [file, '--sentinel'];
  });
  // By default it takes ten seconds to notice that a primary that comes back is to follow.
  sentinel.command('SENTINEL', 'DEBUG', 'publish-period', '250', 'info-period', '500');
  return sentinel;
}

/** Three primaries, each with a third of the slots, of which the one with a store's slot has a replica. */
export async function startCluster(nodeTimeoutMs: number) {
  const nodes = await Promise.all(Array.from({ length: 4 }, () => startClusterNode(nodeTimeoutMs)));
  const [replica, ...primaries] = nodes as [RedisServer, ...RedisServer[]];
  const slot = replica.command('CLUSTER', 'KEYSLOT', '{rdcp}');
  const bounds = [0, 1, 2, 3].map((third) => Math.floor((third * SLOTS) / 3));
  for (const [index, node] of primaries.entries()) {
    node.command('CLUSTER', 'ADDSLOTSRANGE', String(bounds[index]), String(Number(bounds[index + 1]) - 1));
    node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    const bus = fields(node.command('CONFIG', 'GET', 'cluster-port')).get('cluster-port') as string;
    replica.command('CLUSTER', 'MEET', '127.0.0.1', String(node.port), bus);
  }
  await settled('the nodes of the cluster to know each other', () =>
    nodes.every((node) => {
      const info = node.command('CLUSTER', 'INFO');
      return info.includes('cluster_known_nodes:4') && info.includes('cluster_state:ok');
    }),
  );
  const owner = primaries[bounds.findLastIndex((bound) => bound <= Number(slot))] as RedisServer;
  replica.command('CLUSTER', 'REPLICATE', owner.command('CLUSTER', 'MYID'));
  const pair = pairOf(owner, replica);
  await pair.following();
  return Object.assign(pair, {
    /** That of everything that a store without a prefix keeps. */
    slot,
    others: primaries.filter((node) => node !== owner),
    /** For `createCluster`. */
    options: { rootNodes: primaries.map(({ url }) => ({ url })), defaults: { password: PASSWORD } },
    /** Has the two change places while both are well. */
    async changePlaces() {
      let askAt = 0;
      await pair.promoted(() => {
        if (performance.now() < askAt) return;
        askAt = performance.now() + FAILOVER_TIMEOUT_MS + 1_000;
        pair.replica.command('CLUSTER', 'FAILOVER');
      });
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
    },
  });
}

async function startClusterNode(nodeTimeoutMs: number): Promise<RedisServer> {
  const settings = { enabled: 'yes', port: String(await freePort()), 'node-timeout': String(nodeTimeoutMs) };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--cluster-${name}`, value]);
  return startRedis(...args, '--repl-diskless-sync-delay', '0');
}

function pairOf(first: RedisServer, second: RedisServer) {
  let [primary, replica] = [first, second];
  const replication = (server: RedisServer, name: string) =>
    new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(server.command('INFO', 'replication'))?.[1];

  return {
    get primary() {
      return primary;
    },
    get replica() {
      return replica;
    },
    /**
     * Waits until the replica is the primary.
     * @param urge called now and then until it is
     */
    async promoted(urge: () => void = () => {}) {
      await settled('the replica to be promoted', () => {
        if (replication(replica, 'role') === 'master') return true;
        urge();
        return false;
      });
      [primary, replica] = [replica, primary];
    },
    /** Waits until the replica follows, and has everything. */
    async following() {
      await settled(
        'the replica to follow',
        () =>
          replication(replica, 'master_link_status') === 'up' &&
          replication(replica, 'slave_repl_offset') === replication(primary, 'master_repl_offset'),
      );
    },
    /** Keeps the replica from following, until the function is called. */
    async part() {
      replica.command('CONFIG', 'SET', 'masterauth', 'wrong');
      primary.command('CLIENT', 'KILL', 'TYPE', 'replica');
      await settled('the replica to be cut off', () => replication(replica, 'master_link_status') === 'down');
      const parted = replica;
      return () => void parted.command('CONFIG', 'SET', 'masterauth', PASSWORD);
    },
  };
}

/** What a command answered as names and values in turn. */
function fields(reply: string): Map<string, string> {
  const lines = reply.split('\n');
  return new Map(lines.flatMap((name, index) => (index % 2 === 0 ? [[name, lines[index + 1] ?? '']] : [])));
}

/** Waits until `look` says true. Sentinels break connections to a server that they give another part. */
async function settled(what: string, look: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      if (look()) return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    await sleep(50);
  }
}
