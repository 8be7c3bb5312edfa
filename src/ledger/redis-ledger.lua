-- The ledger's transitions inside of Redis: every check first, then writes that cannot fail. All keys of a call are of one account
-- and so of one slot; their names are made from the account's own, which is the one key that is declared.
-- Money is in nano-USD, exact in doubles up to 2^53; it is written with %.0f, never with tostring. Replies are flat lists of strings.
local ops = {}

local DAY_MS = 86400000
local TOMBSTONE_MS = 6 * 3600 * 1000
local SKEW_MS_MAX = 30000
local LAST_USED_STEP_MS = 60000
local GRANTED_MAX = 9000000000000000
local NANO_PER_CENT = 10000000

local function int(n)
  return string.format('%.0f', n)
end

local function num(v)
  return tonumber(v or '0') or 0
end

-- The names of an account's keys; `id` is that of a hold, and of the posting that it becomes.
local function names(account, id)
  local base = string.sub(account, 1, -3)
  return {
    account = account, keys = base .. ':k', days = base .. ':d', leases = base .. ':hx', slots = base .. ':s', list = base .. ':x',
    references = base .. ':r', window = base .. ':w',
    hold = base .. ':h:' .. id, tombstone = base .. ':t:' .. id, posting = base .. ':p:' .. id,
    idempotency = function(key) return base .. ':i:' .. key end,
  }
end

local INFERENCE = 'inference'
local function scope_of(key_id)
  return 'key:' .. key_id
end

-- The store's time. `gateway` is the caller's guarded time, `leapt` says that the clocks cannot be trusted, `given` replaces
-- the server's clock in tests.
local function clock(gateway, leapt, given)
  local now
  if given ~= '' then
    now = tonumber(given)
  else
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  if leapt == '1' then
    return tonumber(gateway), true
  end
  return now, false
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

local function day_field(scope, day, what)
  return scope .. ':' .. day .. what
end

-- What a scope has spent and holds from the first day up to the end.
local function sum_days(key, scope, first, last)
  local fields = {}
  for day = first, last - 1 do
    fields[#fields + 1] = day_field(scope, int(day), 's')
    fields[#fields + 1] = day_field(scope, int(day), 'h')
  end
  local values = redis.call('HMGET', key, unpack(fields))
  local spent, held = 0, 0
  for at = 1, #values, 2 do
    spent = spent + num(values[at])
    held = held + num(values[at + 1])
  end
  return spent, held
end

-- A key's row is kept as JSON that only its owner reads whole; what admission asks for stands before it.
local function key_of(keys, id)
  local row = redis.call('HMGET', keys, id .. ':paused', id .. ':ceiling', id .. ':period', id .. ':used')
  if redis.call('HEXISTS', keys, id) == 0 then return nil end
  local ceiling = row[2]
  if not ceiling or ceiling == '' then ceiling = nil end
  return { paused = row[1] == '1', ceiling = ceiling and tonumber(ceiling) or nil, period = row[3] or 'day', used = num(row[4]) }
end

-- Ceiling, inference cap and balance, in this order; nil where the amount has room.
local function money_refusal(a)
  if a.key.ceiling then
    local first, last = period_of(a.key.period, a.day)
    local spent, held = sum_days(a.days, scope_of(a.key_id), first, last)
    if spent + held + a.amount > a.key.ceiling then
      return { 'ceiling', a.key.period, int(a.key.ceiling), int(spent), int(held), int(last * DAY_MS) }
    end
  end
  if a.inference then
    local spent, held = sum_days(a.days, INFERENCE, a.day, a.day + 1)
    if spent + held + a.amount > a.cap then
      return { 'inference_cap', int(a.cap), int(spent), int(held), int((a.day + 1) * DAY_MS) }
    end
  end
  local balance = a.granted - a.spent
  local free = balance - a.held
  if free < a.amount then
    return { 'insufficient', int(free), int(a.held), int(balance) }
  end
  return nil
end

-- What an earlier call under the same idempotency key means for this one; nil: run it.
local function idempotency_refusal(row, fingerprint, at)
  local before = redis.call('HMGET', row, 'state', 'fingerprint', 'hold', 'effect', 'lapses')
  local state = before[1]
  if not state then return nil end
  if state ~= 'held' and num(before[5]) <= at then return nil end
  if state == 'voided' or (state == 'expired' and before[4] == 'read') then return nil end
  if before[2] ~= fingerprint then return { 'idempotency_mismatch' } end
  if state == 'held' then return { 'idempotency_in_progress' } end
  if state == 'posted' or state == 'answered' then return { 'idempotency_done', before[3] } end
  return { 'idempotency_unknown', before[3] }
end

local function end_idempotency(row, hold_id, state)
  if row == '' then return end
  if redis.call('HGET', row, 'hold') == hold_id then redis.call('HSET', row, 'state', state) end
end

-- What a tombstone says: voided, expired, or `posted` with what was charged, where the posting is in the archive; or nil.
local function tombstone_of(K)
  local text = redis.call('GET', K.tombstone)
  if not text then return nil end
  local words = {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  return words[1], words
end

local function is_posted(K)
  return redis.call('EXISTS', K.posting) == 1 or tombstone_of(K) == 'posted'
end

-- How a hold stands: held, posted, voided, expired, or nil.
local function state_of(K)
  if redis.call('EXISTS', K.hold) == 1 then return 'held' end
  if redis.call('EXISTS', K.posting) == 1 then return 'posted' end
  return (tombstone_of(K))
end

-- Adds an amount to what a hold's days hold ('h') or have spent ('s').
local function count_days(K, hold, what, amount)
  redis.call('HINCRBY', K.days, day_field(scope_of(hold.key), hold.day, what), amount)
  if hold.inference == '1' then redis.call('HINCRBY', K.days, day_field(INFERENCE, hold.day, what), amount) end
end

-- The window of requests that runs at `at`: its number, what it has counted, and when it ends.
local function window_at(key, at, seconds)
  local number = math.floor(at / 1000 / seconds)
  local taken = redis.call('HMGET', key, 'window', 'count')
  local count = taken[1] == int(number) and num(taken[2]) or 0
  return int(number), count, math.ceil((number + 1) * seconds - at / 1000)
end

-- ARGV: gateway time, leapt, given time, hold id, key id, amount, lease ms, inference, meta, slots JSON, idempotency key,
--       fingerprint, keep ms, window limit, window seconds, effect, on expire, owner
function ops.reserve(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local account = redis.call('HMGET', K.account, 'granted', 'spent', 'held', 'cap', 'frozen', 'clk')
  if not account[1] then return { 'unknown_account' } end
  local known = state_of(K)
  if known then return { 'exists', known } end
  local key = key_of(K.keys, A[5])
  if not key then return { 'unknown_key' } end
  if account[5] == '1' then return { 'frozen' } end
  if key.paused then return { 'paused' } end
  local now, leapt = clock(A[1], A[2], A[3])
  if leapt or math.abs(now - tonumber(A[1])) > SKEW_MS_MAX then return { 'clock_skew' } end

  local at = math.max(num(account[6]), now)
  local day = math.floor(at / DAY_MS)
  local row = A[11] ~= '' and K.idempotency(A[11]) or ''
  if row ~= '' then
    local refused = idempotency_refusal(row, A[12], at)
    if refused then return refused end
  end
  local window, taken
  if A[14] ~= '' then
    local ends_in
    window, taken, ends_in = window_at(K.window, at, tonumber(A[15]))
    if taken >= tonumber(A[14]) then return { 'window', A[14], int(ends_in) } end
  end
  local slots = cjson.decode(A[10])
  for _, slot in ipairs(slots) do
    if num(redis.call('HGET', K.slots, slot.scope)) >= slot.max then return { 'slots', slot.code, int(slot.max) } end
  end
  local inference = A[8] == '1'
  local refused = money_refusal({
    key = key, key_id = A[5], days = K.days, inference = inference, day = day, amount = tonumber(A[6]),
    granted = num(account[1]), spent = num(account[2]), held = num(account[3]), cap = num(account[4]),
  })
  if refused then return refused end

  redis.call('HSET', K.account, 'clk', int(at))
  redis.call('HINCRBY', K.account, 'held', A[6])
  count_days(K, { key = A[5], day = int(day), inference = A[8] }, 'h', A[6])
  local scopes = {}
  for _, slot in ipairs(slots) do
    redis.call('HINCRBY', K.slots, slot.scope, 1)
    scopes[#scopes + 1] = slot.scope
  end
  redis.call('HSET', K.hold, 'amount', A[6], 'accrued', '0', 'day', int(day), 'key', A[5], 'inference', A[8],
    'slots', #scopes == 0 and '[]' or cjson.encode(scopes), 'meta', A[9], 'effect', A[16], 'on_expire', A[17], 'owner', A[18],
    'created', int(at), 'idempotency', row)
  redis.call('ZADD', K.leases, int(now + tonumber(A[7])), A[4])
  if key.used == 0 or at - key.used >= LAST_USED_STEP_MS then redis.call('HSET', K.keys, A[5] .. ':used', int(at)) end
  if row ~= '' then
    redis.call('DEL', row)
    redis.call('HSET', row, 'state', 'held', 'fingerprint', A[12], 'hold', A[4], 'effect', A[16], 'lapses', int(at + tonumber(A[13])))
    -- It is kept beyond its lapse for as long as its own call could run; whoever asks knows by `lapses` what it still means.
    redis.call('PEXPIRE', row, int(tonumber(A[13]) + TOMBSTONE_MS))
  end
  if window then
    redis.call('HSET', K.window, 'window', window, 'count', int(taken + 1))
    redis.call('EXPIRE', K.window, int(tonumber(A[15]) * 2))
  end
  return { 'held' }
end

-- Takes a hold out of everything that it was counted in.
local function remove_hold(K, hold, hold_id)
  -- There is no -0 among Redis' integers.
  local amount = hold.amount == '0' and '0' or '-' .. hold.amount
  redis.call('HINCRBY', K.account, 'held', amount)
  count_days(K, hold, 'h', amount)
  for _, scope in ipairs(cjson.decode(hold.slots)) do
    if redis.call('HINCRBY', K.slots, scope, -1) <= 0 then redis.call('HDEL', K.slots, scope) end
  end
  redis.call('DEL', K.hold)
  redis.call('ZREM', K.leases, hold_id)
end

local HOLD_FIELDS = { 'amount', 'accrued', 'day', 'key', 'inference', 'slots', 'meta', 'effect', 'on_expire', 'created', 'idempotency' }

local function read_hold(key)
  local values = redis.call('HMGET', key, unpack(HOLD_FIELDS))
  if not values[1] then return nil end
  local hold = {}
  for at, name in ipairs(HOLD_FIELDS) do hold[name] = values[at] end
  return hold
end

-- The next number of the account's postings, and the places that remember it.
local function append(K, at, id, key_id, kind, amount, cents, absorbed, fields)
  local seq = redis.call('HINCRBY', K.account, 'seq', 1)
  redis.call('HSET', K.posting, 'kind', kind, 'created', int(at), 'key', key_id, 'amount', int(amount), 'cents', int(cents),
    'absorbed', int(absorbed), 'seq', seq, unpack(fields))
  redis.call('ZADD', K.list, seq, id)
  if key_id ~= '' then redis.call('ZADD', K.list .. ':' .. key_id, seq, id) end
  return seq
end

-- The posting of a charge, and all sums that it is counted in.
local function charge(K, hold, hold_id, at, charged, absorbed, words)
  local account = redis.call('HMGET', K.account, 'granted', 'spent')
  local spent = num(account[2])
  local cents = math.ceil((spent + charged) / NANO_PER_CENT) - math.ceil(spent / NANO_PER_CENT)
  redis.call('HINCRBY', K.account, 'spent', int(charged))
  if absorbed > 0 then redis.call('HINCRBY', K.account, 'absorbed', int(absorbed)) end
  redis.call('HSET', K.account, 'clk', int(at))
  count_days(K, hold, 's', int(charged))
  append(K, at, hold_id, hold.key, 'charge', charged, cents, absorbed,
    { 'day', hold.day, 'inference', hold.inference, 'meta', hold.meta, 'detail', words.detail,
      'absorb_reason', absorbed > 0 and words.absorb_reason or '', 'reason', words.reason })
  return charged, cents, absorbed, num(account[1]) - spent - charged
end

local function post_hold(K, hold, hold_id, at, wanted, detail, absorb_reason, reason)
  local charged = math.min(wanted, tonumber(hold.amount))
  remove_hold(K, hold, hold_id)
  end_idempotency(hold.idempotency, hold_id, 'posted')
  return charge(K, hold, hold_id, at, charged, wanted - charged,
    { detail = detail, absorb_reason = absorb_reason, reason = reason })
end

-- The account's own time, which never falls.
local function account_time(key, A)
  local now = clock(A[1], A[2], A[3])
  return math.max(num(redis.call('HGET', key, 'clk')), now), now
end

-- ARGV: gateway time, leapt, given time, hold id, amount, detail, absorb reason.
function ops.post(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local hold = read_hold(K.hold)
  if hold then
    local charged, cents, absorbed, balance = post_hold(K, hold, A[4], account_time(K.account, A), tonumber(A[5]), A[6], A[7], '')
    return { 'posted', '0', int(charged), int(cents), int(absorbed), int(balance) }
  end
  local before = redis.call('HMGET', K.posting, 'kind', 'amount', 'cents', 'absorbed')
  local state, words = tombstone_of(K)
  if state == 'posted' then before = { 'charge', words[2], words[3], words[4] } end
  if before[1] == 'charge' then
    local account = redis.call('HMGET', K.account, 'granted', 'spent')
    return { 'posted', '1', before[2], before[3], before[4], int(num(account[1]) - num(account[2])) }
  end
  return { state or 'missing' }
end

local function bury(K, hold_id, state)
  redis.call('SET', K.tombstone, state, 'PX', TOMBSTONE_MS)
end

-- The record of an idempotency key whose hold was lost, as the hold's end would have left it. `at` is when the hold ended.
local function restore_idempotency(K, id, hold_id, state, at, fingerprint, keep_ms, effect)
  if not id or id == '' then return end
  local row = K.idempotency(id)
  if redis.call('EXISTS', row) == 1 then return end_idempotency(row, hold_id, state) end
  redis.call('HSET', row, 'state', state, 'fingerprint', fingerprint, 'hold', hold_id, 'effect', effect,
    'lapses', int(at + tonumber(keep_ms)))
  redis.call('PEXPIRE', row, int(tonumber(keep_ms) + TOMBSTONE_MS))
end

-- ARGV: gateway time, leapt, given time, hold id, key fate; and, where the hold may have been lost: idempotency id, fingerprint,
-- keep ms, effect
function ops.void(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local hold = read_hold(K.hold)
  local fate = A[5] == 'free' and 'voided' or A[5]
  if hold then
    remove_hold(K, hold, A[4])
    end_idempotency(hold.idempotency, A[4], fate)
    bury(K, A[4], 'voided')
    return { 'voided' }
  end
  if is_posted(K) then return { 'posted' } end
  local tombstone = tombstone_of(K)
  if tombstone == 'expired' then return { 'expired' } end
  if tombstone then return { 'exists' } end
  bury(K, A[4], 'voided')
  if fate ~= 'voided' then restore_idempotency(K, A[6], A[4], fate, account_time(K.account, A), A[7], A[8], A[9]) end
  return { 'voided' }
end

-- ARGV: gateway time, leapt, given time, hold id
function ops.state(KEYS_, A)
  return { state_of(names(KEYS_[1], A[4])) or 'missing' }
end

-- What may still be charged to a day of a key: the least of what is free in the account, the key's period and the inference cap.
local function room_for(K, hold)
  local account = redis.call('HMGET', K.account, 'granted', 'spent', 'held', 'cap')
  local room = num(account[1]) - num(account[2]) - num(account[3])
  local key = key_of(K.keys, hold.key)
  if key and key.ceiling then
    local first, last = period_of(key.period, tonumber(hold.day))
    local spent, held = sum_days(K.days, scope_of(hold.key), first, last)
    room = math.min(room, key.ceiling - spent - held)
  end
  if hold.inference == '1' then
    local spent, held = sum_days(K.days, INFERENCE, tonumber(hold.day), tonumber(hold.day) + 1)
    room = math.min(room, num(account[4]) - spent - held)
  end
  return math.max(0, room)
end

-- Charges for a call whose hold the store has lost, or whose lease ended while its process could not reach the store. ARGV: those of
-- `post`, then key id, inference, meta, when the hold was placed, its amount, its idempotency id, fingerprint, keep ms, effect, and the
-- reason of the posting
function ops.settle_orphan(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local state = state_of(K)
  if (state and state ~= 'expired') or redis.call('EXISTS', K.account) == 0 then return ops.post(KEYS_, A) end
  local at = account_time(K.account, A)
  local day = math.floor(math.min(tonumber(A[11]), at) / DAY_MS)
  local hold = { key = A[8], inference = A[9], meta = A[10], day = int(day) }
  local wanted = tonumber(A[5])
  local charged = math.min(wanted, tonumber(A[12]), room_for(K, hold))
  restore_idempotency(K, A[13], A[4], 'posted', at, A[14], A[15], A[16])
  local _, cents, absorbed, balance = charge(K, hold, A[4], at, charged, wanted - charged,
    { detail = A[6], absorb_reason = A[17], reason = A[17] })
  return { 'posted', '0', int(charged), int(cents), int(absorbed), int(balance) }
end

-- ARGV: gateway time, leapt, given time, hold id, the amount that it is to have, accrued, lease ms
function ops.extend(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local hold = read_hold(K.hold)
  if not hold then
    return { 'gone', state_of(K) or 'missing' }
  end
  local before = tonumber(hold.amount)
  local more = math.max(0, tonumber(A[5]) - before)
  if more > 0 then
    local key = key_of(K.keys, hold.key)
    if not key then return { 'unknown_key' } end
    local account = redis.call('HMGET', K.account, 'granted', 'spent', 'held', 'cap', 'frozen')
    if account[5] == '1' then return { 'frozen' } end
    if key.paused then return { 'paused' } end
    local refused = money_refusal({
      key = key, key_id = hold.key, days = K.days, inference = hold.inference == '1', day = tonumber(hold.day), amount = more,
      granted = num(account[1]), spent = num(account[2]), held = num(account[3]), cap = num(account[4]),
    })
    if refused then return refused end
    redis.call('HINCRBY', K.account, 'held', int(more))
    count_days(K, hold, 'h', int(more))
  end
  local amount = before + more
  local accrued = math.min(amount, math.max(num(hold.accrued), tonumber(A[6])))
  local _, now = account_time(K.account, A)
  redis.call('HSET', K.hold, 'amount', int(amount), 'accrued', int(accrued))
  redis.call('ZADD', K.leases, int(now + tonumber(A[7])), A[4])
  return { 'extended', int(amount) }
end

-- ARGV: gateway time, leapt, given time, lease ms, hold ids. Answers the ids that are no longer held.
function ops.renew(KEYS_, A)
  local K = names(KEYS_[1], '')
  local now = clock(A[1], A[2], A[3])
  local gone = {}
  for at = 5, #A do
    if redis.call('ZSCORE', K.leases, A[at]) then
      redis.call('ZADD', K.leases, int(now + tonumber(A[4])), A[at])
    else
      gone[#gone + 1] = A[at]
    end
  end
  return gone
end

-- ARGV: gateway time, leapt, given time, count. Answers the ids of holds whose lease has ended.
function ops.overdue(KEYS_, A)
  local now, leapt = clock(A[1], A[2], A[3])
  if leapt then return {} end
  return redis.call('ZRANGEBYSCORE', names(KEYS_[1], '').leases, '-inf', int(now), 'LIMIT', 0, A[4])
end

-- Ends one hold whose lease has ended. ARGV: gateway time, leapt, given time, hold id, detail of a posting
function ops.expire(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local at, now = account_time(K.account, A)
  local hold = read_hold(K.hold)
  local ends = redis.call('ZSCORE', K.leases, A[4])
  if not hold then
    if ends then redis.call('ZREM', K.leases, A[4]) end
    return { 'gone' }
  end
  if not ends or tonumber(ends) > now then return { 'live' } end
  if hold.on_expire == 'void' then
    remove_hold(K, hold, A[4])
    end_idempotency(hold.idempotency, A[4], 'expired')
    bury(K, A[4], 'expired')
  else
    post_hold(K, hold, A[4], at, num(hold.accrued), A[5], '', 'its lease ended')
  end
  return { 'ended' }
end

local function write_new_key(keys, at, id, profile, paused, ceiling, period, external)
  redis.call('HSET', keys, id, profile, id .. ':paused', paused, id .. ':ceiling', ceiling, id .. ':period', period,
    id .. ':created', int(at))
  if external ~= '' then redis.call('HSET', keys, 'external:' .. external, id) end
end

local function credit(K, at, id, kind, amount, reference, reason)
  redis.call('HINCRBY', K.account, 'granted', int(amount))
  redis.call('HSET', K.account, 'clk', int(at))
  redis.call('HSET', K.references, kind .. ':' .. reference, id)
  append(K, at, id, '', kind, amount, 0, 0, { 'reference', reference, 'reason', reason })
end

-- ARGV: gateway time, leapt, given time, posting id of the opening credit, credit, name, kind, cap, requests a minute, calls in
-- flight, key id, profile, ceiling, period, external id
function ops.open(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  if redis.call('EXISTS', K.account) == 1 then return { 'exists' } end
  local now = clock(A[1], A[2], A[3])
  redis.call('HSET', K.account, 'name', A[6], 'kind', A[7], 'cap', A[8], 'rpm', A[9], 'in_flight', A[10], 'frozen', '0',
    'created', int(now), 'granted', '0', 'spent', '0', 'held', '0', 'absorbed', '0', 'clk', int(now), 'seq', '0')
  write_new_key(K.keys, now, A[11], A[12], '0', A[13], A[14], A[15])
  if tonumber(A[5]) > 0 then credit(K, now, A[4], 'topup', tonumber(A[5]), 'opening credit', '') end
  return { 'opened' }
end

-- ARGV: gateway time, leapt, given time, key id, profile, ceiling, period, external id
function ops.create_key(KEYS_, A)
  local keys = names(KEYS_[1], '').keys
  if redis.call('EXISTS', KEYS_[1]) == 0 then return { 'unknown_account' } end
  if redis.call('HEXISTS', keys, A[4]) == 1 then return { 'created' } end
  if A[8] ~= '' and redis.call('HEXISTS', keys, 'external:' .. A[8]) == 1 then return { 'external_id_taken' } end
  write_new_key(keys, clock(A[1], A[2], A[3]), A[4], A[5], '0', A[6], A[7], A[8])
  return { 'created' }
end

-- Replaces what a key is, where it still is what it was read as. ARGV: key id, profile before, profile, paused, ceiling, period
function ops.write_key(KEYS_, A)
  local keys = names(KEYS_[1], '').keys
  local before = redis.call('HGET', keys, A[1])
  if not before then return { 'missing' } end
  if before ~= A[2] then return { 'changed' } end
  redis.call('HSET', keys, A[1], A[3], A[1] .. ':paused', A[4], A[1] .. ':ceiling', A[5], A[1] .. ':period', A[6])
  return { 'written' }
end

-- ARGV: key id, external id
function ops.delete_key(KEYS_, A)
  local keys = names(KEYS_[1], '').keys
  if redis.call('HEXISTS', keys, A[1]) == 0 then return { 'missing' } end
  redis.call('HDEL', keys, A[1], A[1] .. ':paused', A[1] .. ':ceiling', A[1] .. ':period', A[1] .. ':used', A[1] .. ':created')
  if A[2] ~= '' then redis.call('HDEL', keys, 'external:' .. A[2]) end
  return { 'deleted' }
end

-- ARGV: gateway time, leapt, given time, id, kind, amount, reference, reason
function ops.credit(KEYS_, A)
  local K = names(KEYS_[1], A[4])
  local account = redis.call('HMGET', K.account, 'granted', 'spent')
  if not account[1] then return { 'unknown_account' } end
  local granted, spent = num(account[1]), num(account[2])
  local before = redis.call('HGET', K.references, A[5] .. ':' .. A[7])
  if before then return { 'exists', int(granted - spent), before } end
  local amount = tonumber(A[6])
  if A[5] == 'topup' and granted + amount > GRANTED_MAX then return { 'too_much' } end
  credit(K, (account_time(K.account, A)), A[4], A[5], amount, A[7], A[8])
  return { 'credited', int(granted + amount - spent), A[4] }
end

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

-- KEYS: the index. ARGV: gateway time, leapt, given time, count. Answers accounts and the scores that they were found by.
function ops.due(KEYS_, A)
  local now = clock(A[1], A[2], A[3])
  return redis.call('ZRANGEBYSCORE', KEYS_[1], '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, A[4])
end

-- What of an account may leave for the archive: its postings in order, those of a charge's age or beyond what is kept.
-- ARGV: gateway time, leapt, given time, count, age ms, kept, least age ms. Answers: now, number of the last archived, whether anything
-- is left or held, when the first that is left was made ('' for none), then id and JSON of the fields by turns.
function ops.archivable(KEYS_, A)
  local K = names(KEYS_[1], '')
  local now = clock(A[1], A[2], A[3])
  local account = redis.call('HMGET', K.account, 'archived', 'seq')
  local ids = redis.call('ZRANGEBYSCORE', K.list, '(' .. int(num(account[1])), '+inf', 'LIMIT', 0, A[4])
  local beyond = num(account[2]) - tonumber(A[6])
  local found, left = {}, ''
  for at, id in ipairs(ids) do
    local flat = redis.call('HGETALL', names(KEYS_[1], id).posting)
    local fields = {}
    for field = 1, #flat, 2 do fields[flat[field]] = flat[field + 1] end
    local age = now - num(fields.created)
    if age < tonumber(A[7]) or (age < tonumber(A[5]) and num(account[1]) + at > beyond) then
      left = fields.created
      break
    end
    found[#found + 1] = id
    found[#found + 1] = cjson.encode(fields)
  end
  local busy = left ~= '' or #ids == tonumber(A[4]) or redis.call('EXISTS', K.leases) == 1
  return { int(now), int(num(account[1])), busy and '1' or '0', left, unpack(found) }
end

-- Once a day: day sums that no ceiling asks for any more. A day that still holds something stays.
local DAYS_KEPT = 62

local function prune_days(K, day)
  local first = day - DAYS_KEPT
  if num(redis.call('HGET', K.account, 'days_from')) >= first then return end
  local flat = redis.call('HGETALL', K.days)
  local held, old = {}, {}
  for at = 1, #flat, 2 do
    local name, of, what = string.match(flat[at], '^(.*:(%d+))([sh])$')
    if name and tonumber(of) < first then
      old[#old + 1] = { name, flat[at] }
      if what == 'h' and num(flat[at + 1]) ~= 0 then held[name] = true end
    end
  end
  for _, field in ipairs(old) do
    if not held[field[1]] then redis.call('HDEL', K.days, field[2]) end
  end
  redis.call('HSET', K.account, 'days_from', int(first))
end

-- Takes postings that are in the archive out of Redis; what they add up to stays. ARGV: gateway time, leapt, given time, number of
-- the last archived as it was read, number of the last to go now
function ops.trim(KEYS_, A)
  local K = names(KEYS_[1], '')
  local from, to = tonumber(A[4]), tonumber(A[5])
  local archived = num(redis.call('HGET', K.account, 'archived'))
  if archived >= to then return { 'repeated' } end
  if archived ~= from then return { 'changed' } end
  local ids = redis.call('ZRANGEBYSCORE', K.list, '(' .. A[4], A[5])
  if #ids ~= to - from then return { 'changed' } end
  local sums = { archived_charged = 0, archived_credited = 0, archived_cents = 0, archived_absorbed = 0 }
  local rows = {}
  for at, id in ipairs(ids) do
    local row = redis.call('HMGET', names(KEYS_[1], id).posting, 'kind', 'amount', 'cents', 'absorbed', 'key')
    if not row[1] then return { 'changed' } end
    rows[at] = row
    local sum = row[1] == 'charge' and 'archived_charged' or 'archived_credited'
    sums[sum] = sums[sum] + num(row[2])
    sums.archived_cents = sums.archived_cents + num(row[3])
    sums.archived_absorbed = sums.archived_absorbed + num(row[4])
  end

  for at, id in ipairs(ids) do
    local P, row = names(KEYS_[1], id), rows[at]
    if row[1] == 'charge' then bury(P, id, table.concat({ 'posted', row[2], row[3], row[4] }, ' ')) end
    redis.call('DEL', P.posting)
    if row[5] ~= '' then redis.call('ZREM', K.list .. ':' .. row[5], id) end
  end
  redis.call('ZREMRANGEBYSCORE', K.list, '(' .. A[4], A[5])
  for name, sum in pairs(sums) do redis.call('HINCRBY', K.account, name, int(sum)) end
  redis.call('HSET', K.account, 'archived', int(to))
  local at = account_time(K.account, A)
  prune_days(K, math.floor(at / DAY_MS))
  return { 'trimmed' }
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

-- One process at a time moves postings. KEYS: the index. ARGV: who asks, for how many ms; 0 gives it back.
function ops.exporter(KEYS_, A)
  local key = KEYS_[1] .. ':exporter'
  local holder = redis.call('GET', key)
  if holder and holder ~= A[1] then return { 'other', holder } end
  if tonumber(A[2]) > 0 then
    redis.call('SET', key, A[1], 'PX', A[2])
  elseif holder then
    redis.call('DEL', key)
  end
  return { 'own' }
end
