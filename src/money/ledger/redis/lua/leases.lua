-- Indexes outside the accounts' slots: expiring leases, postings to move, and the process that moves them.

-- The index of accounts by the end of their first lease, and by when a process last announced a hold there. It lies outside the
-- accounts' slots: a superfluous entry costs one look, a missing one would hide a hold for ever.
local NOTED_MS = 60000
local LOOK_AGAIN_MS = 30000
-- A noted account may have postings to archive from then on.
local FIRST_LOOK_MS = 10000

-- KEYS: the index.
function ops.note(KEYS_, A)
  local now = clock(A)
  redis.call('ZADD', KEYS_[1], 'LT', int(now + tonumber(A[NOTE.lease_ms])), A[NOTE.account])
  redis.call('ZADD', KEYS_[1] .. ':noted', int(now), A[NOTE.account])
  redis.call('ZADD', KEYS_[1] .. ':archive', 'NX', int(now + FIRST_LOOK_MS), A[NOTE.account])
  return { 'noted' }
end

-- An account was checked. KEYS: the index. Takes the score that was read, and when the account's first lease
-- ends ('' where it holds nothing). Changes nothing where an earlier end was noted since.
function ops.looked(KEYS_, A)
  local now = clock(A)
  local score = redis.call('ZSCORE', KEYS_[1], A[LOOKED.account])
  if not score or tonumber(score) ~= tonumber(A[LOOKED.score]) then return { 'changed' } end
  -- A process that noted a lease a while ago may still place a hold under that note; it ends no earlier than this.
  local next_end = math.min(A[LOOKED.next_end] ~= '' and tonumber(A[LOOKED.next_end]) or now + LOOK_AGAIN_MS, now + LOOK_AGAIN_MS)
  local noted = num(redis.call('ZSCORE', KEYS_[1] .. ':noted', A[LOOKED.account]))
  if A[LOOKED.next_end] == '' and now - noted > NOTED_MS then
    redis.call('ZREM', KEYS_[1], A[LOOKED.account])
    redis.call('ZREM', KEYS_[1] .. ':noted', A[LOOKED.account])
  else
    redis.call('ZADD', KEYS_[1], int(next_end), A[LOOKED.account])
  end
  return { 'set' }
end

-- KEYS: the index. Returns whether the clocks are apart, then accounts and their scores
-- in turn.
function ops.due(KEYS_, A)
  local now = clock(A)
  local found = redis.call('ZRANGEBYSCORE', KEYS_[1], '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, A[DUE.count])
  table.insert(found, 1, is_apart(now, A) and '1' or '0')
  return found
end

-- KEYS: the index. Returns accounts that may have postings for the archive, with their
-- scores.
function ops.archive_due(KEYS_, A)
  local now = clock(A)
  return redis.call('ZRANGEBYSCORE', KEYS_[1] .. ':archive', '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, A[ARCHIVE_DUE.count])
end

-- An account's postings were checked. KEYS: the index. Takes the score that was read, and
-- when to check again ('' where nothing is left or held, and only a call that has just begun could change that)
function ops.archive_looked(KEYS_, A)
  local now = clock(A)
  local index = KEYS_[1] .. ':archive'
  if redis.call('ZSCORE', index, A[ARCHIVE_LOOKED.account]) ~= A[ARCHIVE_LOOKED.score] then return { 'changed' } end
  local noted = num(redis.call('ZSCORE', KEYS_[1] .. ':noted', A[ARCHIVE_LOOKED.account]))
  if A[ARCHIVE_LOOKED.next_look] == '' and now - noted > NOTED_MS then
    redis.call('ZREM', index, A[ARCHIVE_LOOKED.account])
  else
    redis.call('ZADD', index, A[ARCHIVE_LOOKED.next_look] ~= '' and A[ARCHIVE_LOOKED.next_look] or int(now + LOOK_AGAIN_MS), A[ARCHIVE_LOOKED.account])
  end
  return { 'set' }
end

-- One process at a time moves postings. KEYS: the key that names it. Takes the process and a lease in ms; 0 releases.
function ops.exporter(KEYS_, A)
  local key = KEYS_[1]
  local holder = redis.call('GET', key)
  if holder and holder ~= A[EXPORTER.who] then return { 'other', holder } end
  if tonumber(A[EXPORTER.ms]) > 0 then
    redis.call('SET', key, A[EXPORTER.who], 'PX', A[EXPORTER.ms])
  elseif holder then
    redis.call('DEL', key)
  end
  return { 'own' }
end
