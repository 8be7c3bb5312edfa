-- What an account, its keys and its days hold, have spent and absorbed, and whether there is room for more.
-- A scope's sums of a day are in fields that end in `s`, `h` and `a`: spent, held, absorbed.

local function is_run(scope)
  return string.sub(scope, 1, 4) == 'run:'
end

-- Parsed lists of windows by their text: most calls of a key have the same, and a library keeps them across calls.
local LISTS_MAX = 1000
local lists, lists_kept = {}, 0
local NO_WINDOWS = { bounds = {}, cost_bounds = {}, costs = {}, scopes = {}, runs = {}, marks = {}, counted = '', counted_charges = '' }

-- A parsed list of windows: `bounds` of charges and `cost_bounds`, which have a maximum; `scopes` of charges; `costs`, which count
-- unpaid cost or margin; `runs` among the scopes, with their places; `marks`, which report when passed; and how a posting names what it moved. See window-list.ts.
local function list_of(text)
  local list = lists[text]
  if list then return list end
  list = { bounds = {}, cost_bounds = {}, costs = {}, scopes = {}, runs = {}, marks = {} }
  local counted, charges = {}, {}
  for counts, scope, rest in string.gmatch(text, '([=+%%-])([^,;]+)([^;]*)') do
    local period, most, code, widened_by = string.match(rest, '^,(%a+),(%d+),([%w_]+),?(.*)$')
    local window = { unpaid = counts == '-', scope = scope, period = period, most = num(most), code = code, widened_by = widened_by }
    if counts ~= '%' then counted[#counted + 1] = counts .. scope end
    if counts == '%' then
      list.marks[#list.marks + 1] = window
    elseif counts == '=' then
      list.scopes[#list.scopes + 1] = scope
      charges[#charges + 1] = counts .. scope
      if period then list.bounds[#list.bounds + 1] = window end
      if period and is_run(scope) then
        list.runs[#list.runs + 1] = { at = #list.scopes, most = window.most }
        list.marks[#list.marks + 1] = window
      end
    else
      list.costs[#list.costs + 1] = window
      if period then list.cost_bounds[#list.cost_bounds + 1] = window end
    end
  end
  list.counted, list.counted_charges = table.concat(counted, ';'), table.concat(charges, ';')
  if lists_kept >= LISTS_MAX then lists, lists_kept = {}, 0 end
  lists[text], lists_kept = list, lists_kept + 1
  return list
end

-- A hold's windows, at the end of its meta, and where they begin there.
local function windows_in(meta)
  local at, last = string.find(meta, ',"windows":"', 1, true)
  if not at then return NO_WINDOWS end
  return list_of(string.sub(meta, last + 1, -3)), at
end

-- The scopes that count a call's charge: its key's, all inference's where it counts there, and its own windows'.
local function scopes_of(key_id, inference, windows)
  local scopes = { 'key:' .. key_id, inference == '1' and 'inference' or nil }
  for at = 1, #windows.scopes do scopes[#scopes + 1] = windows.scopes[at] end
  return scopes
end

-- Adds these scopes' sums of a day, as it stands in names, to the fields to read; a run's are of day 0. Returns where they begin.
local function ask_days(asked, scopes, text)
  local from = #asked
  for at = 1, #scopes do
    local name, place = scopes[at] .. ':' .. (is_run(scopes[at]) and '0' or text), from + 3 * at
    asked[place - 2], asked[place - 1], asked[place] = name .. 's', name .. 'h', name .. 'a'
  end
  return from
end

-- Adds what these days then hold, have spent and absorbed, where it changes, to the fields to write.
local function write_days(writes, asked, values, from, held, spent, absorbed)
  for at = from + 1, #asked, 3 do
    local place = #writes
    writes[place + 1], writes[place + 2] = asked[at + 1], int(num(values[at + 1]) + held)
    if spent then writes[place + 3], writes[place + 4] = asked[at], int(num(values[at]) + spent) end
    if absorbed then writes[place + 5], writes[place + 6] = asked[at + 2], int(num(values[at + 2]) + absorbed) end
  end
end

-- The least that the runs of a call have left once `more` is spent of each; nil where it is in no run. `values` are the sums as read for
-- `scopes_of`, after `from`.
local function left_of_runs(windows, values, from, inference, more)
  local left
  for at = 1, #windows.runs do
    local run = windows.runs[at]
    local place = from + 3 * (run.at + (inference == '1' and 2 or 1))
    local of_run = math.max(0, run.most - num(values[place - 2]) - num(values[place]) - more)
    if not left or of_run < left then left = of_run end
  end
  return left and int(left)
end

-- What a scope has spent, holds and has absorbed from day `first` to `last`.
local function sums_between(name, scope, first, last)
  if first >= last then return 0, 0, 0 end
  local asked = {}
  for day = first, last - 1 do
    local field = scope .. ':' .. int(day)
    asked[#asked + 1] = field .. 's'
    asked[#asked + 1] = field .. 'h'
    asked[#asked + 1] = field .. 'a'
  end
  local values = redis.call('HMGET', name, unpack(asked))
  local spent, held, absorbed = 0, 0, 0
  for at = 1, #values, 3 do
    spent = spent + num(values[at])
    held = held + num(values[at + 1])
    absorbed = absorbed + num(values[at + 2])
  end
  return spent, held, absorbed
end

-- The sum of a scope of cost from day `first` to `last`.
local function cost_between(name, scope, first, last)
  local sum = 0
  for day = first, last - 1 do sum = sum + num(redis.call('HGET', name, scope .. ':' .. int(day) .. 's')) end
  return sum
end

-- Counts a call's charge and cost in its windows of cost.
local function count_cost(name, windows, day, charged, upstream)
  for at = 1, #windows.costs do
    local window = windows.costs[at]
    local by = window.unpaid and upstream - charged or charged - upstream
    if by > 0 then redis.call('HINCRBY', name, window.scope .. ':' .. day .. 's', int(by)) end
  end
end

-- Per account, until a process takes them: beyond that the oldest are dropped.
local EVENTS_KEPT_MAX = 1000

-- Stores an event for delivery. `words` make its id, the same for the same cause; `data` is JSON.
local function tell_event(name, kind, words, at, data)
  local id = 'evt_' .. string.sub(redis.sha1hex(name .. ' ' .. kind .. ' ' .. words), 1, 32)
  local list = base_of(name) .. ':e'
  redis.call('RPUSH', list, '{"id":"' .. id .. '","kind":"' .. kind .. '","atMs":' .. int(at) .. ',"data":' .. data .. '}')
  redis.call('LTRIM', list, -EVENTS_KEPT_MAX, -1)
  redis.call('PUBLISH', 'tollgate:told', string.sub(name, 4, -4))
end

-- Percentages of a bound at which events are made.
local MARKS, RUN_MARKS = { 50, 80, 100 }, { 50, 80, 95 }

-- Emits events for the hold's marks that a charge on a day is about to pass; returns whether it passes any. `owned` is the
-- account's balance before it.
local function tells_marks(name, windows, day, owned, charged, absorbed, at)
  local passes = false
  for _, mark in ipairs(windows.marks) do
    if mark.scope == 'balance' then
      if owned >= mark.most and owned - charged < mark.most then
        passes = true
        tell_event(name, 'balance.low', int(at), at, '{"balance_nano_usd":' .. int(owned - charged) .. ',"below_nano_usd":' .. int(mark.most) .. '}')
      end
    else
      local first, last = period_of(mark.period, day)
      local spent, _, absorbed_before = sums_between(name, mark.scope, first, last)
      local before = spent + absorbed_before
      for _, percent in ipairs(mark.period == 'run' and RUN_MARKS or MARKS) do
        local bound = mark.most * percent / 100
        local passed = before < bound and before + charged + absorbed >= bound
        passes = passes or passed
        if passed and mark.period == 'run' then
          tell_event(name, 'run.mark', table.concat({ mark.scope, int(mark.most), percent }, ' '), at,
            '{"run_id":"' .. string.sub(mark.scope, 5) .. '","percent":' .. percent .. ',"budget_nano_usd":' .. int(mark.most)
            .. ',"spent_nano_usd":' .. int(before + charged + absorbed) .. '}')
        elseif passed then
          tell_event(name, 'budget.mark', table.concat({ mark.scope, mark.period, int(last), int(mark.most), percent }, ' '), at,
            '{"scope":"' .. mark.scope .. '","percent":' .. percent .. ',"ceiling_nano_usd":' .. int(mark.most) .. ',"period":"' .. mark.period
            .. '","resets_at_ms":' .. int(last * DAY_MS) .. '}')
        end
      end
    end
  end
  return passes
end

-- A key's row is JSON that only its owner reads whole; what admission needs stands before it.
local function key_of(keys, id)
  local row = redis.call('HMGET', keys, id .. ':paused', id .. ':ceiling', id .. ':period', id .. ':used', id .. ':past')
  if not row[1] then return nil end
  local ceiling = row[2]
  if not ceiling or ceiling == '' then ceiling = nil end
  return { paused = row[1] == '1', ceiling = ceiling and tonumber(ceiling) or nil, period = row[3] or 'day', used = num(row[4]),
    past = row[5] or '' }
end

-- The sums of a key's days in its period before `day`: spent, held, absorbed. They are cached with the key as `past`, whose new
-- value is the fourth result: a month has too many days to add up at every call.
local function past_of(name, key, key_id, first, day)
  if first == day then return 0, 0, 0 end
  local of_first, of_day, spent, held, absorbed = string.match(key.past, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if of_first and tonumber(of_first) == first and tonumber(of_day) == day then
    return tonumber(spent), tonumber(held), tonumber(absorbed)
  end
  spent, held, absorbed = sums_between(name, 'key:' .. key_id, first, day)
  return spent, held, absorbed, table.concat({ int(first), int(day), int(spent), int(held), int(absorbed) }, ' ')
end

-- A change of a day before the account's current one makes its key add up the days again.
local function forget_past(name, key_id, day, clk)
  if tonumber(day) < math.floor(num(clk) / DAY_MS) then redis.call('HDEL', base_of(name) .. ':k', key_id .. ':past') end
end

-- The first of the hold's windows without room for the amount, or nil; `day` is the hold's. Unpaid costs of calls do not block
-- a hold that grows.
local function window_refusal(name, windows, day, amount, grows)
  for _, window in ipairs(windows.bounds) do
    local first, last = period_of(window.period, day)
    local spent, held, absorbed = sums_between(name, window.scope, first, last)
    if spent + held + absorbed + amount > window.most then
      return { 'window_full', window.scope, window.code, int(window.most), int(spent), int(held), int(absorbed), int(last * DAY_MS) }
    end
  end
  for _, window in ipairs(grows and {} or windows.cost_bounds) do
    local first, last = period_of(window.period, day)
    local spent, most = cost_between(name, window.scope, first, last), window.most
    if spent >= most and window.widened_by ~= '' then most = most + cost_between(name, window.widened_by, first, last) end
    if spent >= most then
      return { 'window_full', window.scope, window.code, int(most), int(spent), '0', '0', int(last * DAY_MS) }
    end
  end
  return nil
end

-- Ceiling, inference cap, the hold's windows and balance, in this order; nil where the amount fits. `of_period` and `of_inference`
-- are the spent, held and absorbed sums of the key's period, where it has a ceiling, and of the day's inference, where the call counts.
local function money_refusal(a)
  if a.key.ceiling then
    local spent, held, absorbed = unpack(a.of_period)
    if spent + held + absorbed + a.amount > a.key.ceiling then
      return { 'ceiling', a.key.period, int(a.key.ceiling), int(spent), int(held), int(absorbed), int(a.key.ends * DAY_MS) }
    end
  end
  if a.of_inference then
    local spent, held, absorbed = unpack(a.of_inference)
    if spent + held + absorbed + a.amount > a.cap then
      return { 'inference_cap', int(a.cap), int(spent), int(held), int(absorbed), int((a.day + 1) * DAY_MS) }
    end
  end
  local refused = window_refusal(a.name, a.windows, a.day, a.amount, a.grows)
  if refused then return refused end
  local balance = a.granted - a.spent
  local free = balance - a.held
  if free < a.amount then
    return { 'insufficient', int(free), int(a.held), int(balance) }
  end
  return nil
end

-- A key's spent, held and absorbed sums in its period, where it has a ceiling. Notes when that ends.
local function period_sums(name, key, key_id, day)
  if not key.ceiling then return nil end
  local first, last = period_of(key.period, day)
  key.ends = last
  return { sums_between(name, 'key:' .. key_id, first, last) }
end

-- The same for all inference on a day, where the call counts there.
local function inference_sums(name, inference, day)
  return inference == '1' and { sums_between(name, 'inference', day, day + 1) } or nil
end
