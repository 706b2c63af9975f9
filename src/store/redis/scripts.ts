import { BEAT_MS, FORGOTTEN_MS } from '../fleet-store.ts';
import { SIGN } from './signature.ts';

// The scripts that read and write the state. Each runs as one atomic step of the server. All keys carry the hash tag
// {rdcp}, so that they live in one slot of a cluster:
//
//   meta     hash: epoch, version, head, and the secret that messages are signed with
//   scopes   hash: scope -> "<revision> <changedAt> <operation>\n<settings>"
//   changes  sorted set: scope -> the version of its last change
//   heads    hash: version -> the operation that made it, for the last 10,000 versions
//   audit    stream of entries
//   op       the outcome of one operation, for a minute
//   fleet    hash: instance -> "<milliseconds of silence after which it is gone>\n<instance>"
//   seen     sorted set: running instance -> the time at which it is gone, unless it announces itself, ms
//   applied  sorted set: running instance -> the version that it has applied, of the epoch `counted` in meta
//   lost     sorted set: instance that is not heard of and did not withdraw -> since when, ms
//   categories  hash: instance -> its list of categories
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
 * Milliseconds between the announcements of an instance, for each instance of the fleet. One costs two commands, and every tenth
 * one seven: together below a thousand a second.
 */
const BEAT_PER_INSTANCE_MS = 3;

/** KEYS 1 to 5: fleet seen applied lost meta. */
const NOW = `
local meta = redis.call('HMGET', KEYS[5], 'epoch', 'version', 'head', 'counted')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local beat = math.max(${BEAT_MS}, ${BEAT_PER_INSTANCE_MS} * redis.call('ZCARD', KEYS[2]))
local gone = 3 * beat + 500
`;

/**
 * KEYS: fleet seen applied lost meta. ARGV: instance, epoch, version, the instance as JSON, and the channels of the processes to
 * notify if all have applied that version. Records that an instance is alive and what it has applied. Returns epoch, version and
 * head, the server time in ms, and the milliseconds until the next announcement.
 */
export const ANNOUNCE = `${NOW}
if meta[1] and meta[4] ~= meta[1] then
  -- What was applied of another history counts for nothing.
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[5], 'counted', meta[1])
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d', gone) .. '\\n' .. ARGV[4])
if redis.call('ZADD', KEYS[2], now + gone, ARGV[1]) == 1 then redis.call('ZREM', KEYS[4], ARGV[1]) end
if meta[1] and meta[1] == ARGV[2] then
  redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
  if #ARGV > 4 and redis.call('ZCOUNT', KEYS[3], ARGV[3], '+inf') >= redis.call('ZCARD', KEYS[2]) then
    for index = 5, #ARGV do redis.call('PUBLISH', ARGV[index], '') end
  end
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
return { meta[1] or '', meta[2] or '0', meta[3] or '', string.format('%d', now), beat }
`;

/**
 * KEYS: seen applied meta. ARGV: instance, epoch, version, and the channels of the processes to notify if all have applied that
 * version. Raises what an instance has applied, at half the cost of an announcement. Returns the milliseconds between
 * announcements; or 0, and does nothing, if the instance is gone or what it had applied belongs to another history.
 */
export const ACKNOWLEDGE = `
local meta = redis.call('HMGET', KEYS[3], 'epoch', 'counted')
if meta[1] ~= ARGV[2] or meta[2] ~= ARGV[2] then return 0 end
if redis.call('ZADD', KEYS[2], 'XX', 'CH', ARGV[3], ARGV[1]) == 0 then return 0 end
local size = redis.call('ZCARD', KEYS[1])
if #ARGV > 3 and redis.call('ZCOUNT', KEYS[2], ARGV[3], '+inf') >= size then
  for index = 4, #ARGV do redis.call('PUBLISH', ARGV[index], '') end
end
return math.max(${BEAT_MS}, ${BEAT_PER_INSTANCE_MS} * size)
`;

/** KEYS: fleet seen applied lost categories. ARGV: instance. Removes an instance from the list. */
export const WITHDRAW = `
redis.call('HDEL', KEYS[1], ARGV[1])
for index = 2, 4 do redis.call('ZREM', KEYS[index], ARGV[1]) end
redis.call('HDEL', KEYS[5], ARGV[1])
`;

/** KEYS: categories. ARGV: instances. Returns their lists. */
export const READ_CATEGORIES = `return redis.call('HMGET', KEYS[1], unpack(ARGV))`;

/**
 * KEYS: as those of NOW, and categories. Instances that were silent for too long are lost, and later forgotten. One that is gone
 * only in the far future announced itself before the server's clock was set back.
 */
const EXPIRE = `${NOW}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now + 2 * gone, '+inf')) do
  redis.call('ZADD', KEYS[2], now + gone, id)
end
local silent = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'WITHSCORES')
for index = 1, #silent, 2 do
  redis.call('ZREM', KEYS[2], silent[index])
  redis.call('ZREM', KEYS[3], silent[index])
  redis.call('ZADD', KEYS[4], silent[index + 1], silent[index])
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now - ${FORGOTTEN_MS})) do
  redis.call('ZREM', KEYS[4], id)
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[6], id)
end
`;

/**
 * KEYS: fleet seen applied lost meta categories. ARGV: the instance that asks; epoch and version of a change, empty for the newest.
 * Returns epoch, version, how many other instances there are, how many of them have applied the change, how many more are lost, and
 * the milliseconds of silence after which one is.
 */
export const COUNT = `${EXPIRE}
local target = tonumber(ARGV[3] == '' and (meta[2] or '0') or ARGV[3])
local isCounted = meta[1] and meta[4] == meta[1] and (ARGV[2] == '' or ARGV[2] == meta[1])
local others = redis.call('ZCARD', KEYS[2])
local applied = isCounted and redis.call('ZCOUNT', KEYS[3], target, '+inf') or 0
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then others = others - 1 end
local own = redis.call('ZSCORE', KEYS[3], ARGV[1])
if isCounted and own and tonumber(own) >= target then applied = applied - 1 end
local silent = redis.call('ZCARD', KEYS[4])
if redis.call('ZSCORE', KEYS[4], ARGV[1]) then silent = silent - 1 end
return { meta[1] or '', meta[2] or '0', others, applied, silent, gone }
`;

/**
 * KEYS: as those of COUNT. Returns epoch, version and server time in ms; then seen, lost and applied with their scores; then
 * instance, value, …
 */
export const FLEET = `${EXPIRE}
local all = { meta[1] or '', meta[2] or '0', string.format('%d', now) }
for index, name in ipairs({ KEYS[2], KEYS[4], KEYS[3] }) do
  all[index + 3] = redis.call('ZRANGE', name, 0, -1, 'WITHSCORES')
end
if meta[4] ~= meta[1] then all[6] = {} end
all[7] = redis.call('HGETALL', KEYS[1])
return all
`;

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
