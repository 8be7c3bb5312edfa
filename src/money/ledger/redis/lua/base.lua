-- The ledger's transitions inside of Redis: every check first, then writes that cannot fail. All keys of a call are of one account
-- and so of one slot; their names are made from the account's own, which is the one key that is declared.
-- What a script is told is named: `A[RESERVE.amount]`. These names, and what makes and reads the lines of a call, are made of
-- arguments.ts and lines.ts and stand before what uses them.
-- Money is in nano-USD, exact in doubles up to 2^53; it is written with %d, never with tostring. Replies are flat lists of strings.
local ops = {}

local DAY_MS = 86400000
local TOMBSTONE_MS = 6 * 3600 * 1000
local SKEW_MS_MAX = 30000
local LAST_USED_STEP_MS = 60000
local GRANTED_MAX = 9000000000000000
local NANO_PER_CENT = 10000000

-- A whole number as text: by way of the server's long, which is three times as fast as by its digits.
local function int(n)
  return n == 0 and '0' or string.format('%d', n)
end

-- What is kept as a number; 0 where there is nothing. To add converts a text once, where `tonumber` does it twice and is a call.
local function num(v)
  if not v or v == '' then return 0 end
  return v + 0
end

-- What the names of all keys of an account begin with; `account` is the name of its own.
local function base_of(account)
  return string.sub(account, 1, -3)
end

-- The place of a call, from its hold to its posting or its tombstone, and of every other posting.
local function call_key(account, id)
  return base_of(account) .. ':c:' .. id
end

-- The store's time. Of what the script is told, `gateway` is the caller's guarded time, `leapt` says that the clocks cannot be trusted,
-- `given` replaces the server's clock in tests.
local function clock(A)
  local now, given = nil, A[TIME.given]
  if given ~= '' then
    now = tonumber(given)
  else
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  if A[TIME.leapt] == '1' then
    return tonumber(A[TIME.gateway]), true
  end
  return now, false
end

-- Tells all processes that what they remember of an account no longer holds, in the step that changes it: whoever changed it may die
-- before he could say so.
local function tell_changed(name)
  redis.call('PUBLISH', 'tollgate:keys', string.sub(name, 4, -4))
end

local function civil_month(day)
  local shifted = day + 719468
  local era = math.floor(shifted / 146097)
  local doe = shifted - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local dom = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return year, month, dom
end

local function month_length(year, month)
  if month == 2 then
    return (year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)) and 29 or 28
  end
  return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end

-- First day of the period that `day` lies in, and the first day after it.
local function period_of(period, day)
  if period == 'day' then return day, day + 1 end
  if period == 'week' then
    local first = day - (day + 3) % 7
    return first, first + 7
  end
  local year, month, dom = civil_month(day)
  local first = day - (dom - 1)
  return first, first + month_length(year, month)
end

-- Whether the server's clock and the caller's are too far apart to begin or to end anything by them.
local function is_apart(now, A)
  return math.abs(now - A[TIME.gateway]) > SKEW_MS_MAX
end

-- The time that money is counted by: the server's, as far as the caller's own clock bears it out. A server that leaps ahead for a
-- moment would take accounts along for good, out of the periods that run.
local function money_time(A)
  return math.min((clock(A)), A[TIME.gateway] + SKEW_MS_MAX)
end

-- The account's own time, which never falls.
local function account_time(key, A)
  return math.max(num(redis.call('HGET', key, 'clk')), money_time(A))
end
