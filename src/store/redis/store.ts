import { randomBytes, randomUUID } from 'node:crypto';
import { unwritten } from '../../errors.ts';
import { diagnostics } from '../../telemetry/diagnostics.ts';
import { timers } from '../../time/timers.ts';
import { BEAT_MS } from '../fleet-store.ts';
import { invalidStore } from '../invalid.ts';
import { Listeners } from '../listeners.ts';
import { oneAtATime } from '../one-at-a-time.ts';
import type { Commit, CommitResult, ScopeKey, ScopeState, StateStore, StoreReset } from '../state-store.ts';
import { encodeScope, StoredValues } from '../stored-values.ts';
import { createRedisTrail } from './audit.ts';
import { assertRedisClient, connectionTo, type RedisClient } from './client.ts';
import { borrowRedis, connectRedis } from './connection.ts';
import { createRedisFleet } from './fleet.ts';
import { createRedisMessageStore } from './message-store.ts';
import { listenBeside, listenLike, listenThrough, type MessagesOptions } from './messages.ts';
import { evaluate, type Send } from './script.ts';
import { COMMIT, PROBES, SYNC } from './scripts.ts';
import { openSigned } from './signature.ts';
import { createRedisTokens } from './tokens.ts';
import { committedAt, operationOf, publishedChange, replayRecord, scopeState } from './values.ts';

export type { RedisClient } from './client.ts';

/** A Redis by its URL, or by a client of the application. */
export type RedisStoreOptions = {
  /** Prefix of every key and channel: each of several services on one Redis needs its own. @default '' */
  readonly prefix?: string;
  /** Deadline of a command, in milliseconds. @default 1000 */
  readonly deadlineMs?: number;
  /**
   * Poll interval in milliseconds, which finds changes whose message was lost. A fleet of more than 333 processes polls less
   * often. @default 1000
   */
  readonly pollMs?: number;
} & (
  | {
      /**
       * `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. The store opens and closes its
       * connections: one with version 6 of the `redis` package, and one more for messages with version 5.
       */
      readonly url: string;
    }
  | {
      /**
       * A client of the `redis` package, version 5 or 6, that the application connects and closes: from `createClient`,
       * `createSentinel` or `createCluster`. The store opens one more connection for messages and
       * closes it.
       */
      readonly client: RedisClient;
    }
);

/** The last point of the store's history that this handle saw. */
interface Lineage {
  readonly epoch: string;
  readonly version: number;
  readonly head: string;
}

/** A load reads everything at once, so it may take longer than other commands. */
const LOAD_DEADLINE_FACTOR = 5;
/** Over how long the processes of a large fleet spread a read that all of them have to make. */
const SPREAD_MS = 1000;
/** How long Redis keeps an expired replay record, so that its own clock does not end it early. */
const REPLAY_SLACK_MS = 60_000;

/**
 * State shared by a fleet through Redis 6.2 or newer. A commit is one script and takes effect once, or not at all; its
 * durability depends on the persistence of the Redis. Other processes receive it by pub/sub, at the latest with the
 * next poll. A process that misses changes which Redis had acknowledged reports that through `onReset`.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid URL, for a client of another package, or when the `redis`
 * package is not installed
 */
export function createRedisStore(options: RedisStoreOptions): StateStore {
  const { prefix = '', deadlineMs = 1_000, pollMs = 1_000 } = options;
  if (/^[^{]*\{\}/.test(prefix)) {
    throw invalidStore('redis: a prefix whose first brace is {} spreads the keys over a cluster');
  }
  const key = (name: string) => `${prefix}{rdcp}:${name}`;
  const channel = key('changed');
  const writer = randomUUID();
  const subscribers = new Listeners<[ScopeKey, ScopeState]>('changes');
  const resets = new Listeners<[StoreReset]>('resets');
  const stored = new StoredValues();

  let known: Lineage | undefined;
  /** The secret that Redis signs messages with; empty before its first change. */
  let secret = '';
  /** The newest change when {@link StateStore.load} last answered. */
  let loaded: Lineage | undefined;
  /** Revisions known from answers to commits, whose messages are still on their way. */
  const ahead = new Map<ScopeKey, number>();
  /** Redis's clock minus our monotonic one, in milliseconds, as of the last answer. */
  let clockOffset: number | undefined;
  /** An announcement compares what Redis has, as a poll does. */
  let pollAt = 0;
  /** Until this process reads what a message did not carry. */
  let turn: NodeJS.Timeout | undefined;
  let operations = 0;
  let closed = false;

  const send: Send = (args) => commands.send(args, deadlineMs);
  /** Reads what changed. Includes everything that was committed before this call. */
  const sync = oneAtATime(() => synchronize(send));
  const resync = () => void sync().catch(() => {});
  const moved = new Listeners<[]>('positions');
  const fleet = createRedisFleet({
    key,
    writer,
    send,
    redisTime,
    noteTime,
    compare,
    stored,
    position: () => known && { history: known.epoch, revision: known.version },
    moved,
    sync,
  });
  const carried = createRedisMessageStore({
    key,
    writer,
    send,
    secret: () => secret,
    redisTime,
  });
  const { commands, messages } = connect({
    channels: [channel, fleet.channel, ...carried.channels],
    hear: (message, from) => {
      if (from === channel) hear(message);
      else if (from === fleet.channel) fleet.hear();
      else carried.hear(message, from);
    },
    subscribed: resync,
    deadlineMs,
  });
  const timer = timers
    .setInterval(() => {
      if (performance.now() >= pollAt) look();
    }, pollMs)
    .unref();
  const trail = createRedisTrail(send, key('audit'));

  function connect(listening: MessagesOptions) {
    if ('client' in options) {
      const { client } = options;
      assertRedisClient(client);
      return {
        commands: borrowRedis(client, key('meta'), deadlineMs, look),
        messages: listenLike(client, listening),
      };
    }
    const { connect: makeClient, carriesMessages } = connectionTo(options.url);
    const beside = carriesMessages ? listenBeside(listening) : undefined;
    return {
      commands: connectRedis(makeClient, deadlineMs, async (client) => {
        await beside?.established(client);
        await synchronize((args) => client.sendCommand([...args]));
      }),
      messages: beside?.messages ?? listenThrough(makeClient, listening),
    };
  }

  function redisTime(): number | undefined {
    return clockOffset === undefined ? undefined : performance.now() + clockOffset;
  }

  function noteTime(time: number, sentAt: number): void {
    clockOffset = time - (sentAt + performance.now()) / 2;
  }

  function compare([epoch, version, head]: readonly unknown[], beatMs: number): void {
    pollAt = performance.now() + 1.5 * (beatMs > BEAT_MS ? beatMs : pollMs);
    messages.check();
    const isKnown = known?.epoch === epoch && known?.version === Number(version ?? 0) && known.head === (head ?? '');
    if (!isKnown) resync();
  }

  function lineageArguments(lineage: Lineage | undefined): string[] {
    return lineage === undefined ? ['', '0', ''] : [lineage.epoch, String(lineage.version), lineage.head];
  }

  async function readChanges(through: Send, since: Lineage | undefined) {
    const keys = [key('meta'), key('scopes'), key('changes'), key('heads')];
    const sentAt = performance.now();
    const reply = (await evaluate(through, SYNC, keys, [
      ...lineageArguments(since),
      randomUUID(),
      newSecret(),
    ])) as unknown[];
    const [how, epoch, version, head, signsWith = '', time, ...pairs] = reply.map(String);
    secret = signsWith;
    noteTime(Number(time), sentAt);
    const scopes = new Map<ScopeKey, ScopeState>();
    for (let index = 0; index < pairs.length; index += 2) {
      const value = String(pairs[index + 1]);
      scopes.set(String(pairs[index]), scopeState(stored, value));
      if (how === 'changes') fleet.changedBy(operationOf(value));
    }
    const lineage: Lineage = { epoch: String(epoch), version: Number(version), head: String(head) };
    return { how, lineage, scopes };
  }

  async function synchronize(through: Send): Promise<void> {
    const since = known;
    const { how, lineage, scopes } = await readChanges(through, since);
    const before = known;
    // A new subscription began meanwhile, further back than this read.
    if (how === 'changes' && (before?.version ?? 0) < (since?.version ?? 0)) return;
    // A message or another read was faster.
    if (before?.epoch === lineage.epoch && before.version > lineage.version) return;
    known = lineage;
    if ((how === 'empty' || how === 'rollback') && before?.epoch !== lineage.epoch) {
      ahead.clear();
      announceReset({ reason: how, history: lineage.epoch });
    }
    for (const [scope, state] of scopes) notify(scope, state);
    if (before?.epoch !== lineage.epoch || before.version !== lineage.version) moved.call();
  }

  /** Polls, which finds changes whose message was lost. */
  function look(): void {
    resync();
    messages.check();
  }

  /**
   * Applies a message that Redis has signed and that follows the known state without a gap. One that leaves a gap
   * triggers a read.
   */
  function hear(message: string): void {
    const values = openSigned(message, secret);
    // The next poll reads what a message says that is signed with a secret not known yet.
    if (values === undefined) return;
    const change = publishedChange(stored, values);
    if (change === undefined) return;
    const { scope, state, previous, ...lineage } = change;
    if (known?.epoch === lineage.epoch && lineage.version <= known.version) return;
    const follows = known?.epoch === lineage.epoch && known.version + 1 === lineage.version && known.head === previous;
    if (!follows || state === undefined) {
      resyncInTurn();
      return;
    }
    known = lineage;
    notify(scope, state);
    fleet.changedBy(lineage.head);
    moved.call();
  }

  /** Reads what a message did not carry. In a large fleet all have to at the same moment, and a Redis sends one after the other. */
  function resyncInTurn(): void {
    if (fleet.beatMs() === BEAT_MS) resync();
    else {
      turn ??= timers
        .setTimeout(() => {
          turn = undefined;
          resync();
        }, Math.random() * SPREAD_MS)
        .unref();
    }
  }

  /** Skips states older than the answer to a commit. */
  function notify(scope: ScopeKey, state: ScopeState): void {
    const answered = ahead.get(scope);
    if (answered !== undefined && state.revision < answered) return;
    ahead.delete(scope);
    subscribers.call(scope, state);
  }

  function noteRevision(scope: ScopeKey | undefined, revision: number): void {
    if (scope !== undefined) ahead.set(scope, Math.max(revision, ahead.get(scope) ?? 0));
  }

  function announceReset(reset: StoreReset): void {
    diagnostics.warn(`rdcp: Redis has lost changes that it had acknowledged (${reset.reason})`);
    resets.call(reset);
  }

  async function commit({ state, audit, replay, now }: Commit): Promise<CommitResult> {
    operations += 1;
    const operation = `${writer}-${operations}`;
    const names = ['meta', 'scopes', 'changes', 'heads', 'audit', `op:${operation}`, `replay:${replay?.key ?? ''}`];
    const reply = (await evaluate(send, COMMIT, names.map(key), [
      ...lineageArguments(known),
      operation,
      clockOffset === undefined ? '' : String(Math.ceil(performance.now() + clockOffset + deadlineMs)),
      JSON.stringify(audit),
      state?.scope ?? '',
      state === undefined ? '' : String(state.expectedRevision),
      String(now),
      state === undefined ? '' : encodeScope(state),
      replay === undefined ? '' : `${replay.expiresAt}\n${replay.fingerprint}\n${replay.response}`,
      String(replay === undefined ? 0 : Math.max(1, Math.ceil(replay.expiresAt - now)) + REPLAY_SLACK_MS),
      randomUUID(),
      channel,
      newSecret(),
    ])) as unknown[];
    const [outcome, value = ''] = reply.map(String);
    switch (outcome) {
      case 'committed':
        if (state === undefined) return { outcome };
        noteRevision(state.scope, state.expectedRevision + 1);
        return { outcome, ...committedAt(value) };
      case 'conflict': {
        const current = scopeState(stored, value);
        noteRevision(state?.scope, current.revision);
        return { outcome, current };
      }
      case 'replayed': {
        const { key: name = '' } = replay ?? {};
        // A malformed answer belongs to no request.
        const none = { key: name, fingerprint: '', response: '', expiresAt: 0 };
        return { outcome, replay: replayRecord(stored, name, value) ?? none };
      }
      case 'lost':
        await sync().catch(() => {});
        throw unwritten(new Error('Redis has lost changes that it had acknowledged; its state is read again'));
      default:
        throw unwritten(new Error(`Redis did not reach the commit within ${deadlineMs} ms`));
    }
  }

  return {
    name: 'redis',
    shared: true,
    tokens: createRedisTokens({ send, key, stored }),
    fleet,
    messages: carried,

    async load() {
      // A cheap command first: it fails sooner than a load when Redis is down.
      await send(['HLEN', key('meta')]);
      const patient: Send = (args) => commands.send(args, deadlineMs * LOAD_DEADLINE_FACTOR);
      const { lineage, scopes } = await readChanges(patient, undefined);
      // When a lineage is known already, the next sync still compares it and notifies subscribers.
      known ??= lineage;
      loaded = lineage;
      return scopes;
    },

    commit,

    async findReplay(replayKey, now) {
      const value = await send(['GET', key(`replay:${replayKey}`)]);
      if (value === null || value === undefined) return undefined;
      const record = replayRecord(stored, replayKey, String(value));
      return record !== undefined && record.expiresAt > now ? record : undefined;
    },

    subscribe(listener) {
      if (closed) return () => {};
      if (subscribers.size === 0 && loaded !== undefined) {
        // Changes between the load and this call were announced to no subscriber.
        known = loaded;
        resync();
      }
      return subscribers.add(listener);
    },

    onReset: (listener) => resets.add(listener),
    onMalformed: (listener) => stored.malformed.add(listener),
    queryAudit: (query) => trail.page(query),
    newestAudit: () => trail.newest(),
    pruneAudit: (...asked) => trail.prune(...asked),

    async check() {
      // A Redis that is full, cannot save, is a replica or lacks its replicas answers reads and rejects writes.
      const probes = Object.entries(PROBES).map(([name, probe]) =>
        evaluate(send, probe, [key(`check:${name}`)], [key('check')]),
      );
      await Promise.all([sync(), ...probes]);
    },

    async close() {
      if (closed) return;
      closed = true;
      timers.clearInterval(timer);
      timers.clearTimeout(turn);
      subscribers.clear();
      resets.clear();
      stored.malformed.clear();
      carried.close();
      messages.close();
      await commands.close();
    },
  };
}

const newSecret = () => randomBytes(32).toString('hex');
