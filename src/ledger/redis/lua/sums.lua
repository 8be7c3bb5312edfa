-- What an account, its keys and its days hold, have spent and have cost us above their holds, and whether there is room for more.
-- A day's three sums stand in fields that end in `s`, `h` and `a`: spent, held, absorbed.

-- Adds to the fields to be read the sums of a key's day and of all inference's; and those of the key's other days from `first` up
-- to `last`, where these are given. `text` is the day as it stands in names. Answers where they begin.
local function ask_days(asked, key_id, text, day, first, last)
  local of_key, from = 'key:' .. key_id .. ':', #asked
  local own, all = of_key .. text, 'inference:' .. text
  asked[from + 1], asked[from + 2], asked[from + 3] = own .. 's', own .. 'h', own .. 'a'
  asked[from + 4], asked[from + 5], asked[from + 6] = all .. 's', all .. 'h', all .. 'a'
  for other = first or 0, (last or 0) - 1 do
    if other ~= day then
      local name = of_key .. int(other)
      asked[#asked + 1] = name .. 's'
      asked[#asked + 1] = name .. 'h'
      asked[#asked + 1] = name .. 'a'
    end
  end
  return from
end

-- What these fields say. Those with `period` are of all days that were asked for.
local function days_in(asked, values, from)
  local days = { asked = asked, from = from,
    spent = num(values[from + 1]), held = num(values[from + 2]), absorbed = num(values[from + 3]),
    all_spent = num(values[from + 4]), all_held = num(values[from + 5]), all_absorbed = num(values[from + 6]) }
  days.period_spent, days.period_held, days.period_absorbed = days.spent, days.held, days.absorbed
  for at = from + 7, #values, 3 do
    days.period_spent = days.period_spent + num(values[at])
    days.period_held = days.period_held + num(values[at + 1])
    days.period_absorbed = days.period_absorbed + num(values[at + 2])
  end
  return days
end

-- Adds what a day of a key then holds, and has spent and absorbed where that changes, to the fields to be written; and all
-- inference's where the call counts there.
local function write_days(writes, days, inference, held, spent, absorbed)
  local asked, from, at = days.asked, days.from, #writes
  writes[at + 1], writes[at + 2] = asked[from + 2], int(days.held + held)
  if spent then writes[at + 3], writes[at + 4] = asked[from + 1], int(days.spent + spent) end
  if absorbed then writes[at + 5], writes[at + 6] = asked[from + 3], int(days.absorbed + absorbed) end
  if inference ~= '1' then return end
  at = #writes
  writes[at + 1], writes[at + 2] = asked[from + 5], int(days.all_held + held)
  if spent then writes[at + 3], writes[at + 4] = asked[from + 4], int(days.all_spent + spent) end
  if absorbed then writes[at + 5], writes[at + 6] = asked[from + 6], int(days.all_absorbed + absorbed) end
end

-- A key's row is kept as JSON that only its owner reads whole; what admission asks for stands before it.
local function key_of(keys, id)
  local row = redis.call('HMGET', keys, id .. ':paused', id .. ':ceiling', id .. ':period', id .. ':used', id .. ':past')
  if not row[1] then return nil end
  local ceiling = row[2]
  if not ceiling or ceiling == '' then ceiling = nil end
  return { paused = row[1] == '1', ceiling = ceiling and tonumber(ceiling) or nil, period = row[3] or 'day', used = num(row[4]),
    past = row[5] or '' }
end

-- The sums of a key's days in its period before `day`: spent, held, absorbed. They are remembered with the key as `past`, which is what
-- the fourth result is then to be: a month has too many days to be added up at every call.
local function past_of(name, key, key_id, first, day)
  if first == day then return 0, 0, 0 end
  local of_first, of_day, spent, held, absorbed = string.match(key.past, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if of_first and tonumber(of_first) == first and tonumber(of_day) == day then
    return tonumber(spent), tonumber(held), tonumber(absorbed)
  end
  local asked = {}
  for other = first, day - 1 do
    local field = 'key:' .. key_id .. ':' .. int(other)
    asked[#asked + 1] = field .. 's'
    asked[#asked + 1] = field .. 'h'
    asked[#asked + 1] = field .. 'a'
  end
  local values = redis.call('HMGET', name, unpack(asked))
  spent, held, absorbed = 0, 0, 0
  for at = 1, #values, 3 do
    spent = spent + num(values[at])
    held = held + num(values[at + 1])
    absorbed = absorbed + num(values[at + 2])
  end
  return spent, held, absorbed, table.concat({ int(first), int(day), int(spent), int(held), int(absorbed) }, ' ')
end

-- Whoever changes a day before the account's own makes its key add up the days again.
local function forget_past(name, key_id, day, clk)
  if tonumber(day) < math.floor(num(clk) / DAY_MS) then redis.call('HDEL', base_of(name) .. ':k', key_id .. ':past') end
end

-- The days that a request for money of this key has to be compared with: its whole period where it has a ceiling.
local function ask_period(asked, key, key_id, text, day)
  if not key.ceiling then return ask_days(asked, key_id, text) end
  local first, last = period_of(key.period, day)
  key.ends = last
  return ask_days(asked, key_id, text, day, first, last)
end

-- Ceiling, inference cap and balance, in this order; nil where the amount has room.
local function money_refusal(a)
  local days = a.days
  local of_period = days.period_spent + days.period_held + days.period_absorbed
  if a.key.ceiling and of_period + a.amount > a.key.ceiling then
    return { 'ceiling', a.key.period, int(a.key.ceiling), int(days.period_spent), int(days.period_held), int(days.period_absorbed),
      int(a.key.ends * DAY_MS) }
  end
  if a.inference == '1' and days.all_spent + days.all_held + days.all_absorbed + a.amount > a.cap then
    return { 'inference_cap', int(a.cap), int(days.all_spent), int(days.all_held), int(days.all_absorbed), int((a.day + 1) * DAY_MS) }
  end
  local balance = a.granted - a.spent
  local free = balance - a.held
  if free < a.amount then
    return { 'insufficient', int(free), int(a.held), int(balance) }
  end
  return nil
end
