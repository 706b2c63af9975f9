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
//   fleet    hash: instance -> "<time of its last announcement, ms> <epoch> <version>\n<instance>"
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

/** ARGV 1 to 3: epoch, version and head that the caller saw last; the epoch is empty when it saw none. */
const LINEAGE = `
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'head', 'secret')
local epoch, version, head, secret = meta[1], tonumber(meta[2] or '0'), meta[3] or '', meta[4] or ''
local lost = false
if ARGV[1] ~= '' then
  local seen = tonumber(ARGV[2])
  if not epoch or epoch ~= ARGV[1] or version < seen then
    lost = true
  elseif seen > 0 then
    local operation = redis.call('HGET', KEYS[4], string.format('%d', seen))
    lost = operation and operation ~= ARGV[3]
  end
end
`;

/**
 * KEYS: meta scopes changes heads. ARGV: lineage, a fresh epoch, a fresh secret. Returns `reset` with its cause, `all`
 * with every scope, or `changes` with the scopes changed since; then epoch, version, head, secret, server time in ms,
 * and scope, value, …
 */
export const SYNC = `${LINEAGE}
local how = lost and (epoch and 'rollback' or 'empty') or 'changes'
if lost and epoch and epoch ~= ARGV[1] then
  how = redis.call('HGET', KEYS[1], 'cause') or 'empty'
elseif lost or not epoch then
  -- A store that lost changes but kept its epoch takes a new one: those that still hold the lost changes all hear of it.
  local cause = epoch and 'rollback' or 'empty'
  epoch = ARGV[4]
  if secret == '' then secret = ARGV[5] end
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'version', version, 'cause', cause, 'secret', secret)
end
local time = redis.call('TIME')
local reply = { how, epoch, string.format('%d', version), head, secret, time[1] .. string.format('%03d', math.floor(time[2] / 1000)) }
if lost or ARGV[1] == '' then
  if not lost then reply[1] = 'all' end
  for _, item in ipairs(redis.call('HGETALL', KEYS[2])) do reply[#reply + 1] = item end
else
  for _, scope in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[2], '+inf')) do
    reply[#reply + 1] = scope
    reply[#reply + 1] = redis.call('HGET', KEYS[2], scope) or ''
  end
end
return reply
`;

/**
 * KEYS: meta scopes changes heads audit op replay. ARGV: lineage; 4 operation; 5 server time after which it must not
 * run; 6 audit entry; 7 scope; 8 expected revision, empty when no state is written; 9 wall time; 10 settings; 11 replay
 * value, empty for none; 12 its life in ms; 13 a fresh epoch; 14 channel; 15 a fresh secret. Returns `committed` with
 * "<revision> <epoch> <version>", or with nothing when no state was written, `conflict` and the scope's value,
 * `replayed` and the replay value, `late` or `lost`.
 */
export const COMMIT = `${LINEAGE}${SIGN}-- The same operation again: it was sent twice, and took effect the first time.
local done = redis.call('GET', KEYS[6])
if done then return { 'committed', done } end
-- The caller has given up waiting and reported a failure.
local time = redis.call('TIME')
if ARGV[5] ~= '' and time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(ARGV[5]) then return { 'late' } end
if lost then return { 'lost' } end
if ARGV[11] ~= '' then
  local kept = redis.call('GET', KEYS[7])
  if kept and tonumber(string.match(kept, '^%-?%d+') or '0') > tonumber(ARGV[9]) then return { 'replayed', kept } end
end
local revision = ''
if ARGV[8] ~= '' then
  local current = redis.call('HGET', KEYS[2], ARGV[7]) or ''
  -- More digits than a double holds, or none, count as 0, as in values.ts.
  local digits = string.match(current, '^%d+') or '0'
  if (#digits > 15 and 0 or tonumber(digits)) ~= tonumber(ARGV[8]) then return { 'conflict', current } end
  revision = string.format('%d', tonumber(ARGV[8]) + 1)
end
redis.call('XADD', KEYS[5], '*', 'entry', ARGV[6])
if ARGV[11] ~= '' then redis.call('SET', KEYS[7], ARGV[11], 'PX', ARGV[12]) end
if revision == '' then
  redis.call('SET', KEYS[6], '', 'PX', 60000)
  return { 'committed', '' }
end
if not epoch then
  epoch = ARGV[13]
  secret = ARGV[15]
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'cause', 'empty', 'secret', secret)
end
version = version + 1
local outcome = revision .. ' ' .. epoch .. ' ' .. string.format('%d', version)
redis.call('SET', KEYS[6], outcome, 'PX', 60000)
local value = revision .. ' ' .. ARGV[9] .. ' ' .. ARGV[4] .. '\\n' .. ARGV[10]
redis.call('HSET', KEYS[1], 'version', string.format('%d', version), 'head', ARGV[4])
redis.call('HSET', KEYS[2], ARGV[7], value)
redis.call('ZADD', KEYS[3], version, ARGV[7])
redis.call('HSET', KEYS[4], string.format('%d', version), ARGV[4])
redis.call('HDEL', KEYS[4], string.format('%d', version - ${HEADS}))
local message = { epoch, string.format('%d', version), ARGV[4], head, ARGV[7] }
-- A larger one costs every subscriber more than asking for it.
if #value <= 65536 then message[6] = value end
redis.call('PUBLISH', ARGV[14], signed(secret, message))
return { 'committed', outcome }
`;

/**
 * KEYS: fleet meta. ARGV: instance, epoch, version, the instance as JSON, and the channels of the processes to notify.
 * Records that an instance is alive and what it has applied.
 */
export const ANNOUNCE = `${SIGN}
local time = redis.call('TIME')
local at = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], ARGV[1], at .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. '\\n' .. ARGV[4])
if #ARGV < 5 then return end
local message = signed(redis.call('HGET', KEYS[2], 'secret') or '', { ARGV[1], ARGV[2], ARGV[3] })
for index = 5, #ARGV do redis.call('PUBLISH', ARGV[index], message) end
`;

/** KEYS: fleet categories. ARGV: instance. Removes an instance from the list. */
export const WITHDRAW = `
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
`;

/** KEYS: fleet categories. ARGV: instance, its categories. Drops the lists of instances that have gone. */
export const PUBLISH_CATEGORIES = `
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for _, id in ipairs(redis.call('HKEYS', KEYS[2])) do
  if id ~= ARGV[1] and redis.call('HEXISTS', KEYS[1], id) == 0 then redis.call('HDEL', KEYS[2], id) end
end
`;

/** KEYS: categories. ARGV: instances. Returns their lists. */
export const READ_CATEGORIES = `return redis.call('HMGET', KEYS[1], unpack(ARGV))`;

/**
 * KEYS: meta fleet. ARGV: milliseconds of silence after which an instance is dropped. Returns epoch, version, server
 * time in ms, and instance, value, … An announcement from the future dates from before the server's clock was set back.
 */
export const FLEET = `
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = { meta[1] or '', meta[2] or '0', string.format('%d', now) }
local all = redis.call('HGETALL', KEYS[2])
for index = 1, #all, 2 do
  local at = tonumber(string.match(all[index + 1], '^%d+ '))
  if not at or math.abs(now - at) > tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[2], all[index])
  else
    reply[#reply + 1] = all[index]
    reply[#reply + 1] = all[index + 1]
  end
end
return reply
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
