import { LATEST_INSTANT } from '../../wire/time.ts';
import { BEAT_MS } from '../fleet.ts';
import type { ChangeFeed } from '../lineage.ts';
import {
  isPassing,
  type ListedKind,
  type ListedRecord,
  type RecordKind,
  type RecordStore,
  type RecordWrite,
} from '../records.ts';
import type { StoredValues } from '../stored-values.ts';
import { evaluate, type Send } from './scripts.ts';

// Keys, beside those of the state and in the same slot:
//
//   <kind>:…  "<expiresAt>\n<value>" of one record, until its end
//   of a listed kind  sorted set: key -> when it was written, in microseconds of the server's clock
//                     hash: key -> "<expiresAt>\n<value>", or the first line alone where the value is empty

const LISTED: Readonly<Record<ListedKind, readonly [times: string, values: string]>> = {
  revocation: ['revoked', 'until'],
  beat: ['beats', 'beat'],
};

/**
 * Milliseconds between the beats of a process, for each process of the fleet. One costs two commands, and every tenth one seven:
 * together below a thousand a second.
 */
const BEAT_PER_PROCESS_MS = 3;
/** A beat that repeats the last one is written as a whole every tenth time: that reads the time and the number of processes. */
const WHOLE_EVERY = 10;
const READ_AT_ONCE = 200;
/** Overlap between two reads of a list: the server that takes over after a failure may have a slower clock. */
const OVERLAP_MICROSECONDS = 60_000_000;
/** How long Redis keeps an expired record, so that its own clock does not end it early. */
const SLACK_MS = 60_000;

/** The argument of {@link WRITE}. */
interface WriteArgument {
  readonly now: number;
  /** Whether a list must be read in the order of writing, whatever becomes of the clock. */
  readonly lasts: boolean;
  /** Whether the size of the list is wanted. */
  readonly counts: boolean;
  readonly writes: readonly {
    /** The index of its key, and of its hash if it is listed. */
    readonly at: number;
    readonly values?: number | undefined;
    readonly key: string;
    readonly record?: string | undefined;
    readonly life?: number | undefined;
    /** Null for none. */
    readonly expected?: string | null | undefined;
  }[];
}

/** KEYS: those of the writes. Returns whether it wrote, the server time in ms, and the number of records in the last list, or 0. */
const WRITE = `
local given = cjson.decode(ARGV[1])
local function hasEnded(record)
  local ends = tonumber(string.match(record, '^%d+') or '')
  return ends and ends <= given.now
end
local time = redis.call('TIME')
local ms = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
for _, write in ipairs(given.writes) do
  if write.expected ~= nil then
    local record = write.values and redis.call('HGET', KEYS[write.values], write.key)
    if not write.values then record = redis.call('GET', KEYS[write.at]) end
    local value = cjson.null
    if record and not hasEnded(record) then value = string.match(record, '^[^\\n]*\\n(.*)$') or '' end
    if value ~= write.expected then return { 0, ms, 0 } end
  end
end
local size = 0
for _, write in ipairs(given.writes) do
  if not write.values then
    if write.record then redis.call('SET', KEYS[write.at], write.record, 'PX', string.format('%d', write.life))
    else redis.call('DEL', KEYS[write.at]) end
  elseif not write.record then
    redis.call('ZREM', KEYS[write.at], write.key)
    redis.call('HDEL', KEYS[write.values], write.key)
  else
    -- One that repeats or moves a beat comes from every process at once.
    for _, old in ipairs(type(write.expected) == 'string' and {} or redis.call('ZRANGE', KEYS[write.at], 0, 9)) do
      local record = redis.call('HGET', KEYS[write.values], old)
      if record and not hasEnded(record) then break end
      redis.call('ZREM', KEYS[write.at], old)
      redis.call('HDEL', KEYS[write.values], old)
    end
    local position = time[1] * 1000000 + time[2]
    if given.lasts then
      local newest = redis.call('ZRANGE', KEYS[write.at], -1, -1, 'WITHSCORES')
      position = math.max(position, tonumber(newest[2] or '0') + 1)
    end
    redis.call('HSET', KEYS[write.values], write.key, write.record)
    redis.call('ZADD', KEYS[write.at], string.format('%d', position), write.key)
    if given.counts then size = redis.call('ZCARD', KEYS[write.at]) end
  end
end
return { 1, ms, size }
`;

/**
 * KEYS: times values. The argument has the lowest position, and for a list of what passes, how far ahead of the server's clock a
 * time may be: a later one is from before the clock was set back. Returns the server time in ms; then key, time, …; then key, record, …
 */
const LIST = `
local given = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('%d', given.after), '+inf', 'WITHSCORES')
for index = 1, given.ahead and #found or 0, 2 do
  if tonumber(found[index + 1]) >= now + given.ahead then
    found[index + 1] = string.format('%d', now)
    redis.call('ZADD', KEYS[1], found[index + 1], found[index])
  end
end
local records = {}
if given.after == 0 then
  records = redis.call('HGETALL', KEYS[2])
else
  for index = 1, #found, 2 do
    records[index] = found[index]
    records[index + 1] = redis.call('HGET', KEYS[2], found[index]) or ''
  end
end
return { time[1] .. string.format('%03d', math.floor(time[2] / 1000)), found, records }
`;

export interface RedisRecordsOptions {
  readonly send: Send;
  readonly key: (name: string) => string;
  readonly stored: StoredValues;
  readonly clock: Pick<ChangeFeed, 'time' | 'noteTime'>;
  /** Called with each beat of this process: compares what Redis has with what is known, and nothing else needs to. */
  readonly beating: (beatMs: number) => Promise<unknown>;
}

export function createRedisRecords(options: RedisRecordsOptions): RecordStore & { beatMs(): number } {
  const { send, key: nameOf, stored, clock, beating } = options;
  let beatMs = BEAT_MS;
  /** How often the beat that Redis has was repeated. */
  let repeats = 0;

  function recordOf(kind: RecordKind, text: string) {
    const [, ends = '', value = ''] = /^([^\n]*)(?:\n(.*))?$/s.exec(text) ?? [];
    // A revocation whose end is malformed lasts for ever.
    const isEndless = kind === 'revocation' && !/^\d{1,16}$/.test(ends);
    return stored.record(kind, { value, expiresAt: isEndless ? LATEST_INSTANT : Number(ends || Number.NaN) });
  }

  /** Says again what Redis already has; false if it has forgotten it. */
  async function repeat(key: string, now: number): Promise<boolean> {
    repeats += 1;
    const time = String(Math.round(now * 1000));
    return Number(await send(['ZADD', nameOf(LISTED.beat[0]), 'XX', 'CH', time, key])) === 1;
  }

  async function write(writes: readonly RecordWrite[], now: number): Promise<boolean> {
    const keys: string[] = [];
    const argument: WriteArgument = {
      now,
      lasts: !isPassing(writes),
      // What moves a beat comes from every process at once.
      counts: writes.some(
        ({ kind, record, expected }) => kind === 'beat' && record && (expected ?? record.value) === record.value,
      ),
      writes: writes.map(({ kind, key, record, expected }) => {
        const [times, values] = kind in LISTED ? LISTED[kind as ListedKind] : [`${kind}:${key}`];
        const at = keys.push(nameOf(times));
        return {
          at,
          ...(values !== undefined && { values: keys.push(nameOf(values)) }),
          key,
          ...(record && {
            record: record.value === '' ? `${record.expiresAt}` : `${record.expiresAt}\n${record.value}`,
            life: Math.max(1, Math.ceil(record.expiresAt - now)) + SLACK_MS,
          }),
          expected,
        };
      }),
    };
    const sentAt = performance.now();
    const reply = (await evaluate(send, WRITE, keys, [JSON.stringify(argument)])) as unknown[];
    const [written, time, size] = reply.map(Number);
    clock.noteTime(time!, sentAt);
    if (size! > 0) {
      beatMs = Math.max(BEAT_MS, BEAT_PER_PROCESS_MS * size!);
      repeats = 0;
    }
    return written === 1;
  }

  return {
    async get(kind, keys, now) {
      const found = new Map<string, { readonly value: string; readonly expiresAt: number }>();
      for (let from = 0; from < keys.length; from += READ_AT_ONCE) {
        const some = keys.slice(from, from + READ_AT_ONCE);
        const texts = (await send(['MGET', ...some.map((key) => nameOf(`${kind}:${key}`))])) as unknown[];
        for (const [index, text] of texts.entries()) {
          const record = text === null || text === undefined ? undefined : recordOf(kind, String(text));
          if (record !== undefined && record.expiresAt > now) found.set(String(some[index]), record);
        }
      }
      return found;
    },

    async write(writes, now) {
      const [only] = writes;
      if (writes.length > 1 || only?.kind !== 'beat' || only.record === undefined) return write(writes, now);
      // What moves the beat was just read.
      if (typeof only.expected === 'string' && only.expected !== only.record.value) return write(writes, now);
      const { time } = clock;
      const isRepeated = only.expected !== undefined && repeats < WHOLE_EVERY - 1;
      const [written] = await Promise.all([
        isRepeated && time !== undefined ? repeat(only.key, time) : write(writes, now),
        beating(beatMs),
      ]);
      return written;
    },

    async list(kind, after, now) {
      const from = Math.max(0, after - OVERLAP_MICROSECONDS);
      const keys = LISTED[kind].map(nameOf);
      const ahead = kind === 'beat' ? beatMs * 1000 : undefined;
      const reply = (await evaluate(send, LIST, keys, [JSON.stringify({ after: from, ahead })])) as unknown[];
      const texts = new Map(pairsOf(reply[2]));
      const times = pairsOf(reply[1]);
      const records = times.flatMap(([key, micros]): ListedRecord[] => {
        const record = recordOf(kind, texts.get(key) ?? '');
        const age = Math.max(0, Number(reply[0]) - Number(micros) / 1000);
        return record === undefined || record.expiresAt <= now ? [] : [{ ...record, key, age }];
      });
      return { position: Number(times.at(-1)?.[1] ?? after), records };
    },

    beatMs: () => beatMs,
  };
}

/** Name and value, … as Redis answers them. */
function pairsOf(reply: unknown): (readonly [string, string])[] {
  const items = reply as readonly unknown[];
  return Array.from({ length: items.length / 2 }, (_, index) => [
    String(items[2 * index]),
    String(items[2 * index + 1]),
  ]);
}
