-- Accounts, keys and credits, which people make and calls do not.

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
  local now = money_time(A)
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
  write_new_key(keys, money_time(A), A[4], A[5], '0', A[6], A[7], A[8])
  return { 'created' }
end

-- Changes what people decide of an account. ARGV: fields and their values by turns
function ops.write_account(KEYS_, A)
  if redis.call('EXISTS', KEYS_[1]) == 0 then return { 'missing' } end
  tell_changed(KEYS_[1])
  redis.call('HSET', KEYS_[1], unpack(A))
  return { 'written' }
end

-- Replaces what a key is, where it still is what it was read as. ARGV: key id; profile, paused, ceiling and period before; then the same
-- as they are to be
function ops.write_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  local names = { A[1], A[1] .. ':paused', A[1] .. ':ceiling', A[1] .. ':period' }
  local before = redis.call('HMGET', keys, unpack(names))
  if not before[1] then return { 'missing' } end
  for at = 1, #names do
    if (before[at] or '') ~= A[1 + at] then return { 'changed' } end
  end
  tell_changed(KEYS_[1])
  redis.call('HSET', keys, names[1], A[6], names[2], A[7], names[3], A[8], names[4], A[9])
  return { 'written' }
end

-- ARGV: key id, external id
function ops.delete_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  if redis.call('HEXISTS', keys, A[1]) == 0 then return { 'missing' } end
  tell_changed(KEYS_[1])
  redis.call('HDEL', keys, A[1], A[1] .. ':paused', A[1] .. ':ceiling', A[1] .. ':period', A[1] .. ':used', A[1] .. ':created', A[1] .. ':past')
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
  credit(name, account_time(name, A), A[4], A[5], amount, A[7], A[8])
  return { 'credited', int(granted + amount - spent), A[4] }
end
