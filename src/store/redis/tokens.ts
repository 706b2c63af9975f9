import { LATEST_INSTANT } from '../../wire/time.ts';
import type { StoredValues } from '../stored-values.ts';
import type { Revocation, RotationOutcome, TokenSession, TokenStore } from '../token-store.ts';
import { evaluate, type Send } from './script.ts';

// Keys, beside those of the state and in the same slot:
//
//   session  "<expiresAt>\n<current>\n<data>" of one session, until its end
//   revoked  sorted set: session -> when it was revoked, in microseconds of the server's clock
//   until    hash: session -> when its last access token expires

/** Adds a revocation to KEYS 2 and 3, and drops the oldest expired ones. */
const REVOKE_FUNCTION = `
local function revoke(session, untilAt, now)
  redis.call('DEL', KEYS[1])
  for _, old in ipairs(redis.call('ZRANGE', KEYS[2], 0, 9)) do
    local ends = tonumber(redis.call('HGET', KEYS[3], old) or '0')
    if not ends or ends > tonumber(now) then break end
    redis.call('ZREM', KEYS[2], old)
    redis.call('HDEL', KEYS[3], old)
  end
  if redis.call('HSETNX', KEYS[3], session, untilAt) == 0 then return 0 end
  local time = redis.call('TIME')
  local newest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  local position = math.max(time[1] * 1000000 + time[2], tonumber(newest[2] or '0') + 1)
  redis.call('ZADD', KEYS[2], string.format('%d', position), session)
  return 1
end
`;

/** KEYS: session revoked until. ARGV: session, revoked until, now, expected, next. */
const ROTATE = `${REVOKE_FUNCTION}
local expires, current, data = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+)\\n([^\\n]*)\\n(.*)$')
if not expires or tonumber(expires) <= tonumber(ARGV[3]) then return 'ended' end
-- The same rotation again: it was sent twice, and took effect the first time.
if current == ARGV[5] then return 'rotated' end
if current ~= ARGV[4] then
  revoke(ARGV[1], ARGV[2], ARGV[3])
  return 'reused'
end
redis.call('SET', KEYS[1], expires .. '\\n' .. ARGV[5] .. '\\n' .. data, 'KEEPTTL')
return 'rotated'
`;

/** KEYS: session revoked until. ARGV: session, until, now. */
const REVOKE = `${REVOKE_FUNCTION}
return revoke(ARGV[1], ARGV[2], ARGV[3])
`;

/** KEYS: - revoked until. ARGV: the lowest position. Returns the newest position, then session, until, … */
const REVOCATIONS = `
local newest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
local reply = { string.format('%d', tonumber(newest[2] or '0')) }
for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[1], '+inf')) do
  reply[#reply + 1] = session
  reply[#reply + 1] = redis.call('HGET', KEYS[3], session) or '0'
end
return reply
`;

/** Overlap between two reads: the server that takes over after a failure may have a slower clock. */
const OVERLAP_MICROSECONDS = 60_000_000;
/** How long Redis keeps an expired session, so that its own clock does not end it early. */
const SLACK_MS = 60_000;

export interface RedisTokensOptions {
  readonly send: Send;
  /** The full name of a key. */
  readonly key: (name: string) => string;
  readonly stored: StoredValues;
}

/** Token records in Redis. */
export function createRedisTokens({ send, key, stored }: RedisTokensOptions): TokenStore {
  const keys = (id: string) => [key(`session:${id}`), key('revoked'), key('until')];
  return {
    async begin({ id, current, data, expiresAt }, now) {
      const life = Math.max(1, Math.ceil(expiresAt - now)) + SLACK_MS;
      await send(['SET', key(`session:${id}`), `${expiresAt}\n${current}\n${data}`, 'PX', String(life)]);
    },

    async find(id, now) {
      const value = await send(['GET', key(`session:${id}`)]);
      if (value === null || value === undefined) return undefined;
      const session = sessionOf(stored, id, String(value));
      return session !== undefined && session.expiresAt > now ? session : undefined;
    },

    async rotate({ id, expected, next, now, revokedUntil }) {
      const args = [id, String(revokedUntil), String(now), expected, next];
      return String(await evaluate(send, ROTATE, keys(id), args)) as RotationOutcome;
    },

    async revoke(id, until, now) {
      return Number(await evaluate(send, REVOKE, keys(id), [id, String(until), String(now)])) === 1;
    },

    async revocations(after, now) {
      const from = String(Math.max(0, after - OVERLAP_MICROSECONDS));
      const [position, ...pairs] = ((await evaluate(send, REVOCATIONS, keys(''), [from])) as unknown[]).map(String);
      const revoked: Revocation[] = [];
      for (let index = 0; index < pairs.length; index += 2) {
        const until = endOf(String(pairs[index + 1]));
        if (until > now) revoked.push({ sessionId: String(pairs[index]), until });
      }
      return { position: Number(position), revoked };
    },
  };
}

/** A revocation with a malformed end lasts for ever. */
function endOf(until: string): number {
  const end = Number(until);
  return Number.isNaN(end) ? LATEST_INSTANT : end;
}

function sessionOf(stored: StoredValues, id: string, value: string): TokenSession | undefined {
  const [, expiresAt, current, data] = /^(\d+)\n([^\n]*)\n(.*)$/s.exec(value) ?? [];
  return stored.session({ id, current, data, expiresAt: Number(expiresAt) });
}
