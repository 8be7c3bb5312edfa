-- The life of a hold: placed, extended, renewed, and ended once, by whoever comes first.

-- Places a hold that is not known yet; what refuses it may be that it is.
local function place(name, A)
  local base = base_of(name)
  local now, leapt = clock(A[1], A[2], A[3])
  local key = key_of(base .. ':k', A[5])
  local day = math.floor(now / DAY_MS)
  local asked = { 'granted', 'spent', 'held', 'cap', 'frozen', 'clk', 'window', 'taken' }
  for slot = 17, #A, 3 do asked[#asked + 1] = 'slot:' .. A[slot] end
  local day_text = int(day)
  local from = ask_days(asked, A[5], day_text)
  local account = redis.call('HMGET', name, unpack(asked))
  if not account[1] then return { 'unknown_account' } end
  if not key then return { 'unknown_key' } end
  if account[5] == '1' then return { 'frozen' } end
  if key.paused then return { 'paused' } end
  if leapt or is_apart(now, A) then return { 'clock_skew' } end

  local at = math.max(num(account[6]), now)
  local days
  if at < (day + 1) * DAY_MS then
    days = days_in(asked, account, from)
  else
    -- The clock went back over midnight. The account's time did not.
    day = math.floor(at / DAY_MS)
    local again = {}
    day_text = int(day)
    ask_days(again, A[5], day_text)
    days = days_in(again, redis.call('HMGET', name, unpack(again)), 0)
  end
  local past
  if key.ceiling then
    local first, last = period_of(key.period, day)
    key.ends = last
    local spent, held, absorbed
    spent, held, absorbed, past = past_of(name, key, A[5], first, day)
    days.period_spent, days.period_held = days.spent + spent, days.held + held
    days.period_absorbed = days.absorbed + absorbed
  end
  local row = A[10] ~= '' and base .. ':i:' .. A[10] or ''
  if row ~= '' then
    local refused = idempotency_refusal(row, A[11], at)
    if refused then return refused end
  end
  local amount, held = num(A[6]), num(account[3])
  local writes = { 'clk', int(at), 'held', int(held + amount) }
  local outcome = { 'held' }
  if A[13] ~= '' then
    local seconds, most = num(A[14]), num(A[13])
    local window = math.floor(at / 1000 / seconds)
    local taken = num(account[7]) == window and num(account[8]) or 0
    local resets = int(math.ceil((window + 1) * seconds - at / 1000))
    if taken >= most then return { 'window', A[13], resets } end
    writes[5], writes[6], writes[7], writes[8] = 'window', int(window), 'taken', int(taken + 1)
    outcome[2], outcome[3] = int(most - taken - 1), resets
  end
  local scopes = {}
  for slot = 17, #A, 3 do
    local at_slot = #scopes + 1
    local taken = num(account[8 + at_slot])
    if taken >= num(A[slot + 1]) then return { 'slots', A[slot + 2], A[slot + 1] } end
    scopes[at_slot] = A[slot]
    writes[#writes + 1] = asked[8 + at_slot]
    writes[#writes + 1] = int(taken + 1)
  end
  local refused = money_refusal({
    key = key, days = days, inference = A[8], day = day, amount = amount,
    granted = num(account[1]), spent = num(account[2]), held = held, cap = num(account[4]),
  })
  if refused then return refused end

  local hold = hold_text(A[6], '0', day_text, A[5], A[8], A[15], A[16], table.concat(scopes, '\t'), A[10], A[9])
  local known = redis.call('SET', base .. ':c:' .. A[4], hold, 'NX', 'GET')
  if known then return { 'exists', state_in(known) } end
  write_days(writes, days, A[8], amount)
  redis.call('HSET', name, unpack(writes))
  redis.call('HSET', base .. ':l', A[4], int(now + A[7]))
  if key.used == 0 or at - key.used >= LAST_USED_STEP_MS then redis.call('HSET', base .. ':k', A[5] .. ':used', at) end
  if past then redis.call('HSET', base .. ':k', A[5] .. ':past', past) end
  if row ~= '' then
    redis.call('DEL', row)
    redis.call('HSET', row, 'state', 'held', 'fingerprint', A[11], 'hold', A[4], 'effect', A[15], 'lapses', at + tonumber(A[12]))
    -- It is kept beyond its lapse for as long as its own call could run; whoever asks knows by `lapses` what it still means.
    redis.call('PEXPIRE', row, tonumber(A[12]) + TOMBSTONE_MS)
  end
  return outcome
end

-- ARGV: gateway time, leapt, given time, hold id, key id, amount, lease ms, inference, meta, idempotency key, fingerprint, keep ms,
--       window limit, window seconds, effect, on expire; then scope, most and code of each slot
function ops.reserve(KEYS_, A)
  local outcome = place(KEYS_[1], A)
  if outcome[1] == 'held' or outcome[1] == 'unknown_account' then return outcome end
  local known = state_in(redis.call('GET', call_key(KEYS_[1], A[4])))
  return known and { 'exists', known } or outcome
end

-- Takes a hold, if there still is one, out of everything that it is counted in, and charges what is to be charged: its posting,
-- and all sums that it is counted in. Nothing is posted where `charged` is nil. Answers cents and the balance that is left.
local function end_hold(name, id, hold, now, charged, absorbed, words)
  local base = base_of(name)
  local asked = { 'granted', 'spent', 'held', 'absorbed', 'clk', 'seq', 'absorbed_from' }
  for scope in string.gmatch(hold.slots, '[^\t]+') do asked[#asked + 1] = 'slot:' .. scope end
  local from = ask_days(asked, hold.key, hold.day)
  local account = redis.call('HMGET', name, unpack(asked))
  local writes = { 'held', int(num(account[3]) - hold.amount) }
  for slot = 8, from do
    writes[#writes + 1] = asked[slot]
    writes[#writes + 1] = int(math.max(0, num(account[slot]) - 1))
  end
  write_days(writes, days_in(asked, account, from), hold.inference, -hold.amount, charged, charged and absorbed > 0 and absorbed)
  redis.call('HDEL', base .. ':l', id)
  forget_past(name, hold.key, hold.day, account[5])
  if not charged then
    redis.call('HSET', name, unpack(writes))
    return
  end
  local spent, seq, at = num(account[2]), num(account[6]) + 1, math.max(num(account[5]), now)
  local cents = math.ceil((spent + charged) / NANO_PER_CENT) - math.ceil(spent / NANO_PER_CENT)
  if absorbed > 0 then
    writes[#writes + 1] = 'absorbed'
    writes[#writes + 1] = int(num(account[4]) + absorbed)
    -- Releases before this one counted in no window what was absorbed: the days are made of postings from this one on.
    if not account[7] then
      writes[#writes + 1] = 'absorbed_from'
      writes[#writes + 1] = int(seq)
    end
  end
  redis.call('HSET', name, 'spent', int(spent + charged), 'clk', int(at), 'seq', int(seq), unpack(writes))
  write_posting(base .. ':c:' .. id, 'charge', at, hold.key, charged, cents, absorbed, seq, hold.day, hold.inference,
    absorbed > 0 and words.absorb_reason or '', words.reason, hold.meta, words.detail)
  redis.call('ZADD', base .. ':x', int(seq), id)
  return cents, num(account[1]) - spent - charged
end

-- A call that costs more than this above its hold overruns it; after so many of one day the account's bounds are strict.
local OVERRUN_NANO = NANO_PER_CENT
local OVERRUNS_MAX = 3

-- Counts a posting that has absorbed much. Answers whether the account's bounds are strict since this one.
local function becomes_strict(name, absorbed, now)
  if absorbed <= OVERRUN_NANO then return false end
  local account = redis.call('HMGET', name, 'clk', 'overruns', 'strict')
  local day = int(math.floor(math.max(num(account[1]), now) / DAY_MS))
  local of_day, count = string.match(account[2] or '', '^(%d+) (%d+)$')
  count = of_day == day and count + 1 or 1
  redis.call('HSET', name, 'overruns', day .. ' ' .. int(count))
  if count < OVERRUNS_MAX or account[3] == '1' then return false end
  redis.call('HSET', name, 'strict', '1')
  tell_changed(name)
  return true
end

local function post_hold(name, id, hold, now, wanted, words)
  local charged = math.min(wanted, hold.amount)
  local absorbed = wanted - charged
  end_idempotency(name, hold.idempotency, id, 'posted')
  local cents, balance = end_hold(name, id, hold, now, charged, absorbed, words)
  local strict = becomes_strict(name, absorbed, now) and '1' or '0'
  return { 'posted', '0', int(charged), int(cents), int(absorbed), int(balance), strict }
end

-- ARGV: gateway time, leapt, given time, hold id, amount, detail, absorb reason.
function ops.post(KEYS_, A)
  local text = redis.call('GET', call_key(KEYS_[1], A[4]))
  local hold = hold_in(text)
  if hold then
    local words = { detail = A[6], absorb_reason = A[7], reason = '' }
    return post_hold(KEYS_[1], A[4], hold, money_time(A), num(A[5]), words)
  end
  if not text then return { 'missing' } end
  local kind, amount, cents, absorbed = string.match(text, POSTED)
  if not kind then return { state_in(text) } end
  if kind ~= 'charge' then return { 'missing' } end
  local account = redis.call('HMGET', KEYS_[1], 'granted', 'spent')
  return { 'posted', '1', amount, cents, absorbed, int(num(account[1]) - num(account[2])) }
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
  local from = ask_period(asked, key, hold.key, hold.day, tonumber(hold.day))
  local account = redis.call('HMGET', name, unpack(asked))
  local days = days_in(asked, account, from)
  local room = num(account[1]) - num(account[2]) - num(account[3])
  if key.ceiling then
    room = math.min(room, key.ceiling - days.period_spent - days.period_held - days.period_absorbed)
  end
  if hold.inference == '1' then room = math.min(room, num(account[4]) - days.all_spent - days.all_held - days.all_absorbed) end
  return math.max(0, room)
end

-- Charges for a call whose hold the store has lost, or whose lease ended while its process could not reach the store. ARGV: those of
-- `post`, then key id, inference, meta, when the hold was placed, its amount, its idempotency id, fingerprint, keep ms, effect, and the
-- reason of the posting
function ops.settle_orphan(KEYS_, A)
  local name = KEYS_[1]
  local state = state_in(redis.call('GET', call_key(name, A[4])))
  if (state and state ~= 'expired') or redis.call('EXISTS', name) == 0 then return ops.post(KEYS_, A) end
  local at = account_time(name, A)
  local day = int(math.floor(math.min(tonumber(A[11]), at) / DAY_MS))
  local hold = { amount = 0, key = A[8], inference = A[9], meta = A[10], day = day, slots = '' }
  local wanted = tonumber(A[5])
  local charged = math.min(wanted, tonumber(A[12]), room_for(name, hold))
  restore_idempotency(name, A[13], A[4], 'posted', at, A[14], A[15], A[16])
  local cents, balance = end_hold(name, A[4], hold, at, charged, wanted - charged,
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
    local asked, day = { 'granted', 'spent', 'held', 'cap', 'frozen', 'clk' }, tonumber(hold.day)
    local from = ask_period(asked, key, hold.key, hold.day, day)
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
    write_days(writes, days, hold.inference, more)
    redis.call('HSET', name, unpack(writes))
    forget_past(name, hold.key, day, account[6])
  end
  hold.amount = hold.amount + more
  hold.accrued = math.min(hold.amount, math.max(hold.accrued, tonumber(A[6])))
  local now = clock(A[1], A[2], A[3])
  redis.call('SET', call, hold_text(int(hold.amount), int(hold.accrued), hold.day, hold.key, hold.inference, hold.effect,
    hold.on_expire, hold.slots, hold.idempotency, hold.meta))
  redis.call('HSET', base .. ':l', A[4], int(now + A[7]))
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

-- ARGV: gateway time, leapt, given time, count. Answers the ids of holds whose lease has ended; none while the clocks are apart: by the
-- server's, set ahead, every lease would have ended before it could be renewed.
function ops.overdue(KEYS_, A)
  local now, leapt = clock(A[1], A[2], A[3])
  if leapt or is_apart(now, A) then return {} end
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
  local now = clock(A[1], A[2], A[3])
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
    post_hold(name, A[4], hold, money_time(A), hold.accrued, { detail = A[5], absorb_reason = '', reason = 'its lease ended' })
  end
  return { 'ended' }
end
