-- What calls of an account take of a minute, counted for all processes together. One hash for each account has the minute that runs.
local ops = {}
local KEPT_MS = 120000

local function minute_now()
  local time = redis.call('TIME')
  return math.floor(time[1] / 60), 60 - time[1] % 60
end

-- KEYS: the account's counts. ARGV: name, limit and amount of each. Answers 0 and the minute, or the place of the first that has no
-- room and in how many seconds the minute ends. Sent twice, it counts twice: too much, and never too little.
function ops.take(K, A)
  local minute, left = minute_now()
  if redis.call('HGET', K[1], 'minute') ~= tostring(minute) then
    redis.call('DEL', K[1])
    redis.call('HSET', K[1], 'minute', minute)
    redis.call('PEXPIRE', K[1], KEPT_MS)
  end
  for at = 1, #A, 3 do
    local taken = tonumber(redis.call('HGET', K[1], A[at]) or '0')
    if taken + A[at + 2] > tonumber(A[at + 1]) then return { (at + 2) / 3, left } end
  end
  for at = 1, #A, 3 do redis.call('HINCRBY', K[1], A[at], A[at + 2]) end
  return { 0, minute }
end

-- KEYS: the same. ARGV: the minute, then name and amount of each.
function ops.give_back(K, A)
  if redis.call('HGET', K[1], 'minute') ~= A[1] then return 0 end
  for at = 2, #A, 2 do
    if redis.call('HINCRBY', K[1], A[at], -A[at + 1]) < 0 then redis.call('HSET', K[1], A[at], 0) end
  end
  return 1
end
