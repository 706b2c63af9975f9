import { hash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { decodeJson } from '../../wire/decode.ts';
import { StoreOutage, unwritten } from '../../wire/errors.ts';

// The scripts that read and write the state. Each runs as one atomic step of the server. All keys carry the hash tag
// {rdcp}, so that they live in one slot of a cluster:
//
//   meta     hash: epoch, version, head, and the secret that messages are signed with
//   scopes   hash: scope -> "<revision> <changedAt> <operation>\n<settings>"
//   changes  sorted set: scope -> the version of its last change
//   heads    hash: version -> the operation that made it, for the last 10,000 versions
//   audit    stream of entries
//   op       the outcome of one operation, for a minute
//   replay   an answer kept for retries
//   check:…  one key of each of these types, written to check that writes are accepted
//
// `version` counts all changes of state. A process remembers the version and operation it saw last: a store restored
// from an old copy has a lower version, or another operation under that version. A new `epoch` is generated when a store
// is found empty or old, so that every process notices, even one that was disconnected.

/**
 * Versions whose operation is kept. A process that missed more than these cannot recognize an old copy by its last
 * change.
 */
const HEADS = 10_000;

/** The argument is JSON; its `since` has the history, version and head that the caller saw last, if it saw any. */
const LINEAGE = `
local given = cjson.decode(ARGV[1])
local since = given.since
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'head', 'secret')
local epoch, version, head, secret = meta[1], tonumber(meta[2] or '0'), meta[3] or '', meta[4] or ''
local lost = false
if since then
  if not epoch or epoch ~= since.history or version < since.version then
    lost = true
  elseif since.version > 0 then
    local operation = redis.call('HGET', KEYS[4], string.format('%d', since.version))
    lost = operation and operation ~= since.head
  end
end
`;

/**
 * KEYS: meta scopes changes heads. The argument has `since` and `fresh`: an epoch and a secret. Returns the cause of a reset, `all`
 * with every scope, or `changes` with the scopes changed since; then epoch, version, head, secret, server time in ms,
 * and scope, value, …
 */
export const SYNC = `${LINEAGE}
local how = lost and (epoch and 'rollback' or 'empty') or 'changes'
if lost and epoch and epoch ~= since.history then
  how = redis.call('HGET', KEYS[1], 'cause') or 'empty'
elseif lost or not epoch then
  -- A store that lost changes but kept its epoch takes a new one: those that still hold the lost changes all hear of it.
  local cause = epoch and 'rollback' or 'empty'
  epoch = given.fresh.epoch
  if secret == '' then secret = given.fresh.secret end
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'version', version, 'cause', cause, 'secret', secret)
end
local time = redis.call('TIME')
local reply = { how, epoch, string.format('%d', version), head, secret, time[1] .. string.format('%03d', math.floor(time[2] / 1000)) }
if lost or not since then
  if not lost then reply[1] = 'all' end
  for _, item in ipairs(redis.call('HGETALL', KEYS[2])) do reply[#reply + 1] = item end
else
  for _, scope in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], string.format('(%d', since.version), '+inf')) do
    reply[#reply + 1] = scope
    reply[#reply + 1] = redis.call('HGET', KEYS[2], scope) or ''
  end
end
return reply
`;

/** The argument of {@link COMMIT}, beside `since` and `fresh`. */
export interface CommitArgument {
  readonly operation: string;
  /** Server time after which it must not run. */
  readonly latest?: number | undefined;
  readonly audit: string;
  readonly state?: { readonly scope: string; readonly expected: number; readonly settings: string } | undefined;
  /** Wall time; as text, because it is kept as it is. */
  readonly now: string;
  /** The value to keep, and its life in ms. */
  readonly replay?: { readonly value: string; readonly life: number } | undefined;
  readonly channel: string;
}

// A Redis user may be allowed to publish on a channel but not to write keys. So the scripts sign what they publish with
// a secret stored among the keys: a user who can read it could write the state itself.

/**
 * Lua: `signed(secret, values)` returns the values as JSON text, after its signature. Two nested hashes, as in HMAC (RFC 2104),
 * prevent length extension. SHA-1 is the only hash that Redis has.
 */
const SIGN = `
local function signed(secret, values)
  local text = cjson.encode(values)
  return redis.sha1hex(secret .. redis.sha1hex(secret .. text)) .. text
end
`;

/**
 * KEYS: meta scopes changes heads audit op replay. Returns `committed` with "<revision> <epoch> <version>", or with nothing when
 * no state was written, `conflict` and the scope's value, `replayed` and the replay value, `late` or `lost`.
 */
export const COMMIT = `${LINEAGE}${SIGN}-- The same operation again: it was sent twice, and took effect the first time.
local done = redis.call('GET', KEYS[6])
if done then return { 'committed', done } end
local operation, state, replay = given.operation, given.state, given.replay
-- The caller has given up waiting and reported a failure.
local time = redis.call('TIME')
if given.latest and time[1] * 1000 + math.floor(time[2] / 1000) > given.latest then return { 'late' } end
if lost then return { 'lost' } end
if replay then
  local kept = redis.call('GET', KEYS[7])
  if kept and tonumber(string.match(kept, '^%-?%d+') or '0') > tonumber(given.now) then return { 'replayed', kept } end
end
local revision = ''
if state then
  local current = redis.call('HGET', KEYS[2], state.scope) or ''
  -- More digits than a double holds, or none, count as 0, as in values.ts.
  local digits = string.match(current, '^%d+') or '0'
  if (#digits > 15 and 0 or tonumber(digits)) ~= state.expected then return { 'conflict', current } end
  revision = string.format('%d', state.expected + 1)
end
redis.call('XADD', KEYS[5], '*', 'entry', given.audit)
if replay then redis.call('SET', KEYS[7], replay.value, 'PX', string.format('%d', replay.life)) end
if not state then
  redis.call('SET', KEYS[6], '', 'PX', 60000)
  return { 'committed', '' }
end
if not epoch then
  epoch = given.fresh.epoch
  secret = given.fresh.secret
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'cause', 'empty', 'secret', secret)
end
version = version + 1
local outcome = revision .. ' ' .. epoch .. ' ' .. string.format('%d', version)
redis.call('SET', KEYS[6], outcome, 'PX', 60000)
local value = revision .. ' ' .. given.now .. ' ' .. operation .. '\\n' .. state.settings
redis.call('HSET', KEYS[1], 'version', string.format('%d', version), 'head', operation)
redis.call('HSET', KEYS[2], state.scope, value)
redis.call('ZADD', KEYS[3], version, state.scope)
redis.call('HSET', KEYS[4], string.format('%d', version), operation)
redis.call('HDEL', KEYS[4], string.format('%d', version - ${HEADS}))
local message = { epoch, string.format('%d', version), operation, head, state.scope }
-- A larger one costs every subscriber more than asking for it.
if #value <= 65536 then message[6] = value end
redis.call('PUBLISH', given.channel, signed(secret, message))
return { 'committed', outcome }
`;

/**
 * A cluster client sends a bare PUBLISH to any node, and messages through several nodes overtake each other. ARGV: channel and
 * message, which may be long, and need no decoding.
 */
export const PUBLISH = "return redis.call('PUBLISH', ARGV[1], ARGV[2])";

/**
 * Each script writes KEYS[1], a key of a type of its own, and changes no state. Together they use every write command
 * of a commit, because a user may lack the permission for any of them. ARGV: a channel without subscribers. One script
 * with several keys would fail while a cluster moves their slot.
 */
export const PROBES = {
  audit: `redis.call('XADD', KEYS[1], 'MAXLEN', '1', '*', 'entry', '')`,
  scopes: `
redis.call('HSET', KEYS[1], 'version', '0')
redis.call('HDEL', KEYS[1], 'version')
`,
  changes: `redis.call('ZADD', KEYS[1], 0, '')`,
  op: `
redis.call('SET', KEYS[1], '', 'PX', 60000)
redis.call('PUBLISH', ARGV[1], '')
`,
};

const SIGNATURE = /^[0-9a-f]{40}/;

const values = z.array(z.unknown());

/** The values of a message signed by a script; `undefined` for any other message. */
export function openSigned(message: string, secret: string): unknown[] | undefined {
  const [signature] = SIGNATURE.exec(message) ?? [];
  if (secret === '' || signature === undefined) return undefined;
  const text = message.slice(signature.length);
  const expected = hash('sha1', secret + hash('sha1', secret + text));
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? decodeJson(values, text) : undefined;
}

export type Send = (args: readonly string[]) => Promise<unknown>;

/** Runs a script. Its text is sent only to a Redis that does not have it yet. */
export async function evaluate(
  send: Send,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await send(['EVALSHA', hash('sha1', script), ...rest]).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return send(['EVAL', script, ...rest]);
      throw error;
    });
  } catch (error) {
    // Up to Redis 7, a permission error inside a script has no name of its own.
    const isForbidden = error instanceof Error && error.message.startsWith('ERR The user executing the script');
    throw isForbidden ? unwritten(new StoreOutage('the store refuses writes (NOPERM)', { cause: error })) : error;
  }
}
