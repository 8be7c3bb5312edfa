// Plays random histories to a ledger and to the model: every reply must be equal, and so must the final state.
import fc from "fast-check";
import { expect } from "vitest";
import type { CeilingPeriod, KeyLimits } from "../../../../src/core/account-rows.ts";
import { nano } from "../../../../src/core/money.ts";
import type { HoldRef, KeyFate, Ledger, ReserveRequest } from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { CENT, holdRequest, newAccount, newKey, postRequest } from "../requests.ts";
import type { TestStore } from "../store.ts";
import { ModelAccount } from "./model.ts";
import { SharedModelAccount } from "./shared-model.ts";

const HOUR_MS = 3_600_000;
const PROCESS = "process-1";
const NO_LIMITS = { ceilingNano: null, ceilingPeriod: null, services: null, models: null, expiresAtMs: null } as const;

type Step =
  | { do: "reserve"; hold: number; key: number; amount: number; how: Partial<ReserveRequest>; skewMs: number }
  | { do: "post"; hold: number; amount: number; upstream: number; before: number }
  /** Calls that hold nothing and cost something. */
  | { do: "overruns"; key: number; count: number }
  | { do: "settle"; hold: number; amount: number; upstream: number; before: number }
  | { do: "void"; hold: number; fate: KeyFate; upstream: number; origin: boolean }
  | { do: "deleteKey" }
  | { do: "extend"; hold: number; amount: number; accrued: number; twice: boolean }
  | { do: "renew"; holds: number[] }
  | { do: "sweep"; orphans: boolean }
  | { do: "topUp"; reference: number; amount: number }
  | { do: "refund"; hold: number; again: number }
  | { do: "freeze"; frozen: boolean }
  | { do: "cap"; cap: number }
  | { do: "strict"; strict: boolean }
  | { do: "key"; key: number; paused: boolean; limits: KeyLimits }
  | { do: "time"; ms: number; backward: boolean };

const amount = fc.constantFrom(0, 1, 3_333_333, CENT, CENT + 1, 2 * CENT, 4 * CENT);
/** The charge for the same work elsewhere. */
const before = fc.constantFrom(0, 0, 1, CENT);

function besideOf(charged: number) {
  return charged === 0 ? {} : { beside: { chargedNano: nano(charged), costNano: nano(CENT - charged) } };
}

/** How many holds ago it was made; -1 is the next one. */
const hold = fc.constantFrom(-1, 0, 0, 0, 1, 1, 2, 2, 3, 4, 6);
const recent = fc.constantFrom(-1, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3);
/** The third is the revoked one. */
const key = fc.constantFrom(0, 1, 2, 2);

/** Budgets of a group and of a tag, and the unpaid cost of calls; each call makes them anew, with its own bounds. */
const window: fc.Arbitrary<Window> = fc
  .record({
    scope: fc.constantFrom("group:7", "tag:team=red", "unpaid", "unpaid", "unpaid:key", "margin", "unpaid:group:7"),
    period: fc.constantFrom<CeilingPeriod[]>("day", "day", "week", "month"),
    max: fc.constantFrom(null, nano(1), nano(2 * CENT), nano(4 * CENT), nano(8 * CENT)),
    widened: fc.boolean(),
  })
  .map(({ scope, period, max, widened }) => {
    const counts = scope.startsWith("unpaid") ? "unpaid" : scope === "margin" ? "margin" : "charge";
    const row = { scope, period, max: counts === "margin" ? null : max, counts } as const;
    if (counts === "charge") return { ...row, code: "api_key_limit_exceeded" };
    return {
      ...row,
      code: "unpaid_costs",
      ...(widened && max !== null && counts === "unpaid" ? { widenedBy: "margin" } : {}),
    };
  });
/** A run of any budget, which a call may name with its parent. */
const run: fc.Arbitrary<Window> = fc.record({
  scope: fc.constantFrom("run:one", "run:one.child"),
  period: fc.constant("run" as const),
  max: fc.constantFrom(null, nano(2 * CENT), nano(4 * CENT), nano(8 * CENT)),
  code: fc.constant("run_budget_exceeded" as const),
  counts: fc.constant("charge" as const),
});
/** The event when a mark is passed. `key:` stands for the calling key. */
const mark: fc.Arbitrary<Window> = fc.record({
  scope: fc.constantFrom("group:7", "tag:team=red", "key:", "balance"),
  period: fc.constantFrom<CeilingPeriod[]>("day", "week", "month"),
  max: fc.constantFrom(nano(1), nano(2 * CENT), nano(4 * CENT), nano(5 * CENT)),
  code: fc.constant("budget_exceeded" as const),
  counts: fc.constant("marks" as const),
});
const named = ({ scope, counts }: Window) => `${counts === "marks"} ${scope}`;
const windows = fc.oneof(
  { weight: 5, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.uniqueArray(fc.oneof(window, window, run, mark), { maxLength: 5, selector: named }) },
);

const how: fc.Arbitrary<Partial<ReserveRequest>> = fc.record({
  unwritten: fc.boolean(),
  inference: fc.boolean(),
  windows,
  effect: fc.constantFrom("read", "write", "write"),
  onExpire: fc.constantFrom("void", "void", "post-accrued"),
  owner: fc.constantFrom(PROCESS, PROCESS, "process-0", "job:7"),
  leaseMs: fc.constantFrom(5_000, 60_000),
  slots: fc.constantFrom([], [{ scope: "calls", max: 2, code: "concurrency_limit" as const }]),
  idempotency: fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    {
      weight: 3,
      arbitrary: fc.record({
        key: fc.constantFrom("a", "a", "b"),
        fingerprint: fc.constantFrom("x", "x", "x", "x", "x", "y"),
        keepMs: fc.constantFrom(10_000, 24 * HOUR_MS, 24 * HOUR_MS),
      }),
    },
  ),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      ...{ do: fc.constant("reserve" as const), key, amount, how },
      hold: fc.constantFrom(-1, -1, -1, -1, -1, -1, 0, 3),
      skewMs: fc.constantFrom(...new Array<number>(20).fill(0), 31_000),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("post" as const), hold, amount, upstream: amount, before }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("overruns" as const), key, count: fc.constantFrom(1, 2, 3) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("settle" as const), hold, amount, upstream: amount, before }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ do: fc.constant("void" as const), hold, upstream: amount, origin: fc.boolean() },
      fate: fc.constantFrom<KeyFate[]>("free", "answered", "unknown"),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      ...{ do: fc.constant("extend" as const), hold: recent, accrued: amount, twice: fc.boolean() },
      amount: fc.oneof(amount, fc.constantFrom(3 * CENT, 5 * CENT, 7 * CENT)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("renew" as const), holds: fc.array(hold, { maxLength: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("sweep" as const), orphans: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("topUp" as const),
      reference: fc.nat({ max: 5 }),
      amount: fc.constantFrom(CENT, 2 * CENT, 9e15),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("refund" as const), hold: recent, again: fc.nat({ max: 1 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("freeze" as const), frozen: fc.constantFrom(true, false, false, false) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("cap" as const),
      cap: fc.constantFrom(0, 3 * CENT, 500 * CENT, 500 * CENT),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("strict" as const), strict: fc.constantFrom(true, false, false) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ do: fc.constant("key" as const), key, paused: fc.boolean() },
      limits: fc.record({
        ceilingNano: fc.constantFrom(null, null, null, nano(2 * CENT), nano(8 * CENT)),
        ceilingPeriod: fc.constantFrom<CeilingPeriod[]>("day", "week", "month"),
        services: fc.constantFrom(null, [], ["files", "some/action"]),
        models: fc.constantFrom(null, [], ["core/cheap"]),
        expiresAtMs: fc.constantFrom(null, 1, 2_000_000_000_000),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("deleteKey" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("time" as const),
      ms: fc.constantFrom(1, 6_000, 61_000, 61_000, 61_000, HOUR_MS, 15 * HOUR_MS, 24 * HOUR_MS, 6 * 24 * HOUR_MS),
      backward: fc.constantFrom(true, false, false),
    }),
  },
);

export const history: fc.Arbitrary<Step[]> = fc.array(step, { maxLength: 160, size: "max" });

/** Every kind of reply; a run that meets one too rarely proves too little. */
export const REPLIES: readonly string[] = [
  ..."held exists unknown_key frozen paused clock_skew insufficient ceiling inference_cap window_full slots".split(" "),
  ..."idempotency_in_progress idempotency_mismatch idempotency_done idempotency_unknown".split(" "),
]
  .map((outcome) => `reserve ${outcome}`)
  .concat(
    ["strict since", "marks passed", "post posted", "post repeat", "post missing", "post voided", "post expired"],
    ["idempotency_done after posted", "idempotency_done after voided"],
    ["idempotency_unknown after expired", "idempotency_unknown after voided"],
    ["void voided", "void exists", "void posted", "void expired"],
    [
      "extend extended",
      "extend gone",
      "extend insufficient",
      "extend ceiling",
      "extend inference_cap",
      "extend window_full",
    ],
    ["full of charge", "full of unpaid"],
    ["extend frozen", "extend paused", "extend unknown_key"],
    ["topUp credited", "topUp exists", "topUp too_much"],
    ["refund refunded", "refund exists", "refund unknown_transaction"],
  );

/** Replies that only a store that can forget gives. */
export const SHARED_REPLIES: readonly string[] = [
  ...["settle posted", "settle repeat", "settle voided", "settled as an orphan", "settled late"],
  ...["settled late in part", "idempotency_done after late"],
];

/** Plays one history on its own account. */
export async function play(store: TestStore, steps: readonly Step[], account: string, count: (reply: string) => void) {
  const { clock } = store;
  const Model = store.shared ? SharedModelAccount : ModelAccount;
  const model = new Model(500 * CENT, clock.epochMs(), clock.elapsedMs());
  await store.ledger.openAccount(newAccount(account, 6, { inferenceCapNano: nano(500 * CENT) }));
  model.topUp(`open_${account}`, 6 * CENT, "opening credit");
  for (const [at, keyId] of keyIds(account).entries()) {
    if (at > 0) await store.ledger.createKey(account, newKey(keyId));
    model.keys.set(keyId, { paused: false, ...NO_LIMITS });
  }
  const state: RunState = { store, model, account, at: 0, made: 0, asked: new Map(), count };
  try {
    await playSteps(state, steps);
    model.epochMs = clock.epochMs();
    if (model instanceof SharedModelAccount) countLate(model, count);
    await compare(store.ledger, model, account);
  } finally {
    await endHolds(store.ledger, account, state.made);
  }
}

function countLate({ orphans, late, postings }: SharedModelAccount, count: (reply: string) => void): void {
  for (const { id, absorbed } of postings) {
    if (orphans.has(id)) count("settled as an orphan");
    if (late.has(id)) count(absorbed > 0 ? "settled late in part" : "settled late");
  }
}

/** The sweep covers all accounts, so a history must leave no holds to the next. */
async function endHolds(ledger: Ledger, account: string, made: number): Promise<void> {
  for (let hold = 0; hold <= made; hold++) {
    await ledger.void({ accountId: account, holdId: `${account}.h${hold}` }, "the history ended");
  }
}

async function playSteps(state: RunState, steps: readonly Step[]): Promise<void> {
  const { count } = state;
  for (const [at, step] of steps.entries()) {
    const [said, expected] = await take(Object.assign(state, { at }), step);
    expect(said, `step ${at}: ${JSON.stringify(step)}`).toEqual(expected);
    if (said && typeof said === "object" && "outcome" in said) {
      count(`${step.do} ${"repeat" in said && said.repeat ? "repeat" : said.outcome}`);
      if ("marked" in said) count("marks passed");
      if ("counts" in said) count(`full of ${said.counts}`);
      if ("holdId" in said) count(`${said.outcome} after ${endOf(state.model, String(said.holdId))}`);
    }
  }
}

function endOf(model: ModelAccount, holdId: string): string {
  if (model instanceof SharedModelAccount && model.late.has(holdId)) return "late";
  return String(model.ended.get(holdId));
}

function keyIds(account: string): string[] {
  return [`${account}.key`, `${account}.key1`, `${account}.key2`];
}

interface RunState {
  readonly store: TestStore;
  readonly model: ModelAccount;
  readonly account: string;
  /** The index of the step. */
  at: number;
  /** The number of requested holds. */
  made: number;
  /** The request of each hold, granted or refused. */
  readonly asked: Map<string, ReserveRequest>;
  readonly count: (reply: string) => void;
}

/** Plays one step on both sides: the ledger's reply, and the expected one. */
async function take(state: RunState, step: Step): Promise<readonly [unknown, unknown]> {
  const { store, model, account, at } = state;
  const { ledger, clock } = store;
  const ref = (ago: number): HoldRef => ({
    accountId: account,
    holdId: `${account}.h${Math.max(0, state.made - 1 - ago)}`,
  });
  const keyId = (number: number) => keyIds(account)[number] as string;
  model.epochMs = clock.epochMs();
  model.elapsedMs = clock.elapsedMs();
  switch (step.do) {
    case "reserve": {
      const hold = { ...ref(step.hold), cents: 0, nowMs: clock.epochMs() + step.skewMs };
      const windows = step.how.windows?.map((one) =>
        one.scope === "key:" ? { ...one, scope: `key:${keyId(step.key)}` } : one,
      );
      const how = { ...step.how, ...(windows === undefined ? {} : { windows }) };
      const { live, ended, buriedMs } = model;
      const isNew = ![live, ended, buriedMs].some((known) => known.has(hold.holdId));
      const request = holdRequest(hold, { ...how, isNew, keyId: keyId(step.key), amountNano: nano(step.amount) });
      if (step.hold === -1) state.made += 1;
      const said = await ledger.reserve(request);
      if (said.outcome !== "exists") state.asked.set(hold.holdId, request);
      return [said, model.reserve(request)];
    }
    case "post": {
      const cost = { amountNano: nano(step.amount), upstreamNano: nano(step.upstream), ...besideOf(step.before) };
      const request = postRequest({ ...ref(step.hold), cents: 0 }, cost);
      return [await ledger.post(request), model.post(request)];
    }
    case "overruns": {
      const said: unknown[] = [];
      const expected: unknown[] = [];
      for (let call = 0; call < step.count; call++) {
        const hold = { ...ref(-1), cents: 0, nowMs: clock.epochMs() };
        const placed = holdRequest(hold, { keyId: keyId(step.key), inference: false });
        state.made += 1;
        state.asked.set(hold.holdId, placed);
        const request = postRequest({ ...hold, cents: 2 });
        said.push(await ledger.reserve(placed), await ledger.post(request));
        expected.push(model.reserve(placed), model.post(request));
      }
      if (said.some((one) => typeof one === "object" && one !== null && "strict" in one)) state.count("strict since");
      return [said, expected];
    }
    case "settle": {
      if (store.sharedLedger === null || !(model instanceof SharedModelAccount)) return [null, null];
      const hold = { ...ref(step.hold), cents: 0, nowMs: clock.epochMs() };
      const origin = state.asked.get(hold.holdId) ?? holdRequest(hold, { keyId: keyId(0), amountNano: nano(2 * CENT) });
      const before = besideOf(step.before);
      const cost = { amountNano: nano(step.amount), upstreamNano: nano(step.upstream), ...before };
      const request = postRequest(hold, cost);
      const why = model.holdState(hold.holdId) === null ? "orphan" : "late";
      return [
        await store.sharedLedger.settleOrphan(request, origin, why),
        model.settleOrphan(request, origin, why),
      ] as const;
    }
    case "void": {
      const { holdId } = ref(step.hold);
      const end = { keyFate: step.fate, upstreamNano: nano(step.upstream) };
      const origin = step.origin ? state.asked.get(holdId) : undefined;
      if (origin === undefined || store.sharedLedger === null || !(model instanceof SharedModelAccount))
        return [await ledger.void(ref(step.hold), "test", end), model.void(holdId, end)] as const;
      return [
        await store.sharedLedger.voidOrphan(ref(step.hold), end, origin),
        model.voidOrphan(holdId, end, origin),
      ] as const;
    }
    case "extend": {
      const extend = () => ledger.extend(ref(step.hold), nano(step.amount), nano(step.accrued), 60_000);
      const said = await extend();
      if (step.twice) expect(await extend(), "the same again").toEqual(said);
      return [said, model.extend(ref(step.hold).holdId, nano(step.amount), nano(step.accrued), 60_000)];
    }
    case "renew": {
      const refs = step.holds.map(ref);
      return [
        await ledger.renew(refs, 60_000),
        model.renew(
          refs.map((hold) => hold.holdId),
          60_000,
        ),
      ];
    }
    case "sweep": {
      // In a shared store no owner is known to be dead, and every hold ends with its own lease.
      const orphans = step.orphans && !store.shared;
      const said = await (step.orphans ? ledger.sweep(1_000, PROCESS) : ledger.sweep(1_000));
      return [[...said].sort(), model.sweep(orphans ? PROCESS : null).sort()];
    }
    case "topUp": {
      const [id, reference] = [`${account}.t${at}`, `reference ${step.reference}`];
      return [await ledger.topUp(account, id, nano(step.amount), reference), model.topUp(id, step.amount, reference)];
    }
    case "refund": {
      const [of, id] = [ref(step.hold).holdId, `${account}.r${at}`];
      return [await ledger.refund(of, id, "test"), model.refund(of, id)];
    }
    default:
      return change(state, step, keyId);
  }
}

type Change = Extract<Step, { do: "freeze" | "cap" | "strict" | "key" | "deleteKey" | "time" }>;

async function change({ store, model, account }: RunState, step: Change, keyId: (number: number) => string) {
  const { ledger, clock } = store;
  switch (step.do) {
    case "freeze":
    case "cap": {
      const patch = step.do === "freeze" ? { frozen: step.frozen } : { inferenceCapNano: nano(step.cap) };
      model.patch(patch);
      const row = await ledger.patchAccount(account, patch);
      return [
        [row?.frozen, row?.inferenceCapNano],
        [model.frozen, model.inferenceCapNano],
      ] as const;
    }
    case "strict": {
      model.patch({ strictBounds: step.strict });
      const row = await ledger.patchAccount(account, { strictBounds: step.strict });
      return [row?.strictBounds, model.strictBounds] as const;
    }
    case "key": {
      const patch = { paused: step.paused, ...step.limits };
      const id = keyId(step.key);
      model.patchKey(id, patch);
      const row = await ledger.patchKey(account, id, patch);
      return [row === null, !model.keys.has(id)] as const;
    }
    case "deleteKey":
      return [await ledger.deleteKey(account, keyId(2)), model.keys.delete(keyId(2))] as const;
    case "time":
      // A server counts leases on its own clock: while that clock is behind, they last longer.
      if (step.backward && !store.shared) clock.setEpochMs(clock.epochMs() - step.ms);
      else clock.advance(step.ms);
      return [null, null] as const;
  }
}

/** Compares everything readable of the account. */
async function compare(ledger: Ledger, model: ModelAccount, account: string): Promise<void> {
  const row = await ledger.account(account);
  expect(row).toMatchObject({
    grantedNano: model.sum("credit"),
    spentNano: model.sum("charge"),
    heldNano: model.held(),
    absorbedNano: model.absorbed(),
    frozen: model.frozen,
    strictBounds: model.strictBounds,
  });
  const atMs = Math.max(model.clockMs, model.epochMs);
  const scopes = ["group:7", "tag:team=red"];
  const runs = ["run:one", "run:one.child"].map((scope) => ({ scope, period: "run" as const }));
  expect(await ledger.periodSums(account, runs)).toEqual(runs.map(({ scope }) => model.ofScope(scope, "run", atMs)));
  const costs = ["unpaid", "unpaid:key", "margin", "unpaid:group:7"];
  expect(await ledger.spentToday(account, [...scopes, ...costs])).toEqual([
    ...scopes.map((scope) => model.ofScope(scope, "day", atMs).spentNano),
    ...costs.map((scope) => model.cost(scope, "day", atMs)),
  ]);
  for (const key of await ledger.keys(account)) {
    const expected = model.keys.get(key.keyId);
    expect(key).toMatchObject({ ...expected });
    const period = expected?.ceilingNano == null ? "day" : (expected.ceilingPeriod ?? "day");
    const used = model.ofKey(key.keyId, period, atMs);
    expect([key.periodSpentNano, key.periodHeldNano]).toEqual([used.spentNano, used.heldNano]);
  }
  const seen: unknown[] = [];
  for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
    const page: Awaited<ReturnType<Ledger["transactions"]>> = await ledger.transactions({
      ...{ accountId: account, keyId: null, limit: 3, cursor },
    });
    for (const { transactionId, kind, amountNano, chargedCents } of page.rows) {
      seen.push([transactionId, kind, amountNano, chargedCents]);
    }
    cursor = page.next;
  }
  expect(seen).toEqual(model.postings.map(({ id, kind, amount, cents }) => [id, kind, amount, cents]).reverse());
}
