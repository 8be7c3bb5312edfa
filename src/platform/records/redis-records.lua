-- Records inside of Redis. A record and its shard's expiry index share a slot; the list of its payer may be in another.
-- `entry` is "<number> <JSON of kind, id and payer>": the creation that a line of the payer's list stands for.
local ops = {}

-- How long a creation may take between its steps in a cluster, and how long past its time a value may stay unswept.
local PENDING_MS = 60000
local UNSWEPT_MS = 600000
-- Numbers count microseconds from the start of 2026, so that they have at most 15 digits.
local FIRST_MICROSECOND = 1767225600000000
-- How long a delete is remembered, for the case that it is sent twice.
local DELETED_MS = 5000

local function int(n)
  return string.format('%.0f', n)
end

local function microseconds()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function clock(given)
  if given ~= '' then return tonumber(given) end
  return math.floor(microseconds() / 1000)
end

local function is_live(expires, now)
  return expires == '' or tonumber(expires) > now
end

local function line(number, id)
  return int(number) .. ':' .. id
end

-- Numbers the creation and lists it for its payer, in one step where the list may be touched here.
local function list_creation(list, id)
  local number = microseconds() - FIRST_MICROSECOND
  while redis.call('ZCOUNT', list, int(number), int(number)) > 0 do number = number + 1 end
  redis.call('ZADD', list, int(number), line(number, id))
  return number
end

-- KEYS: record, expiry index, and but in a cluster the payer's list.
-- ARGV: given time, JSON of kind, id and payer, id, value, ttl ms, version wanted, token of this put, entry of a listed creation,
--       whether a list comes first
function ops.put(K, A)
  local now = clock(A[1])
  local before = redis.call('HMGET', K[1], 'entry', 'version', 'created', 'expires', 'token')
  if before[5] == A[7] then return { 'put', before[2] } end
  local live = before[1] and is_live(before[4], now)
  local version = live and tonumber(before[2]) or 0
  if A[6] ~= '' and tonumber(A[6]) ~= version then return { 'changed' } end

  local entry = before[1]
  if not live or string.match(entry, '^%d+ (.*)$') ~= A[2] then
    entry = A[8]
    if entry ~= '' then
      -- Once the sweep may have taken the listed creation for a failed one, it cannot be completed any more.
      if tonumber(redis.call('ZSCORE', K[2], entry) or '0') <= now then return { 'again' } end
    elseif K[3] then
      entry = int(list_creation(K[3], A[3])) .. ' ' .. A[2]
    else
      local number = int(microseconds() - FIRST_MICROSECOND)
      entry = number .. ' ' .. A[2]
      if A[9] == '1' then
        redis.call('ZADD', K[2], int(now + PENDING_MS), entry)
        return { 'list', entry, number }
      end
    end
  end

  local expires = A[5] == '' and '' or int(now + tonumber(A[5]))
  redis.call('HSET', K[1], 'entry', entry, 'version', int(version + 1), 'created', live and before[3] or int(now),
    'expires', expires, 'value', A[4], 'token', A[7])
  if expires == '' then
    redis.call('PERSIST', K[1])
    redis.call('ZREM', K[2], entry)
  else
    redis.call('PEXPIRE', K[1], int(tonumber(A[5]) + UNSWEPT_MS))
    redis.call('ZADD', K[2], expires, entry)
  end
  if before[1] and before[1] ~= entry then redis.call('ZADD', K[2], 0, before[1]) end
  -- What is remembered of an account's callers no longer holds: all processes hear it in the step that changes it.
  if string.sub(A[2], 1, 9) == '["rules",' then redis.call('PUBLISH', 'tollgate:keys', A[3]) end
  -- A run that changed; its id begins with its account's.
  if version > 0 and string.sub(A[2], 1, 7) == '["run",' then redis.call('PUBLISH', 'tollgate:keys', string.match(A[3], '^%S+')) end
  return { 'put', int(version + 1) }
end

-- KEYS: the payer's list. ARGV: number, id. Answers 0 where the number is another creation's.
function ops.list_line(K, A)
  local own = line(tonumber(A[1]), A[2])
  if redis.call('ZCOUNT', K[1], A[1], A[1]) > 0 and not redis.call('ZSCORE', K[1], own) then return 0 end
  redis.call('ZADD', K[1], A[1], own)
  return 1
end

-- KEYS: record. ARGV: given time. Answers entry, version, created, expires, value; or nothing.
function ops.get(K, A)
  local row = redis.call('HMGET', K[1], 'entry', 'version', 'created', 'expires', 'value')
  if not row[1] or not is_live(row[4], clock(A[1])) then return {} end
  return row
end

-- KEYS: record. ARGV: given time. Answers how many bytes its value has; -1 where it is not there.
function ops.size(K, A)
  local row = redis.call('HMGET', K[1], 'entry', 'expires')
  if not row[1] or not is_live(row[2], clock(A[1])) then return -1 end
  return redis.call('HSTRLEN', K[1], 'value')
end

-- KEYS: record, expiry index, this delete's own key. ARGV: given time
function ops.delete(K, A)
  if redis.call('EXISTS', K[3]) == 1 then return 1 end
  local row = redis.call('HMGET', K[1], 'entry', 'expires')
  if not row[1] then return 0 end
  local live = is_live(row[2], clock(A[1]))
  redis.call('DEL', K[1])
  redis.call('ZADD', K[2], 0, row[1])
  if not live then return 0 end
  redis.call('SET', K[3], '', 'PX', DELETED_MS)
  return 1
end

-- How many of a share's records are looked at in one go, the first ones first.
local SHARED_AT_ONCE = 64

-- KEYS: what stands in a share by the end of its time, and how many bytes that is together.
-- ARGV: given time, id, bytes, most bytes, ttl ms, whether the newest stays out where it is full.
-- Answers whether there is room, and the ids of those that gave way.
function ops.share(K, A)
  local now, own = clock(A[1]), A[3] .. ':' .. A[2]
  local bytes, most = tonumber(A[3]), tonumber(A[4])
  local used = tonumber(redis.call('GET', K[2]) or '0')
  local answer = { 'put' }
  -- Sent twice, it counts once.
  if redis.call('ZSCORE', K[1], own) then return answer end
  while used + bytes > most and bytes <= most do
    local oldest = redis.call('ZRANGE', K[1], 0, SHARED_AT_ONCE - 1, 'WITHSCORES')
    local leaving = {}
    for at = 1, #oldest, 2 do
      local live = tonumber(oldest[at + 1]) > now
      if used + bytes <= most or (live and A[6] ~= '') then break end
      local counted, id = string.match(oldest[at], '^(%d+):(.*)$')
      leaving[#leaving + 1] = oldest[at]
      if live then answer[#answer + 1] = id end
      used = used - tonumber(counted)
    end
    if #leaving == 0 then break end
    redis.call('ZREM', K[1], unpack(leaving))
  end
  if used + bytes > most then
    answer[1] = 'full'
  else
    used = used + bytes
    redis.call('ZADD', K[1], int(now + tonumber(A[5])), own)
  end
  redis.call('SET', K[2], int(used), 'PX', int(tonumber(A[5]) + UNSWEPT_MS))
  redis.call('PEXPIRE', K[1], int(tonumber(A[5]) + UNSWEPT_MS))
  return answer
end

-- KEYS: expiry index. ARGV: given time, count. Answers entries whose time has come.
function ops.due(K, A)
  return redis.call('ZRANGEBYSCORE', K[1], '-inf', int(clock(A[1])), 'LIMIT', 0, A[2])
end

-- KEYS: records. ARGV: given time, an entry for each. Removes what has expired; answers the entries that stand for nothing now.
function ops.bury(K, A)
  local now = clock(A[1])
  local gone = {}
  for at, key in ipairs(K) do
    local row = redis.call('HMGET', key, 'entry', 'expires')
    local own = row[1] == A[at + 1]
    if own and not is_live(row[2], now) then redis.call('DEL', key) end
    if not own or not is_live(row[2], now) then gone[#gone + 1] = A[at + 1] end
  end
  return gone
end
