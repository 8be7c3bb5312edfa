-- The life of a hold: placed, extended, renewed, and ended once.

-- Places a new hold; an existing one is among the reasons for a refusal.
local function place(name, A)
  local base = base_of(name)
  local now, leapt = clock(A)
  local key_id, inference = A[RESERVE.key_id], A[RESERVE.inference]
  local key = key_of(base .. ':k', key_id)
  local day = math.floor(now / DAY_MS)
  local asked = { 'granted', 'spent', 'held', 'cap', 'frozen', 'clk', 'window', 'taken' }
  local before_slots = #asked
  for slot = RESERVE.rest, #A, 3 do asked[#asked + 1] = 'slot:' .. A[slot] end
  local day_text = int(day)
  local windows = windows_in(A[RESERVE.meta])
  local scopes = scopes_of(key_id, inference, windows)
  local from = ask_days(asked, scopes, day_text)
  local account = redis.call('HMGET', name, unpack(asked))
  local granted, spent, held, cap, frozen, clk, window_before, taken_before = unpack(account, 1, before_slots)
  if not granted then return { 'unknown_account' } end
  if not key then return { 'unknown_key' } end
  if frozen == '1' then return { 'frozen' } end
  if key.paused then return { 'paused' } end
  if leapt or is_apart(now, A) then return { 'clock_skew' } end

  local at = math.max(num(clk), now)
  -- The requested days, the reply, and where it begins: the key's first, then all inference's where the call counts there.
  local days, sums, own = asked, account, from
  if at >= (day + 1) * DAY_MS then
    -- The clock went back over midnight. The account's time did not.
    day = math.floor(at / DAY_MS)
    day_text, days, own = int(day), {}, 0
    ask_days(days, scopes, day_text)
    sums = redis.call('HMGET', name, unpack(days))
  end
  local past, of_period
  if key.ceiling then
    local first, last = period_of(key.period, day)
    key.ends = last
    local spent_before, held_before, absorbed_before
    spent_before, held_before, absorbed_before, past = past_of(name, key, key_id, first, day)
    of_period = { num(sums[own + 1]) + spent_before, num(sums[own + 2]) + held_before, num(sums[own + 3]) + absorbed_before }
  end
  local row = A[RESERVE.idempotency] ~= '' and base .. ':i:' .. A[RESERVE.idempotency] or ''
  if row ~= '' then
    local refused = idempotency_refusal(row, A[RESERVE.fingerprint], at)
    if refused then return refused end
  end
  local amount = num(A[RESERVE.amount])
  local writes = { 'clk', int(at), 'held', int(num(held) + amount) }
  local outcome = { 'held' }
  if A[RESERVE.window_limit] ~= '' then
    local seconds, most = num(A[RESERVE.window_seconds]), num(A[RESERVE.window_limit])
    local window = math.floor(at / 1000 / seconds)
    local taken = num(window_before) == window and num(taken_before) or 0
    local resets = int(math.ceil((window + 1) * seconds - at / 1000))
    if taken >= most then return { 'window', A[RESERVE.window_limit], resets } end
    writes[5], writes[6], writes[7], writes[8] = 'window', int(window), 'taken', int(taken + 1)
    outcome[2], outcome[3] = int(most - taken - 1), resets
  end
  local scopes = {}
  for slot = RESERVE.rest, #A, 3 do
    local scope, slots_max, code = A[slot], A[slot + 1], A[slot + 2]
    local field = before_slots + #scopes + 1
    local taken = num(account[field])
    if taken >= num(slots_max) then return { 'slots', code, slots_max } end
    scopes[#scopes + 1] = scope
    writes[#writes + 1] = asked[field]
    writes[#writes + 1] = int(taken + 1)
  end
  local refused = money_refusal({
    name = name, key = key, of_period = of_period, windows = windows, day = day, amount = amount,
    of_inference = inference == '1' and { num(sums[own + 4]), num(sums[own + 5]), num(sums[own + 6]) } or nil,
    granted = num(granted), spent = num(spent), held = num(held), cap = num(cap),
  })
  if refused then return refused end

  local hold = hold_text({
    amount = amount, accrued = 0, day = day_text, key = key_id, inference = inference, effect = A[RESERVE.effect],
    on_expire = A[RESERVE.on_expire], slots = table.concat(scopes, '\t'), idempotency = A[RESERVE.idempotency], meta = A[RESERVE.meta],
  })
  local known = redis.call('SET', base .. ':c:' .. A[RESERVE.hold_id], hold, 'NX', 'GET')
  if known then return { 'exists', state_in(known) } end
  write_days(writes, days, sums, own, amount)
  local left = left_of_runs(windows, sums, own, inference, 0)
  if left then outcome[2], outcome[3], outcome[4] = outcome[2] or '', outcome[3] or '', left end
  redis.call('HSET', name, unpack(writes))
  redis.call('HSET', base .. ':l', A[RESERVE.hold_id], int(now + A[RESERVE.lease_ms]))
  if key.used == 0 then tell_event(name, 'key.first_use', key_id, at, '{"key_id":"' .. key_id .. '"}') end
  if key.used == 0 or at - key.used >= LAST_USED_STEP_MS then redis.call('HSET', base .. ':k', key_id .. ':used', at) end
  if past then redis.call('HSET', base .. ':k', key_id .. ':past', past) end
  if row ~= '' then
    redis.call('DEL', row)
    redis.call('HSET', row, 'state', 'held', 'fingerprint', A[RESERVE.fingerprint], 'hold', A[RESERVE.hold_id], 'effect', A[RESERVE.effect], 'lapses', at + tonumber(A[RESERVE.keep_ms]))
    -- Kept beyond its expiry for as long as its call could run; `lapses` says what it means by then.
    redis.call('PEXPIRE', row, tonumber(A[RESERVE.keep_ms]) + TOMBSTONE_MS)
  end
  return outcome
end

-- An account's events, oldest first, then how many were taken.
function ops.told(KEYS_)
  return redis.call('LRANGE', base_of(KEYS_[1]) .. ':e', 0, 99)
end

function ops.drop_told(KEYS_, A)
  local list = base_of(KEYS_[1]) .. ':e'
  for at = 1, #A do
    if redis.call('LINDEX', list, 0) ~= A[at] then break end
    redis.call('LPOP', list)
  end
  return {}
end

function ops.reserve(KEYS_, A)
  local outcome = place(KEYS_[1], A)
  if outcome[1] == 'held' or outcome[1] == 'unknown_account' then return outcome end
  local known = state_in(redis.call('GET', call_key(KEYS_[1], A[RESERVE.hold_id])))
  if known then return { 'exists', known } end
  return outcome
end

-- Removes a hold, if it exists, from everything that counts it, and charges it: writes its posting, and all sums that count it.
-- Posts nothing where `charged` is nil. `upstream` is the call's cost to us, nil where unknown; `beside` is what another posting
-- charged for it, '' where this one has the whole cost. Returns cents, the remaining balance, whether marks were passed, and what its
-- runs have left.
local function end_hold(name, id, hold, upstream, beside, now, charged, absorbed, words)
  local base = base_of(name)
  local asked = { 'granted', 'spent', 'held', 'absorbed', 'clk', 'seq', 'absorbed_from' }
  local before_slots = #asked
  for scope in string.gmatch(hold.slots, '[^\t]+') do asked[#asked + 1] = 'slot:' .. scope end
  local windows, at_meta = windows_in(hold.meta)
  local from = ask_days(asked, scopes_of(hold.key, hold.inference, windows), hold.day)
  local account = redis.call('HMGET', name, unpack(asked))
  local granted, spent, held, absorbed_before, clk, seq, absorbed_from = unpack(account, 1, before_slots)
  local writes = { 'held', int(num(held) - hold.amount) }
  for slot = before_slots + 1, from do
    writes[#writes + 1] = asked[slot]
    writes[#writes + 1] = int(math.max(0, num(account[slot]) - 1))
  end
  write_days(writes, asked, account, from, -hold.amount, charged, charged and absorbed > 0 and absorbed)
  if upstream then count_cost(name, windows, hold.day, (charged or 0) + num(beside), upstream) end
  redis.call('HDEL', base .. ':l', id)
  forget_past(name, hold.key, hold.day, clk)
  if not charged then
    redis.call('HSET', name, unpack(writes))
    return
  end
  local at = math.max(num(clk), now)
  spent, seq = num(spent), num(seq) + 1
  local marked = #windows.marks > 0 and tells_marks(name, windows, tonumber(hold.day), num(granted) - spent, charged, absorbed, at)
  if marked then tell_changed(name) end
  local cents = math.ceil((spent + charged) / NANO_PER_CENT) - math.ceil(spent / NANO_PER_CENT)
  if absorbed > 0 then
    writes[#writes + 1] = 'absorbed'
    writes[#writes + 1] = int(num(absorbed_before) + absorbed)
    -- Earlier releases counted absorbed cost in no window: days include postings from this one on.
    if not absorbed_from then
      writes[#writes + 1] = 'absorbed_from'
      writes[#writes + 1] = int(seq)
    end
  end
  redis.call('HSET', name, 'spent', int(spent + charged), 'clk', int(at), 'seq', int(seq), unpack(writes))
  redis.call('SET', base .. ':c:' .. id, posting_text({
    kind = 'charge', at = at, key = hold.key, amount = charged, cents = cents, absorbed = absorbed, seq = seq, day = hold.day,
    inference = hold.inference, absorb_reason = absorbed > 0 and words.absorb_reason or '', reason = words.reason,
    -- A posting names in a line of its own the windows that it moved; windows of cost only where it has the whole cost.
    meta = at_meta and string.sub(hold.meta, 1, at_meta - 1) .. '}' or hold.meta, detail = words.detail,
    windows = (upstream and beside == '') and windows.counted or windows.counted_charges,
  }))
  redis.call('ZADD', base .. ':x', int(seq), id)
  local left = left_of_runs(windows, account, from, hold.inference, charged + absorbed)
  return cents, num(granted) - spent - charged, marked and '1' or '0', left
end

-- A call overruns its hold if it costs this much more; after this many overruns in one day the account's bounds are strict.
local OVERRUN_NANO = NANO_PER_CENT
local OVERRUNS_MAX = 3

-- Counts an overrun. Returns whether it makes the account's bounds strict.
local function becomes_strict(name, absorbed, now)
  if absorbed <= OVERRUN_NANO then return false end
  local clk, overruns, strict = unpack(redis.call('HMGET', name, 'clk', 'overruns', 'strict'))
  local day = int(math.floor(math.max(num(clk), now) / DAY_MS))
  local of_day, count = string.match(overruns or '', '^(%d+) (%d+)$')
  count = of_day == day and count + 1 or 1
  redis.call('HSET', name, 'overruns', day .. ' ' .. int(count))
  if count < OVERRUNS_MAX or strict == '1' then return false end
  redis.call('HSET', name, 'strict', '1')
  tell_changed(name)
  return true
end

local function post_hold(name, id, hold, upstream, beside, now, wanted, words)
  local charged = math.min(wanted, hold.amount)
  local absorbed = wanted - charged
  end_idempotency(name, hold.idempotency, id, 'posted')
  local cents, balance, marked, left = end_hold(name, id, hold, upstream, beside, now, charged, absorbed, words)
  local strict = becomes_strict(name, absorbed, now) and '1' or '0'
  return { 'posted', '0', int(charged), int(cents), int(absorbed), int(balance), strict, marked, left }
end

function ops.post(KEYS_, A)
  local text = redis.call('GET', call_key(KEYS_[1], A[POST.hold_id]))
  local hold = hold_in(text)
  if hold then
    local words = { detail = A[POST.detail], absorb_reason = A[POST.absorb_reason], reason = '' }
    return post_hold(KEYS_[1], A[POST.hold_id], hold, num(A[POST.upstream]), A[POST.beside], money_time(A), num(A[POST.amount]), words)
  end
  if not text then return { 'missing' } end
  local kind, amount, cents, absorbed = string.match(text, POSTED)
  if not kind then return { state_in(text) } end
  if kind ~= 'charge' then return { 'missing' } end
  local granted, spent = unpack(redis.call('HMGET', KEYS_[1], 'granted', 'spent'))
  return { 'posted', '1', amount, cents, absorbed, int(num(granted) - num(spent)) }
end

-- For a hold that may be lost, also takes its idempotency key, its meta and its time; otherwise these are empty.
function ops.void(KEYS_, A)
  local name, call = KEYS_[1], call_key(KEYS_[1], A[VOID.hold_id])
  local text = redis.call('GET', call)
  local hold = hold_in(text)
  local fate = A[VOID.fate] == 'free' and 'voided' or A[VOID.fate]
  if hold then
    end_hold(name, A[VOID.hold_id], hold, num(A[VOID.upstream]))
    end_idempotency(name, hold.idempotency, A[VOID.hold_id], fate)
    bury(call, 'voided')
    return { 'voided' }
  end
  local state = state_in(text)
  if state then return { state == 'voided' and 'exists' or state } end
  bury(call, 'voided')
  if A[VOID.meta] ~= '' then
    local day = int(math.floor(math.min(num(A[VOID.placed_at]), account_time(name, A)) / DAY_MS))
    count_cost(name, windows_in(A[VOID.meta]), day, 0, num(A[VOID.upstream]))
  end
  if fate ~= 'voided' then restore_idempotency(name, A[VOID.idempotency], A[VOID.hold_id], fate, account_time(name, A), A[VOID.fingerprint], A[VOID.keep_ms], A[VOID.effect]) end
  return { 'voided' }
end

function ops.state(KEYS_, A)
  return { state_in(redis.call('GET', call_key(KEYS_[1], A[STATE.hold_id]))) or 'missing' }
end

-- What can still be charged to a day of a key: the least that is free in the account, the key's period, the inference cap and the
-- hold's windows.
local function room_for(name, hold)
  local key, day = key_of(base_of(name) .. ':k', hold.key) or {}, tonumber(hold.day)
  local granted, spent, held, cap = unpack(redis.call('HMGET', name, 'granted', 'spent', 'held', 'cap'))
  local room = num(granted) - num(spent) - num(held)
  local function bound(most, sums)
    if sums then room = math.min(room, most - sums[1] - sums[2] - sums[3]) end
  end
  bound(key.ceiling, period_sums(name, key, hold.key, day))
  bound(num(cap), inference_sums(name, hold.inference, day))
  for _, window in ipairs(windows_in(hold.meta).bounds) do
    local first, last = period_of(window.period, day)
    bound(window.most, { sums_between(name, window.scope, first, last) })
  end
  return math.max(0, room)
end

-- Charges for a call whose hold the store lost, or whose lease ended while its process could not reach the store. Takes the
-- arguments of `post`, then `why`, the posting's reason.
function ops.settle_orphan(KEYS_, A)
  local name = KEYS_[1]
  local state = state_in(redis.call('GET', call_key(name, A[SETTLE_ORPHAN.hold_id])))
  if (state and state ~= 'expired') or redis.call('EXISTS', name) == 0 then return ops.post(KEYS_, A) end
  local at = account_time(name, A)
  local day = int(math.floor(math.min(tonumber(A[SETTLE_ORPHAN.placed_at]), at) / DAY_MS))
  local hold = { amount = 0, key = A[SETTLE_ORPHAN.key_id], inference = A[SETTLE_ORPHAN.inference], meta = A[SETTLE_ORPHAN.meta], day = day, slots = '' }
  local wanted = tonumber(A[SETTLE_ORPHAN.amount])
  local charged = math.min(wanted, tonumber(A[SETTLE_ORPHAN.placed_amount]), room_for(name, hold))
  restore_idempotency(name, A[SETTLE_ORPHAN.idempotency], A[SETTLE_ORPHAN.hold_id], 'posted', at, A[SETTLE_ORPHAN.fingerprint], A[SETTLE_ORPHAN.keep_ms], A[SETTLE_ORPHAN.effect])
  local cents, balance, marked, left = end_hold(name, A[SETTLE_ORPHAN.hold_id], hold, num(A[SETTLE_ORPHAN.upstream]), A[SETTLE_ORPHAN.beside], at, charged, wanted - charged,
    { detail = A[SETTLE_ORPHAN.detail], absorb_reason = A[SETTLE_ORPHAN.why], reason = A[SETTLE_ORPHAN.why] })
  return { 'posted', '0', int(charged), int(cents), int(wanted - charged), int(balance), '0', marked, left }
end

-- `amount` is the hold's new amount.
function ops.extend(KEYS_, A)
  local name, call = KEYS_[1], call_key(KEYS_[1], A[EXTEND.hold_id])
  local base = base_of(name)
  local text = redis.call('GET', call)
  local hold = hold_in(text)
  if not hold then
    return { 'gone', state_in(text) or 'missing' }
  end
  local more = math.max(0, tonumber(A[EXTEND.amount]) - hold.amount)
  if more > 0 then
    local key = key_of(base .. ':k', hold.key)
    if not key then return { 'unknown_key' } end
    local asked, day = { 'granted', 'spent', 'held', 'cap', 'frozen', 'clk' }, tonumber(hold.day)
    local windows = windows_in(hold.meta)
    local from = ask_days(asked, scopes_of(hold.key, hold.inference, windows), hold.day)
    local account = redis.call('HMGET', name, unpack(asked))
    local granted, spent, held, cap, frozen, clk = unpack(account, 1, from)
    if frozen == '1' then return { 'frozen' } end
    if key.paused then return { 'paused' } end
    local refused = money_refusal({
      name = name, key = key, windows = windows, day = day, amount = more, grows = true,
      of_period = period_sums(name, key, hold.key, day), of_inference = inference_sums(name, hold.inference, day),
      granted = num(granted), spent = num(spent), held = num(held), cap = num(cap),
    })
    if refused then return refused end
    local writes = { 'held', int(num(held) + more) }
    write_days(writes, asked, account, from, more)
    redis.call('HSET', name, unpack(writes))
    forget_past(name, hold.key, day, clk)
  end
  hold.amount = hold.amount + more
  hold.accrued = math.min(hold.amount, math.max(hold.accrued, tonumber(A[EXTEND.accrued])))
  local now = clock(A)
  redis.call('SET', call, hold_text(hold))
  redis.call('HSET', base .. ':l', A[EXTEND.hold_id], int(now + A[EXTEND.lease_ms]))
  return { 'extended', int(hold.amount) }
end

-- Whether a hold's key and account can still pay.
function ops.standing(KEYS_, A)
  local hold = hold_in(redis.call('GET', call_key(KEYS_[1], A[STANDING.hold_id])))
  if not hold then return { 'gone' } end
  local key = key_of(base_of(KEYS_[1]) .. ':k', hold.key)
  if not key then return { 'unknown_key' } end
  if redis.call('HGET', KEYS_[1], 'frozen') == '1' then return { 'frozen' } end
  return { key.paused and 'paused' or 'good' }
end

-- Returns the ids that are no longer held.
function ops.renew(KEYS_, A)
  local leases = base_of(KEYS_[1]) .. ':l'
  local now = clock(A)
  local gone = {}
  for at = RENEW.rest, #A do
    if redis.call('HEXISTS', leases, A[at]) == 1 then
      redis.call('HSET', leases, A[at], now + tonumber(A[RENEW.lease_ms]))
    else
      gone[#gone + 1] = A[at]
    end
  end
  return gone
end

-- An account's leases, earliest end first.
local function leases_of(name)
  local flat = redis.call('HGETALL', base_of(name) .. ':l')
  local leases = {}
  for at = 1, #flat, 2 do leases[#leases + 1] = { id = flat[at], ends = tonumber(flat[at + 1]) } end
  table.sort(leases, function(a, b) return a.ends < b.ends or (a.ends == b.ends and a.id < b.id) end)
  return leases
end

-- Returns the ids of holds with expired leases; none while the clocks are apart: by a server clock that is ahead,
-- every lease would have ended before it could be renewed.
function ops.overdue(KEYS_, A)
  local now, leapt = clock(A)
  if leapt or is_apart(now, A) then return {} end
  local ended = {}
  for _, lease in ipairs(leases_of(KEYS_[1])) do
    if lease.ends > now or #ended == tonumber(A[OVERDUE.count]) then break end
    ended[#ended + 1] = lease.id
  end
  return ended
end

-- When the account's first lease ends; '' where it holds nothing.
function ops.first_end(KEYS_)
  local first = leases_of(KEYS_[1])[1]
  return { first and int(first.ends) or '' }
end

-- Ends one hold with an expired lease.
function ops.expire(KEYS_, A)
  local name, call = KEYS_[1], call_key(KEYS_[1], A[EXPIRE.hold_id])
  local leases = base_of(name) .. ':l'
  local now = clock(A)
  local hold = hold_in(redis.call('GET', call))
  local ends = redis.call('HGET', leases, A[EXPIRE.hold_id])
  if not hold then
    if ends then redis.call('HDEL', leases, A[EXPIRE.hold_id]) end
    return { 'gone' }
  end
  if not ends or tonumber(ends) > now then return { 'live' } end
  if hold.on_expire == 'void' then
    -- Its cost to us is unknown here, so it counts as neither unpaid nor margin.
    end_hold(name, A[EXPIRE.hold_id], hold)
    end_idempotency(name, hold.idempotency, A[EXPIRE.hold_id], 'expired')
    bury(call, 'expired')
  else
    post_hold(name, A[EXPIRE.hold_id], hold, nil, nil, money_time(A), hold.accrued, { detail = A[EXPIRE.detail], absorb_reason = '', reason = 'its lease ended' })
  end
  return { 'ended' }
end
