import { unwritten } from '../../wire/errors.ts';
import type { ChangeFeed } from '../lineage.ts';
import type { Commit, CommitResult, StateStore } from '../state-store.ts';
import { encodeScope, replayed, type StoredValues } from '../stored-values.ts';
import { committedAt, fresh, replayRecord, scopeState } from './changes.ts';
import { COMMIT, type CommitArgument, evaluate, type Send } from './scripts.ts';

/** How long Redis keeps an expired replay record, so that its own clock does not end it early. */
const REPLAY_SLACK_MS = 60_000;

export interface RedisCommitsOptions {
  readonly key: (name: string) => string;
  readonly send: Send;
  readonly stored: StoredValues;
  readonly feed: ChangeFeed;
  /** Includes everything that was committed before. */
  readonly sync: () => Promise<void>;
  readonly writer: string;
  readonly channel: string;
  readonly deadlineMs: number;
}

export function createRedisCommits(options: RedisCommitsOptions): Pick<StateStore, 'commit' | 'findReplay'> {
  const { key, send, stored, feed, sync, writer, channel, deadlineMs } = options;
  let operations = 0;

  async function run({ state, audit, replay, now }: Commit): Promise<unknown[]> {
    operations += 1;
    const operation = `${writer}-${operations}`;
    const names = ['meta', 'scopes', 'changes', 'heads', 'audit', `op:${operation}`, `replay:${replay?.key ?? ''}`];
    const { time } = feed;
    const argument: CommitArgument = {
      operation,
      latest: time === undefined ? undefined : Math.ceil(time + deadlineMs),
      audit: JSON.stringify(audit),
      state: state && { scope: state.scope, expected: state.expectedRevision, settings: encodeScope(state) },
      now: String(now),
      replay: replay && {
        value: `${replay.expiresAt}\n${replay.fingerprint}\n${replay.response}`,
        life: Math.max(1, Math.ceil(replay.expiresAt - now)) + REPLAY_SLACK_MS,
      },
      channel,
    };
    const json = JSON.stringify({ since: feed.lineage, fresh: fresh(), ...argument });
    return (await evaluate(send, COMMIT, names.map(key), [json])) as unknown[];
  }

  return {
    async commit(commit): Promise<CommitResult> {
      const { state, replay } = commit;
      const [outcome, value = ''] = (await run(commit)).map(String);
      switch (outcome) {
        case 'committed':
          if (state === undefined) return { outcome };
          feed.answered(state.scope, state.expectedRevision + 1);
          return { outcome, ...committedAt(value) };
        case 'conflict': {
          const current = scopeState(stored, value);
          feed.answered(state?.scope, current.revision);
          return { outcome, current };
        }
        case 'replayed': {
          const { key: name = '' } = replay ?? {};
          return replayed(name, replayRecord(stored, name, value));
        }
        case 'lost':
          await sync().catch(() => {});
          throw unwritten(new Error('Redis has lost changes that it had acknowledged; its state is read again'));
        default:
          throw unwritten(new Error(`Redis did not reach the commit within ${deadlineMs} ms`));
      }
    },

    async findReplay(name, now) {
      const value = await send(['GET', key(`replay:${name}`)]);
      if (value === null || value === undefined) return undefined;
      const record = replayRecord(stored, name, String(value));
      return record !== undefined && record.expiresAt > now ? record : undefined;
    },
  };
}
