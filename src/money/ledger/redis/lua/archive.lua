-- Moves postings out of Redis, in order, once the archive has them.

-- What of an account may move to the archive: its postings in order, once old enough or beyond the kept count. Returns now, the number of the last archived,
-- whether anything is left or held, when the first remaining posting was made ('' for none), then ids and texts in turn.
function ops.archivable(KEYS_, A)
  local name, base = KEYS_[1], base_of(KEYS_[1])
  local now = clock(A)
  local archived, seq = unpack(redis.call('HMGET', name, 'archived', 'seq'))
  archived = num(archived)
  local ids = redis.call('ZRANGEBYSCORE', base .. ':x', '(' .. int(archived), '+inf', 'LIMIT', 0, A[ARCHIVABLE.count])
  local beyond = num(seq) - tonumber(A[ARCHIVABLE.kept])
  local found, left = {}, ''
  for at, id in ipairs(ids) do
    local text = redis.call('GET', base .. ':c:' .. id) or ''
    local created = string.match(text, CREATED) or ''
    local age = now - num(created)
    if age < tonumber(A[ARCHIVABLE.least_age_ms]) or (age < tonumber(A[ARCHIVABLE.age_ms]) and archived + at > beyond) then
      left = created
      break
    end
    found[#found + 1] = id
    found[#found + 1] = text
  end
  local busy = left ~= '' or #ids == tonumber(A[ARCHIVABLE.count]) or redis.call('EXISTS', base .. ':l') == 1
  return { int(now), int(archived), busy and '1' or '0', left, unpack(found) }
end

-- Once a day: removes day sums that no window needs any more. A day with open holds stays.
local DAYS_KEPT = 62

local function prune_days(name, day)
  local first = day - DAYS_KEPT
  if num(redis.call('HGET', name, 'days_from')) >= first then return end
  local flat = redis.call('HGETALL', name)
  local held, old = {}, {}
  for at = 1, #flat, 2 do
    local scope, of, what = string.match(flat[at], '^(.+:(%d+))([sha])$')
    if scope and tonumber(of) < first and string.sub(scope, 1, 5) ~= 'slot:' and not is_run(scope) then
      old[#old + 1] = { scope, flat[at] }
      if what == 'h' and num(flat[at + 1]) ~= 0 then held[scope] = true end
    end
  end
  for _, field in ipairs(old) do
    if not held[field[1]] then redis.call('HDEL', name, field[2]) end
  end
  redis.call('HSET', name, 'days_from', first)
end

-- Removes archived postings from Redis; their sums stay. Takes the number of the last archived posting as it was read,
-- and that of the last one to remove now.
function ops.trim(KEYS_, A)
  local name, base = KEYS_[1], base_of(KEYS_[1])
  local from, to = tonumber(A[TRIM.from]), tonumber(A[TRIM.to])
  local archived, charged, credited, cents_before, absorbed_before = unpack(redis.call('HMGET', name,
    'archived', 'archived_charged', 'archived_credited', 'archived_cents', 'archived_absorbed'))
  if num(archived) >= to then return { 'repeated' } end
  if num(archived) ~= from then return { 'changed' } end
  local ids = redis.call('ZRANGEBYSCORE', base .. ':x', '(' .. A[TRIM.from], A[TRIM.to])
  if #ids ~= to - from then return { 'changed' } end
  local sums = { charged = num(charged), credited = num(credited), cents = num(cents_before), absorbed = num(absorbed_before) }
  local ends = {}
  for at, id in ipairs(ids) do
    local kind, amount, cents, absorbed = string.match(redis.call('GET', base .. ':c:' .. id) or '', POSTED)
    if not kind then return { 'changed' } end
    local sum = kind == 'charge' and 'charged' or 'credited'
    sums[sum] = sums[sum] + num(amount)
    sums.cents = sums.cents + num(cents)
    sums.absorbed = sums.absorbed + num(absorbed)
    ends[at] = kind == 'charge' and posting_text({ kind = kind, amount = amount, cents = cents, absorbed = absorbed }) or ''
  end

  for at, id in ipairs(ids) do
    if ends[at] == '' then
      redis.call('DEL', base .. ':c:' .. id)
    else
      bury(base .. ':c:' .. id, ends[at])
    end
  end
  redis.call('ZREMRANGEBYSCORE', base .. ':x', '(' .. A[TRIM.from], A[TRIM.to])
  redis.call('HSET', name, 'archived', to, 'archived_charged', sums.charged, 'archived_credited', sums.credited,
    'archived_cents', sums.cents, 'archived_absorbed', sums.absorbed)
  local at = account_time(name, A)
  prune_days(name, math.floor(at / DAY_MS))
  return { 'trimmed' }
end
