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
  return n == 0 and '0' or string.format('%.0f', n)
end

local function num(v)
  return tonumber(v or '0') or 0
end

-- What the names of all keys of an account begin with; `account` is the name of its own.
local function base_of(account)
  return string.sub(account, 1, -3)
end

-- The place of a call, from its hold to its posting or its tombstone, and of every other posting.
local function call_key(account, id)
  return base_of(account) .. ':c:' .. id
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

-- Adds to the fields to be read what a key and all inference have spent and hold on a day; and what the key has on the other days
-- from `first` up to `last`, where these are given. Answers where they begin.
local function ask_days(asked, key_id, day, first, last)
  local of_key, from = 'key:' .. key_id .. ':', #asked
  local own, all = of_key .. day, 'inference:' .. day
  asked[from + 1], asked[from + 2], asked[from + 3], asked[from + 4] = own .. 's', own .. 'h', all .. 's', all .. 'h'
  for other = first or 0, (last or 0) - 1 do
    if other ~= day then
      asked[#asked + 1] = of_key .. other .. 's'
      asked[#asked + 1] = of_key .. other .. 'h'
    end
  end
  return from
end

-- What these fields say. `period_spent` and `period_held` are of all days that were asked for.
local function days_in(asked, values, from)
  local days = { asked = asked, from = from, spent = num(values[from + 1]), held = num(values[from + 2]),
    all_spent = num(values[from + 3]), all_held = num(values[from + 4]) }
  days.period_spent, days.period_held = days.spent, days.held
  for at = from + 5, #values, 2 do
    days.period_spent = days.period_spent + num(values[at])
    days.period_held = days.period_held + num(values[at + 1])
  end
  return days
end

-- Adds what a day of a key then holds, and has spent where that changes, to the fields to be written; and all inference's where the
-- call counts there.
local function write_days(writes, days, inference, spent, held)
  local asked, from, at = days.asked, days.from, #writes
  writes[at + 1], writes[at + 2] = asked[from + 2], days.held + held
  if spent then writes[at + 3], writes[at + 4] = asked[from + 1], days.spent + spent end
  if inference ~= '1' then return end
  at = #writes
  writes[at + 1], writes[at + 2] = asked[from + 4], days.all_held + held
  if spent then writes[at + 3], writes[at + 4] = asked[from + 3], days.all_spent + spent end
end

-- A key's row is kept as JSON that only its owner reads whole; what admission asks for stands before it.
local function key_of(keys, id)
  local row = redis.call('HMGET', keys, id .. ':paused', id .. ':ceiling', id .. ':period', id .. ':used')
  if not row[1] then return nil end
  local ceiling = row[2]
  if not ceiling or ceiling == '' then ceiling = nil end
  return { paused = row[1] == '1', ceiling = ceiling and tonumber(ceiling) or nil, period = row[3] or 'day', used = num(row[4]) }
end

-- The days that a wish for money of this key has to be compared with: its whole period where it has a ceiling.
local function ask_period(asked, key, key_id, day)
  if not key.ceiling then return ask_days(asked, key_id, day) end
  local first, last = period_of(key.period, day)
  key.ends = last
  return ask_days(asked, key_id, day, first, last)
end

-- Ceiling, inference cap and balance, in this order; nil where the amount has room.
local function money_refusal(a)
  local days = a.days
  if a.key.ceiling and days.period_spent + days.period_held + a.amount > a.key.ceiling then
    return { 'ceiling', a.key.period, int(a.key.ceiling), int(days.period_spent), int(days.period_held), int(a.key.ends * DAY_MS) }
  end
  if a.inference == '1' and days.all_spent + days.all_held + a.amount > a.cap then
    return { 'inference_cap', int(a.cap), int(days.all_spent), int(days.all_held), int((a.day + 1) * DAY_MS) }
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

local function end_idempotency(account, key, hold_id, state)
  if key == '' then return end
  local row = base_of(account) .. ':i:' .. key
  if redis.call('HGET', row, 'hold') == hold_id then redis.call('HSET', row, 'state', state) end
end

-- A call is kept as lines, of which the first is its state: `held`, `posted`, `voided` or `expired`. What follows is written by
-- `write_hold` and `write_posting`; in the place of a posting that is in the archive stand its amounts alone.
local HOLD = '^held\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$'
local POSTED = '^posted\n([^\n]*)\n[^\n]*\n[^\n]*\n([^\n]*)\n([^\n]*)\n([^\n]*)\n'
local CREATED = '^posted\n[^\n]*\n([^\n]*)'

local function state_in(text)
  return text and string.match(text, '^%a+') or nil
end

local function write_hold(call, amount, accrued, day, key, inference, effect, on_expire, slots, idempotency, meta)
  redis.call('SET', call, table.concat({ 'held', amount, accrued, day, key, inference, effect, on_expire, slots, idempotency, meta }, '\n'))
end

local function hold_in(text)
  if not text then return nil end
  local amount, accrued, day, key, inference, effect, on_expire, slots, idempotency, meta = string.match(text, HOLD)
  if not amount then return nil end
  return { amount = tonumber(amount), accrued = tonumber(accrued), day = day, key = key, inference = inference,
    effect = effect, on_expire = on_expire, slots = slots, idempotency = idempotency, meta = meta }
end

local function write_posting(call, kind, at, key, amount, cents, absorbed, seq, day, inference, absorb_reason, reason, meta, detail)
  redis.call('SET', call, table.concat({ 'posted', kind, int(at), key, int(amount), int(cents), int(absorbed), int(seq), day, inference,
    absorb_reason, reason, meta, detail }, '\n'))
end

local function bury(call, state)
  redis.call('SET', call, state, 'PX', TOMBSTONE_MS)
end

-- ARGV: gateway time, leapt, given time, hold id, key id, amount, lease ms, inference, meta, idempotency key, fingerprint, keep ms,
--       window limit, window seconds, effect, on expire; then scope, most and code of each slot
function ops.reserve(KEYS_, A)
  local name = KEYS_[1]
  local base = base_of(name)
  local now, leapt = clock(A[1], A[2], A[3])
  local key = key_of(base .. ':k', A[5])
  local day = math.floor(now / DAY_MS)
  local asked = { 'granted', 'spent', 'held', 'cap', 'frozen', 'clk', 'window', 'taken' }
  for slot = 17, #A, 3 do asked[#asked + 1] = 'slot:' .. A[slot] end
  local from = key and ask_period(asked, key, A[5], day)
  local account = redis.call('HMGET', name, unpack(asked))
  if not account[1] then return { 'unknown_account' } end
  local call = base .. ':c:' .. A[4]
  local known = state_in(redis.call('GET', call))
  if known then return { 'exists', known } end
  if not key then return { 'unknown_key' } end
  if account[5] == '1' then return { 'frozen' } end
  if key.paused then return { 'paused' } end
  if leapt or math.abs(now - tonumber(A[1])) > SKEW_MS_MAX then return { 'clock_skew' } end

  local at = math.max(num(account[6]), now)
  local days
  if at < (day + 1) * DAY_MS then
    days = days_in(asked, account, from)
  else
    -- The clock went back over midnight. The account's time did not.
    day = math.floor(at / DAY_MS)
    local again = {}
    ask_period(again, key, A[5], day)
    days = days_in(again, redis.call('HMGET', name, unpack(again)), 0)
  end
  local row = A[10] ~= '' and base .. ':i:' .. A[10] or ''
  if row ~= '' then
    local refused = idempotency_refusal(row, A[11], at)
    if refused then return refused end
  end
  local amount, held = tonumber(A[6]), num(account[3])
  local writes = { 'clk', at, 'held', held + amount }
  if A[13] ~= '' then
    local seconds = tonumber(A[14])
    local window = math.floor(at / 1000 / seconds)
    local taken = num(account[7]) == window and num(account[8]) or 0
    if taken >= tonumber(A[13]) then return { 'window', A[13], int(math.ceil((window + 1) * seconds - at / 1000)) } end
    writes[5], writes[6], writes[7], writes[8] = 'window', window, 'taken', taken + 1
  end
  local scopes = {}
  for slot = 17, #A, 3 do
    local at_slot = #scopes + 1
    local taken = num(account[8 + at_slot])
    if taken >= tonumber(A[slot + 1]) then return { 'slots', A[slot + 2], A[slot + 1] } end
    scopes[at_slot] = A[slot]
    writes[#writes + 1] = asked[8 + at_slot]
    writes[#writes + 1] = taken + 1
  end
  local refused = money_refusal({
    key = key, days = days, inference = A[8], day = day, amount = amount,
    granted = num(account[1]), spent = num(account[2]), held = held, cap = num(account[4]),
  })
  if refused then return refused end

  write_days(writes, days, A[8], nil, amount)
  redis.call('HSET', name, unpack(writes))
  write_hold(call, A[6], '0', day, A[5], A[8], A[15], A[16], table.concat(scopes, '\t'), A[10], A[9])
  redis.call('HSET', base .. ':l', A[4], now + tonumber(A[7]))
  if key.used == 0 or at - key.used >= LAST_USED_STEP_MS then redis.call('HSET', base .. ':k', A[5] .. ':used', at) end
  if row ~= '' then
    redis.call('DEL', row)
    redis.call('HSET', row, 'state', 'held', 'fingerprint', A[11], 'hold', A[4], 'effect', A[15], 'lapses', at + tonumber(A[12]))
    -- It is kept beyond its lapse for as long as its own call could run; whoever asks knows by `lapses` what it still means.
    redis.call('PEXPIRE', row, tonumber(A[12]) + TOMBSTONE_MS)
  end
  return { 'held' }
end

-- Takes a hold, if there still is one, out of everything that it is counted in, and charges what is to be charged: its posting,
-- and all sums that it is counted in. Nothing is posted where `charged` is nil. Answers cents and the balance that is left.
local function end_hold(name, id, hold, now, charged, absorbed, words)
  local base = base_of(name)
  local asked = { 'granted', 'spent', 'held', 'absorbed', 'clk', 'seq' }
  for scope in string.gmatch(hold.slots, '[^\t]+') do asked[#asked + 1] = 'slot:' .. scope end
  local from = ask_days(asked, hold.key, hold.day)
  local account = redis.call('HMGET', name, unpack(asked))
  local writes = { 'held', num(account[3]) - hold.amount }
  for slot = 7, from do
    writes[#writes + 1] = asked[slot]
    writes[#writes + 1] = math.max(0, num(account[slot]) - 1)
  end
  write_days(writes, days_in(asked, account, from), hold.inference, charged, -hold.amount)
  redis.call('HDEL', base .. ':l', id)
  if not charged then
    redis.call('HSET', name, unpack(writes))
    return
  end
  local spent, seq, at = num(account[2]), num(account[6]) + 1, math.max(num(account[5]), now)
  local cents = math.ceil((spent + charged) / NANO_PER_CENT) - math.ceil(spent / NANO_PER_CENT)
  if absorbed > 0 then
    writes[#writes + 1] = 'absorbed'
    writes[#writes + 1] = num(account[4]) + absorbed
  end
  redis.call('HSET', name, 'spent', spent + charged, 'clk', at, 'seq', seq, unpack(writes))
  write_posting(base .. ':c:' .. id, 'charge', at, hold.key, charged, cents, absorbed, seq, hold.day, hold.inference,
    absorbed > 0 and words.absorb_reason or '', words.reason, hold.meta, words.detail)
  redis.call('ZADD', base .. ':x', seq, id)
  return cents, num(account[1]) - spent - charged
end

local function post_hold(name, id, hold, now, wanted, words)
  local charged = math.min(wanted, hold.amount)
  end_idempotency(name, hold.idempotency, id, 'posted')
  local cents, balance = end_hold(name, id, hold, now, charged, wanted - charged, words)
  return { 'posted', '0', int(charged), int(cents), int(wanted - charged), int(balance) }
end

-- The account's own time, which never falls.
local function account_time(key, A)
  local now = clock(A[1], A[2], A[3])
  return math.max(num(redis.call('HGET', key, 'clk')), now), now
end

-- ARGV: gateway time, leapt, given time, hold id, amount, detail, absorb reason.
function ops.post(KEYS_, A)
  local text = redis.call('GET', call_key(KEYS_[1], A[4]))
  local hold = hold_in(text)
  if hold then
    local words = { detail = A[6], absorb_reason = A[7], reason = '' }
    return post_hold(KEYS_[1], A[4], hold, (clock(A[1], A[2], A[3])), tonumber(A[5]), words)
  end
  if not text then return { 'missing' } end
  local kind, amount, cents, absorbed = string.match(text, POSTED)
  if not kind then return { state_in(text) } end
  if kind ~= 'charge' then return { 'missing' } end
  local account = redis.call('HMGET', KEYS_[1], 'granted', 'spent')
  return { 'posted', '1', amount, cents, absorbed, int(num(account[1]) - num(account[2])) }
end

-- The record of an idempotency key whose hold was lost, as the hold's end would have left it. `at` is when the hold ended.
local function restore_idempotency(name, id, hold_id, state, at, fingerprint, keep_ms, effect)
  if not id or id == '' then return end
  local row = base_of(name) .. ':i:' .. id
  if redis.call('EXISTS', row) == 1 then return end_idempotency(name, id, hold_id, state) end
  redis.call('HSET', row, 'state', state, 'fingerprint', fingerprint, 'hold', hold_id, 'effect', effect,
    'lapses', at + tonumber(keep_ms))
  redis.call('PEXPIRE', row, tonumber(keep_ms) + TOMBSTONE_MS)
end

-- ARGV: gateway time, leapt, given time, hold id, key fate; and, where the hold may have been lost: idempotency id, fingerprint,
-- keep ms, effect
function ops.void(KEYS_, A)
  local name, call = KEYS_[1], call_key(KEYS_[1], A[4])
  local text = redis.call('GET', call)
  local hold = hold_in(text)
  local fate = A[5] == 'free' and 'voided' or A[5]
  if hold then
    end_hold(name, A[4], hold)
    end_idempotency(name, hold.idempotency, A[4], fate)
    bury(call, 'voided')
    return { 'voided' }
  end
  local state = state_in(text)
  if state then return { state == 'voided' and 'exists' or state } end
  bury(call, 'voided')
  if fate ~= 'voided' then restore_idempotency(name, A[6], A[4], fate, account_time(name, A), A[7], A[8], A[9]) end
  return { 'voided' }
end

-- ARGV: gateway time, leapt, given time, hold id
function ops.state(KEYS_, A)
  return { state_in(redis.call('GET', call_key(KEYS_[1], A[4]))) or 'missing' }
end

-- What may still be charged to a day of a key: the least of what is free in the account, the key's period and the inference cap.
local function room_for(name, hold)
  local key = key_of(base_of(name) .. ':k', hold.key) or {}
  local asked = { 'granted', 'spent', 'held', 'cap' }
  local from = ask_period(asked, key, hold.key, hold.day)
  local account = redis.call('HMGET', name, unpack(asked))
  local days = days_in(asked, account, from)
  local room = num(account[1]) - num(account[2]) - num(account[3])
  if key.ceiling then room = math.min(room, key.ceiling - days.period_spent - days.period_held) end
  if hold.inference == '1' then room = math.min(room, num(account[4]) - days.all_spent - days.all_held) end
  return math.max(0, room)
end

-- Charges for a call whose hold the store has lost, or whose lease ended while its process could not reach the store. ARGV: those of
-- `post`, then key id, inference, meta, when the hold was placed, its amount, its idempotency id, fingerprint, keep ms, effect, and the
-- reason of the posting
function ops.settle_orphan(KEYS_, A)
  local name = KEYS_[1]
  local state = state_in(redis.call('GET', call_key(name, A[4])))
  if (state and state ~= 'expired') or redis.call('EXISTS', name) == 0 then return ops.post(KEYS_, A) end
  local at, now = account_time(name, A)
  local day = math.floor(math.min(tonumber(A[11]), at) / DAY_MS)
  local hold = { amount = 0, key = A[8], inference = A[9], meta = A[10], day = day, slots = '' }
  local wanted = tonumber(A[5])
  local charged = math.min(wanted, tonumber(A[12]), room_for(name, hold))
  restore_idempotency(name, A[13], A[4], 'posted', at, A[14], A[15], A[16])
  local cents, balance = end_hold(name, A[4], hold, now, charged, wanted - charged,
    { detail = A[6], absorb_reason = A[17], reason = A[17] })
  return { 'posted', '0', int(charged), int(cents), int(wanted - charged), int(balance) }
end

-- ARGV: gateway time, leapt, given time, hold id, the amount that it is to have, accrued, lease ms
function ops.extend(KEYS_, A)
  local name, call = KEYS_[1], call_key(KEYS_[1], A[4])
  local base = base_of(name)
  local text = redis.call('GET', call)
  local hold = hold_in(text)
  if not hold then
    return { 'gone', state_in(text) or 'missing' }
  end
  local more = math.max(0, tonumber(A[5]) - hold.amount)
  if more > 0 then
    local key = key_of(base .. ':k', hold.key)
    if not key then return { 'unknown_key' } end
    local asked, day = { 'granted', 'spent', 'held', 'cap', 'frozen' }, tonumber(hold.day)
    local from = ask_period(asked, key, hold.key, day)
    local account = redis.call('HMGET', name, unpack(asked))
    if account[5] == '1' then return { 'frozen' } end
    if key.paused then return { 'paused' } end
    local days = days_in(asked, account, from)
    local refused = money_refusal({
      key = key, days = days, inference = hold.inference, day = day, amount = more,
      granted = num(account[1]), spent = num(account[2]), held = num(account[3]), cap = num(account[4]),
    })
    if refused then return refused end
    local writes = { 'held', num(account[3]) + more }
    write_days(writes, days, hold.inference, nil, more)
    redis.call('HSET', name, unpack(writes))
  end
  hold.amount = hold.amount + more
  hold.accrued = math.min(hold.amount, math.max(hold.accrued, tonumber(A[6])))
  local _, now = account_time(name, A)
  write_hold(call, int(hold.amount), int(hold.accrued), hold.day, hold.key, hold.inference, hold.effect, hold.on_expire,
    hold.slots, hold.idempotency, hold.meta)
  redis.call('HSET', base .. ':l', A[4], now + tonumber(A[7]))
  return { 'extended', int(hold.amount) }
end

-- ARGV: gateway time, leapt, given time, lease ms, hold ids. Answers the ids that are no longer held.
function ops.renew(KEYS_, A)
  local leases = base_of(KEYS_[1]) .. ':l'
  local now = clock(A[1], A[2], A[3])
  local gone = {}
  for at = 5, #A do
    if redis.call('HEXISTS', leases, A[at]) == 1 then
      redis.call('HSET', leases, A[at], now + tonumber(A[4]))
    else
      gone[#gone + 1] = A[at]
    end
  end
  return gone
end

-- An account's leases, the first to end before the others.
local function leases_of(name)
  local flat = redis.call('HGETALL', base_of(name) .. ':l')
  local leases = {}
  for at = 1, #flat, 2 do leases[#leases + 1] = { id = flat[at], ends = tonumber(flat[at + 1]) } end
  table.sort(leases, function(a, b) return a.ends < b.ends or (a.ends == b.ends and a.id < b.id) end)
  return leases
end

-- ARGV: gateway time, leapt, given time, count. Answers the ids of holds whose lease has ended.
function ops.overdue(KEYS_, A)
  local now, leapt = clock(A[1], A[2], A[3])
  if leapt then return {} end
  local ended = {}
  for _, lease in ipairs(leases_of(KEYS_[1])) do
    if lease.ends > now or #ended == tonumber(A[4]) then break end
    ended[#ended + 1] = lease.id
  end
  return ended
end

-- When the first lease of an account ends; '' where it holds nothing.
function ops.first_end(KEYS_)
  local first = leases_of(KEYS_[1])[1]
  return { first and int(first.ends) or '' }
end

-- Ends one hold whose lease has ended. ARGV: gateway time, leapt, given time, hold id, detail of a posting
function ops.expire(KEYS_, A)
  local name, call = KEYS_[1], call_key(KEYS_[1], A[4])
  local leases = base_of(name) .. ':l'
  local at, now = account_time(name, A)
  local hold = hold_in(redis.call('GET', call))
  local ends = redis.call('HGET', leases, A[4])
  if not hold then
    if ends then redis.call('HDEL', leases, A[4]) end
    return { 'gone' }
  end
  if not ends or tonumber(ends) > now then return { 'live' } end
  if hold.on_expire == 'void' then
    end_hold(name, A[4], hold)
    end_idempotency(name, hold.idempotency, A[4], 'expired')
    bury(call, 'expired')
  else
    post_hold(name, A[4], hold, at, hold.accrued, { detail = A[5], absorb_reason = '', reason = 'its lease ended' })
  end
  return { 'ended' }
end

local function write_new_key(keys, at, id, profile, paused, ceiling, period, external)
  redis.call('HSET', keys, id, profile, id .. ':paused', paused, id .. ':ceiling', ceiling, id .. ':period', period,
    id .. ':created', int(at))
  if external ~= '' then redis.call('HSET', keys, 'external:' .. external, id) end
end

local function credit(name, at, id, kind, amount, reference, detail)
  local account = redis.call('HMGET', name, 'granted', 'seq')
  local seq = num(account[2]) + 1
  redis.call('HSET', name, 'granted', num(account[1]) + amount, 'clk', at, 'seq', seq)
  redis.call('HSET', base_of(name) .. ':r', kind .. ':' .. reference, id)
  write_posting(call_key(name, id), kind, at, '', amount, 0, 0, seq, '', '', '', '', '', detail)
  redis.call('ZADD', base_of(name) .. ':x', seq, id)
end

-- ARGV: gateway time, leapt, given time, posting id of the opening credit, credit, its detail, name, kind, cap, requests a minute,
-- calls in flight, key id, profile, ceiling, period, external id, what stands in `about`
function ops.open(KEYS_, A)
  local name = KEYS_[1]
  if redis.call('EXISTS', name) == 1 then return { 'exists' } end
  local now = clock(A[1], A[2], A[3])
  redis.call('HSET', name, 'name', A[7], 'kind', A[8], 'cap', A[9], 'rpm', A[10], 'in_flight', A[11], 'frozen', '0',
    'created', now, 'about', A[17], 'granted', '0', 'spent', '0', 'held', '0', 'absorbed', '0', 'clk', now, 'seq', '0')
  write_new_key(base_of(name) .. ':k', now, A[12], A[13], '0', A[14], A[15], A[16])
  if tonumber(A[5]) > 0 then credit(name, now, A[4], 'topup', tonumber(A[5]), 'opening credit', A[6]) end
  return { 'opened' }
end

-- ARGV: gateway time, leapt, given time, key id, profile, ceiling, period, external id
function ops.create_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  if redis.call('EXISTS', KEYS_[1]) == 0 then return { 'unknown_account' } end
  if redis.call('HEXISTS', keys, A[4]) == 1 then return { 'created' } end
  if A[8] ~= '' and redis.call('HEXISTS', keys, 'external:' .. A[8]) == 1 then return { 'external_id_taken' } end
  write_new_key(keys, clock(A[1], A[2], A[3]), A[4], A[5], '0', A[6], A[7], A[8])
  return { 'created' }
end

-- Replaces what a key is, where it still is what it was read as. ARGV: key id, profile before, profile, paused, ceiling, period
function ops.write_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  local before = redis.call('HGET', keys, A[1])
  if not before then return { 'missing' } end
  if before ~= A[2] then return { 'changed' } end
  redis.call('HSET', keys, A[1], A[3], A[1] .. ':paused', A[4], A[1] .. ':ceiling', A[5], A[1] .. ':period', A[6])
  return { 'written' }
end

-- ARGV: key id, external id
function ops.delete_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  if redis.call('HEXISTS', keys, A[1]) == 0 then return { 'missing' } end
  redis.call('HDEL', keys, A[1], A[1] .. ':paused', A[1] .. ':ceiling', A[1] .. ':period', A[1] .. ':used', A[1] .. ':created')
  if A[2] ~= '' then redis.call('HDEL', keys, 'external:' .. A[2]) end
  return { 'deleted' }
end

-- ARGV: gateway time, leapt, given time, id, kind, amount, reference, detail
function ops.credit(KEYS_, A)
  local name = KEYS_[1]
  local account = redis.call('HMGET', name, 'granted', 'spent')
  if not account[1] then return { 'unknown_account' } end
  local granted, spent = num(account[1]), num(account[2])
  local before = redis.call('HGET', base_of(name) .. ':r', A[5] .. ':' .. A[7])
  if before then return { 'exists', int(granted - spent), before } end
  local amount = tonumber(A[6])
  if A[5] == 'topup' and granted + amount > GRANTED_MAX then return { 'too_much' } end
  credit(name, (account_time(name, A)), A[4], A[5], amount, A[7], A[8])
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
-- is left or held, when the first that is left was made ('' for none), then id and text by turns.
function ops.archivable(KEYS_, A)
  local name, base = KEYS_[1], base_of(KEYS_[1])
  local now = clock(A[1], A[2], A[3])
  local account = redis.call('HMGET', name, 'archived', 'seq')
  local ids = redis.call('ZRANGEBYSCORE', base .. ':x', '(' .. int(num(account[1])), '+inf', 'LIMIT', 0, A[4])
  local beyond = num(account[2]) - tonumber(A[6])
  local found, left = {}, ''
  for at, id in ipairs(ids) do
    local text = redis.call('GET', base .. ':c:' .. id) or ''
    local created = string.match(text, CREATED) or ''
    local age = now - num(created)
    if age < tonumber(A[7]) or (age < tonumber(A[5]) and num(account[1]) + at > beyond) then
      left = created
      break
    end
    found[#found + 1] = id
    found[#found + 1] = text
  end
  local busy = left ~= '' or #ids == tonumber(A[4]) or redis.call('EXISTS', base .. ':l') == 1
  return { int(now), int(num(account[1])), busy and '1' or '0', left, unpack(found) }
end

-- Once a day: day sums that no ceiling asks for any more, of keys and of all inference. A day that still holds something stays.
local DAYS_KEPT = 62

local function prune_days(name, day)
  local first = day - DAYS_KEPT
  if num(redis.call('HGET', name, 'days_from')) >= first then return end
  local flat = redis.call('HGETALL', name)
  local held, old = {}, {}
  for at = 1, #flat, 2 do
    local scope, of, what = string.match(flat[at], '^([ki].*:(%d+))([sh])$')
    if scope and tonumber(of) < first then
      old[#old + 1] = { scope, flat[at] }
      if what == 'h' and num(flat[at + 1]) ~= 0 then held[scope] = true end
    end
  end
  for _, field in ipairs(old) do
    if not held[field[1]] then redis.call('HDEL', name, field[2]) end
  end
  redis.call('HSET', name, 'days_from', first)
end

-- Takes postings that are in the archive out of Redis; what they add up to stays. ARGV: gateway time, leapt, given time, number of
-- the last archived as it was read, number of the last to go now
function ops.trim(KEYS_, A)
  local name, base = KEYS_[1], base_of(KEYS_[1])
  local from, to = tonumber(A[4]), tonumber(A[5])
  local asked = { 'archived', 'archived_charged', 'archived_credited', 'archived_cents', 'archived_absorbed' }
  local before = redis.call('HMGET', name, unpack(asked))
  if num(before[1]) >= to then return { 'repeated' } end
  if num(before[1]) ~= from then return { 'changed' } end
  local ids = redis.call('ZRANGEBYSCORE', base .. ':x', '(' .. A[4], A[5])
  if #ids ~= to - from then return { 'changed' } end
  local sums = { charged = num(before[2]), credited = num(before[3]), cents = num(before[4]), absorbed = num(before[5]) }
  local ends = {}
  for at, id in ipairs(ids) do
    local kind, amount, cents, absorbed = string.match(redis.call('GET', base .. ':c:' .. id) or '', POSTED)
    if not kind then return { 'changed' } end
    local sum = kind == 'charge' and 'charged' or 'credited'
    sums[sum] = sums[sum] + num(amount)
    sums.cents = sums.cents + num(cents)
    sums.absorbed = sums.absorbed + num(absorbed)
    ends[at] = kind == 'charge' and table.concat({ 'posted', kind, '', '', amount, cents, absorbed, '' }, '\n') or ''
  end

  for at, id in ipairs(ids) do
    if ends[at] == '' then
      redis.call('DEL', base .. ':c:' .. id)
    else
      bury(base .. ':c:' .. id, ends[at])
    end
  end
  redis.call('ZREMRANGEBYSCORE', base .. ':x', '(' .. A[4], A[5])
  redis.call('HSET', name, 'archived', to, 'archived_charged', sums.charged, 'archived_credited', sums.credited,
    'archived_cents', sums.cents, 'archived_absorbed', sums.absorbed)
  local at = account_time(name, A)
  prune_days(name, math.floor(at / DAY_MS))
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
