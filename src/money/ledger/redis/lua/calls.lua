-- Calls, each under its own key, and the records of their idempotency keys.

-- What an earlier call with the same idempotency key means for this one; nil: run it.
local function idempotency_refusal(row, fingerprint, at)
  local before = redis.call('HMGET', row, 'state', 'fingerprint', 'hold', 'effect', 'lapses')
  local state = before[1]
  if not state then return nil end
  if state ~= 'held' and num(before[5]) <= at then return nil end
  if state == 'voided' or (state == 'expired' and before[4] == 'read') then return nil end
  if before[2] ~= fingerprint then return { 'idempotency_mismatch' } end
  if state == 'held' then return { 'idempotency_in_progress', before[3] } end
  if state == 'posted' or state == 'answered' then return { 'idempotency_done', before[3] } end
  return { 'idempotency_unknown', before[3] }
end

-- A freed key leaves no record.
local function end_idempotency(account, key, hold_id, state)
  if key == '' then return end
  local row = base_of(account) .. ':i:' .. key
  local hold, effect = unpack(redis.call('HMGET', row, 'hold', 'effect'))
  if hold ~= hold_id then return end
  if state == 'voided' or (state == 'expired' and effect == 'read') then
    redis.call('DEL', row)
  else
    redis.call('HSET', row, 'state', state)
  end
end

-- A call is stored as lines. The first is its state: `held`, `posted`, `voided` or `expired`. An archived posting leaves only its
-- amounts.
local function state_in(text)
  return text and string.match(text, '^%a+') or nil
end

local function bury(call, state)
  redis.call('SET', call, state, 'PX', TOMBSTONE_MS)
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
