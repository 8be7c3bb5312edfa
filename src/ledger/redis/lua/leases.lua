-- The indexes that lie outside of the accounts' slots: whose leases may have ended, whose postings may leave, and who moves them.

-- The index of accounts by when one of their leases ends first, and when somebody last said that he would place a hold there. It
-- lies outside of the accounts' slots: an entry too many is looked at in vain, one too few would hide a hold for ever.
local NOTED_MS = 60000
local LOOK_AGAIN_MS = 30000
-- Whoever is noted may have postings to be archived from then on.
local FIRST_LOOK_MS = 10000

-- KEYS: the index. ARGV: gateway time, leapt, given time, account, lease ms
function ops.note(KEYS_, A)
  local now = clock(A[1], A[2], A[3])
  redis.call('ZADD', KEYS_[1], 'LT', int(now + tonumber(A[5])), A[4])
  redis.call('ZADD', KEYS_[1] .. ':noted', int(now), A[4])
  redis.call('ZADD', KEYS_[1] .. ':archive', 'NX', int(now + FIRST_LOOK_MS), A[4])
  return { 'noted' }
end

-- An account has been looked at. KEYS: the index. ARGV: gateway time, leapt, given time, account, the score that was read, when its
-- first lease ends ('' where it holds nothing). Changes nothing where somebody has noted an earlier end since.
function ops.looked(KEYS_, A)
  local now = clock(A[1], A[2], A[3])
  local score = redis.call('ZSCORE', KEYS_[1], A[4])
  if not score or tonumber(score) ~= tonumber(A[5]) then return { 'changed' } end
  -- Whoever has noted a lease a while ago may place a hold under that note still: it ends no earlier than this.
  local next_end = math.min(A[6] ~= '' and tonumber(A[6]) or now + LOOK_AGAIN_MS, now + LOOK_AGAIN_MS)
  local noted = num(redis.call('ZSCORE', KEYS_[1] .. ':noted', A[4]))
  if A[6] == '' and now - noted > NOTED_MS then
    redis.call('ZREM', KEYS_[1], A[4])
    redis.call('ZREM', KEYS_[1] .. ':noted', A[4])
  else
    redis.call('ZADD', KEYS_[1], int(next_end), A[4])
  end
  return { 'set' }
end

-- KEYS: the index. ARGV: gateway time, leapt, given time, count. Answers whether the clocks are apart, then accounts and the scores that
-- they were found by.
function ops.due(KEYS_, A)
  local now = clock(A[1], A[2], A[3])
  local found = redis.call('ZRANGEBYSCORE', KEYS_[1], '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, A[4])
  table.insert(found, 1, is_apart(now, A) and '1' or '0')
  return found
end

-- KEYS: the index. ARGV: gateway time, leapt, given time, count. Answers accounts that may have postings for the archive, with the
-- scores that they were found by.
function ops.archive_due(KEYS_, A)
  local now = clock(A[1], A[2], A[3])
  return redis.call('ZRANGEBYSCORE', KEYS_[1] .. ':archive', '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, A[4])
end

-- An account's postings have been looked at. KEYS: the index. ARGV: gateway time, leapt, given time, account, the score that was read,
-- when to look again ('' where nothing is left or held, and only a call that has just begun could change that)
function ops.archive_looked(KEYS_, A)
  local now = clock(A[1], A[2], A[3])
  local index = KEYS_[1] .. ':archive'
  if redis.call('ZSCORE', index, A[4]) ~= A[5] then return { 'changed' } end
  local noted = num(redis.call('ZSCORE', KEYS_[1] .. ':noted', A[4]))
  if A[6] == '' and now - noted > NOTED_MS then
    redis.call('ZREM', index, A[4])
  else
    redis.call('ZADD', index, A[6] ~= '' and A[6] or int(now + LOOK_AGAIN_MS), A[4])
  end
  return { 'set' }
end

-- One process at a time moves postings. KEYS: the place that says which. ARGV: who asks, for how many ms; 0 gives it back.
function ops.exporter(KEYS_, A)
  local key = KEYS_[1]
  local holder = redis.call('GET', key)
  if holder and holder ~= A[1] then return { 'other', holder } end
  if tonumber(A[2]) > 0 then
    redis.call('SET', key, A[1], 'PX', A[2])
  elseif holder then
    redis.call('DEL', key)
  end
  return { 'own' }
end
