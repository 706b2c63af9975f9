import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { timers } from '../../wire/time/timers.ts';
import type { ChangeFeed, Lineage, Reading } from '../lineage.ts';
import { oneAtATime } from '../one-at-a-time.ts';
import type { Position, ReplayRecord, ScopeKey, ScopeState } from '../state-store.ts';
import type { StoredValues } from '../stored-values.ts';
import { evaluate, openSigned, type Send, SYNC } from './scripts.ts';

/** Over how long the processes of a large fleet spread a read that all of them have to make. */
const SPREAD_MS = 1000;

interface RedisChangesOptions {
  readonly feed: ChangeFeed;
  readonly key: (name: string) => string;
  readonly send: Send;
  readonly stored: StoredValues;
  /** Whether the fleet is so large that its processes must not all read at the same moment. */
  readonly isLarge: () => boolean;
}

/** Follows the changes of all processes, by messages and by reads. */
export function createRedisChanges({ feed, key, send, stored, isLarge }: RedisChangesOptions) {
  /** Until this process reads what a message did not carry. */
  let turn: NodeJS.Timeout | undefined;
  /** Includes everything that was committed before this call. */
  const sync = oneAtATime(() => synchronize(send));
  const resync = () => void sync().catch(() => {});

  async function read(through: Send, since: Lineage | undefined): Promise<Reading> {
    const keys = ['meta', 'scopes', 'changes', 'heads'].map(key);
    const sentAt = performance.now();
    const reply = (await evaluate(through, SYNC, keys, [JSON.stringify({ since, fresh: fresh() })])) as unknown[];
    const [how, history = '', version, head = '', signsWith = '', time, ...pairs] = reply.map(String);
    feed.secret = signsWith;
    feed.noteTime(Number(time), sentAt);
    const scopes = new Map<ScopeKey, ScopeState>();
    for (let index = 0; index < pairs.length; index += 2) {
      scopes.set(String(pairs[index]), scopeState(stored, String(pairs[index + 1])));
    }
    return { how: how as Reading['how'], lineage: { history, version: Number(version), head }, scopes };
  }

  async function synchronize(through: Send): Promise<void> {
    const since = feed.lineage;
    feed.apply(await read(through, since), since);
  }

  /** Reads what a message did not carry. In a large fleet all have to at the same moment, and a Redis sends one after the other. */
  function resyncInTurn(): void {
    if (!isLarge()) {
      resync();
      return;
    }
    turn ??= timers
      .setTimeout(() => {
        turn = undefined;
        resync();
      }, Math.random() * SPREAD_MS)
      .unref();
  }

  return {
    sync,
    resync,
    synchronize,

    /**
     * Applies a message that Redis has signed and that follows the known state without a gap. One that leaves a gap
     * triggers a read.
     */
    hear(message: string): void {
      const values = openSigned(message, feed.secret);
      // The next poll reads what a message says that is signed with a secret not known yet.
      const change = values && publishedChange(stored, values);
      if (change === undefined) return;
      const { scope, state, previous, ...lineage } = change;
      if (feed.has(lineage)) return;
      if (state === undefined || !feed.isNext(lineage, previous)) {
        resyncInTurn();
        return;
      }
      feed.apply({ how: 'changes', lineage, scopes: new Map([[scope, state]]) }, feed.lineage);
    },

    /** Compares history, version and head in Redis with what is known. */
    compare([history, version, head]: readonly unknown[]): void {
      const known = feed.lineage;
      const isKnown =
        known?.history === history && known?.version === Number(version ?? 0) && known.head === (head ?? '');
      if (!isKnown) resync();
    },

    async load(patient: Send): Promise<ReadonlyMap<ScopeKey, ScopeState>> {
      const { lineage, scopes } = await read(patient, undefined);
      feed.loaded(lineage);
      return scopes;
    },

    close(): void {
      timers.clearTimeout(turn);
      feed.close();
    },
  };
}

/** What a store takes that is found empty or old. */
export const fresh = () => ({ epoch: randomUUID(), secret: randomBytes(32).toString('hex') });

// Splits what the scripts store and send as text.

const whole = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
/** Epoch, version, head, the head before, scope, and the scope's value, which is left out where it is large. */
const change = z.tuple([z.string(), whole, z.string(), z.string(), z.string(), z.string().optional()]);

/** Decodes a message of the commit script; `undefined` for anything else. */
function publishedChange(stored: StoredValues, values: readonly unknown[]) {
  const [history, version, head, previous, scope, value] = change.safeParse(values).data ?? [];
  if (history === undefined || version === undefined || head === undefined || scope === undefined) {
    stored.malformed.call('message');
    return undefined;
  }
  return {
    history,
    version,
    head,
    previous,
    scope,
    state: value === undefined ? undefined : scopeState(stored, value),
  };
}

/** `<revision> <epoch> <version>`. */
export function committedAt(value: string): { readonly revision: number; readonly position: Position } {
  const [, revision, history = '', version] = /^(\d{1,15}) (\S+) (\d{1,15})$/.exec(value) ?? [];
  if (revision === undefined) throw new Error('Redis holds a malformed outcome of this commit');
  return { revision: Number(revision), position: { history, revision: Number(version) } };
}

/** `<revision> <changedAt> <operation>\n<settings>`; empty for a scope that was never written. */
export function scopeState(stored: StoredValues, value: string): ScopeState {
  if (value === '') return { revision: 0, settings: new Map() };
  const line = value.indexOf('\n');
  const [, changedAt = Number.NaN] = value.slice(0, Math.max(0, line)).split(' ');
  const revision = /^\d{1,15}(?!\d)/.exec(value)?.[0] ?? Number.NaN;
  return stored.scope(Number(revision), Number(changedAt), value.slice(line + 1));
}

/** `<expiresAt>\n<fingerprint>\n<response>`. */
export function replayRecord(stored: StoredValues, key: string, value: string): ReplayRecord | undefined {
  const [, expiresAt, fingerprint, response] = /^(-?\d+(?:\.\d+)?)\n([^\n]*)\n(.*)$/s.exec(value) ?? [];
  return stored.replay({ key, fingerprint, response, expiresAt: Number(expiresAt) });
}
