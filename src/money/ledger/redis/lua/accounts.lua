-- Accounts, keys and credits: transitions that people make, not calls.

local function write_new_key(keys, at, id, profile, paused, ceiling, period, external)
  redis.call('HSET', keys, id, profile, id .. ':paused', paused, id .. ':ceiling', ceiling, id .. ':period', period,
    id .. ':created', int(at))
  if external ~= '' then redis.call('HSET', keys, 'external:' .. external, id) end
end

local function credit(name, at, id, kind, amount, reference, detail)
  local granted, seq_before = unpack(redis.call('HMGET', name, 'granted', 'seq'))
  local seq = num(seq_before) + 1
  redis.call('HSET', name, 'granted', int(num(granted) + amount), 'clk', int(at), 'seq', int(seq))
  redis.call('HSET', base_of(name) .. ':r', kind .. ':' .. reference, id)
  redis.call('SET', call_key(name, id), posting_text({ kind = kind, at = at, amount = amount, cents = 0, absorbed = 0, seq = seq,
    detail = detail }))
  redis.call('ZADD', base_of(name) .. ':x', seq, id)
end

function ops.open(KEYS_, A)
  local name = KEYS_[1]
  if redis.call('EXISTS', name) == 1 then return { 'exists' } end
  local now = money_time(A)
  redis.call('HSET', name, 'name', A[OPEN.name], 'kind', A[OPEN.kind], 'cap', A[OPEN.cap], 'rpm', A[OPEN.rpm], 'in_flight', A[OPEN.in_flight], 'frozen', '0',
    'created', now, 'about', A[OPEN.about], 'granted', '0', 'spent', '0', 'held', '0', 'absorbed', '0', 'clk', now, 'seq', '0')
  write_new_key(base_of(name) .. ':k', now, A[OPEN.key_id], A[OPEN.profile], '0', A[OPEN.ceiling], A[OPEN.period], A[OPEN.external])
  if tonumber(A[OPEN.credit]) > 0 then credit(name, now, A[OPEN.credit_id], 'topup', tonumber(A[OPEN.credit]), 'opening credit', A[OPEN.credit_detail]) end
  return { 'opened' }
end

-- Whether the account has reached its limit of keys. A key has five to eight fields, so keys are seldom counted one by one.
local function has_all_keys(keys, most)
  local fields = redis.call('HLEN', keys)
  if fields < 5 * most then return false end
  if fields >= 8 * most then return true end
  local found = 0
  for _, field in ipairs(redis.call('HKEYS', keys)) do
    if string.sub(field, -8) == ':created' and string.sub(field, 1, 9) ~= 'external:' then found = found + 1 end
  end
  return found >= most
end

function ops.create_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  if redis.call('EXISTS', KEYS_[1]) == 0 then return { 'unknown_account' } end
  if redis.call('HEXISTS', keys, A[CREATE_KEY.key_id]) == 1 then return { 'created' } end
  if A[CREATE_KEY.external] ~= '' and redis.call('HEXISTS', keys, 'external:' .. A[CREATE_KEY.external]) == 1 then return { 'external_id_taken' } end
  if has_all_keys(keys, num(A[CREATE_KEY.keys_max])) then return { 'too_many_keys' } end
  write_new_key(keys, money_time(A), A[CREATE_KEY.key_id], A[CREATE_KEY.profile], '0', A[CREATE_KEY.ceiling], A[CREATE_KEY.period], A[CREATE_KEY.external])
  return { 'created' }
end

-- Changes an account's settings. ARGV: fields and values in turn.
function ops.write_account(KEYS_, A)
  if redis.call('EXISTS', KEYS_[1]) == 0 then return { 'missing' } end
  tell_changed(KEYS_[1])
  redis.call('HSET', KEYS_[1], unpack(A))
  return { 'written' }
end

-- Replaces a key if it is still as it was read.
function ops.write_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  local id = A[WRITE_KEY.key_id]
  local names = { id, id .. ':paused', id .. ':ceiling', id .. ':period' }
  local profile, paused, ceiling, period = unpack(redis.call('HMGET', keys, unpack(names)))
  if not profile then return { 'missing' } end
  if profile ~= A[WRITE_KEY.profile_before] or (paused or '') ~= A[WRITE_KEY.paused_before]
    or (ceiling or '') ~= A[WRITE_KEY.ceiling_before] or (period or '') ~= A[WRITE_KEY.period_before] then
    return { 'changed' }
  end
  tell_changed(KEYS_[1])
  redis.call('HSET', keys, names[1], A[WRITE_KEY.profile], names[2], A[WRITE_KEY.paused], names[3], A[WRITE_KEY.ceiling],
    names[4], A[WRITE_KEY.period])
  return { 'written' }
end

function ops.delete_key(KEYS_, A)
  local keys = base_of(KEYS_[1]) .. ':k'
  if redis.call('HEXISTS', keys, A[DELETE_KEY.key_id]) == 0 then return { 'missing' } end
  tell_changed(KEYS_[1])
  redis.call('HDEL', keys, A[DELETE_KEY.key_id], A[DELETE_KEY.key_id] .. ':paused', A[DELETE_KEY.key_id] .. ':ceiling', A[DELETE_KEY.key_id] .. ':period', A[DELETE_KEY.key_id] .. ':used', A[DELETE_KEY.key_id] .. ':created', A[DELETE_KEY.key_id] .. ':past')
  if A[DELETE_KEY.external] ~= '' then redis.call('HDEL', keys, 'external:' .. A[DELETE_KEY.external]) end
  return { 'deleted' }
end

function ops.credit(KEYS_, A)
  local name = KEYS_[1]
  local granted, spent = unpack(redis.call('HMGET', name, 'granted', 'spent'))
  if not granted then return { 'unknown_account' } end
  granted, spent = num(granted), num(spent)
  local before = redis.call('HGET', base_of(name) .. ':r', A[CREDIT.kind] .. ':' .. A[CREDIT.reference])
  if before then return { 'exists', int(granted - spent), before } end
  local amount = tonumber(A[CREDIT.amount])
  if A[CREDIT.kind] == 'topup' and granted + amount > GRANTED_MAX then return { 'too_much' } end
  credit(name, account_time(name, A), A[CREDIT.id], A[CREDIT.kind], amount, A[CREDIT.reference], A[CREDIT.detail])
  return { 'credited', int(granted + amount - spent), A[CREDIT.id] }
end
