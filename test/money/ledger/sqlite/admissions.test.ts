// Holds that the process decides on itself: whatever else happens meanwhile, the storage thread would have decided the same.
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { Ledger, ReserveRequest } from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { openSqliteThread } from "../../../../src/platform/storage/sqlite-thread.ts";
import { folderForTest } from "../../../support/for-file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { CENT, holdRequest, newAccount, newKey, postRequest } from "../requests.ts";
import { NO_BOUNDS, openLedgerThread, START_MS } from "../store.ts";

let folder: string;
beforeEach(() => {
  folder = folderForTest("tollgate-admissions-");
});

const clock = manualClock(START_MS);
const hold = (holdId: string, cents: number) => ({ accountId: "a", holdId, cents, nowMs: clock.epochMs() });
/** As the gateway asks for the hold of a call. */
const call = (holdId: string, cents: number, more: Partial<ReserveRequest> = {}) =>
  holdRequest(hold(holdId, cents), { unwritten: true, isNew: true, ...more });

async function openDoubting(): Promise<Ledger> {
  const units = { ledger: new URL("./doubting-unit.ts", import.meta.url) };
  const onFatal = (error: Error) => console.error("the store broke:", error);
  const file = join(folder, "tollgate.db");
  return sqliteLedger(await openSqliteThread({ file, units, clock, disk: NO_BOUNDS, sharing: "readers", onFatal }));
}

const GROUP: Window = {
  ...{ scope: "group:7", period: "month", max: nano(15 * CENT), code: "api_key_limit_exceeded", counts: "charge" },
};
const RUN: Window = { ...GROUP, scope: "run:r1", period: "run", max: nano(9 * CENT), code: "budget_exceeded" };
const UNPAID: Window = {
  ...{
    scope: "unpaid",
    period: "day",
    max: nano(3 * CENT),
    code: "unpaid_costs",
    counts: "unpaid",
    widenedBy: "margin",
  },
};
const MARGIN: Window = { ...GROUP, scope: "margin", max: null, counts: "margin" };

const WINDOWS = [[], [GROUP], [GROUP, UNPAID, MARGIN], [RUN], [RUN, UNPAID, MARGIN]];
const DAYS_MS = 86_400_000;
/** Below the inference cap, and above any balance; above the cap. */
const TOO_MUCH = [4_000, 10_000];

const CALLS = ["call", "call", "call", "call", "post", "post", "void", "turn"] as const;
const CHANGES = ["topUp", "freeze", "pause", "ceiling", "refund", "letGo", "sweep", "midnight", "extend"] as const;
/** What an account has, and what happens to it: each kind of run meets other bounds. */
const story = fc.constantFrom(
  { credit: 8, kinds: [...CALLS, "wait", "check"] },
  { credit: 500, kinds: [...CALLS, "over", "wait", "check"] },
  { credit: 500, kinds: [...CALLS, "keyed", "kept", "midnight"] },
  { credit: 12, kinds: [...CALLS, ...CALLS, "over", "keyed", "kept", "wait", "check", ...CHANGES] },
  { credit: 500, kinds: [...CALLS, ...CALLS, "over", "keyed", "kept", "wait", "check", ...CHANGES] },
);
const step = fc.record({
  at: fc.nat(),
  cents: fc.constantFrom(0, 1, 2, 3),
  upstream: fc.constantFrom(0, 1, 4),
  windows: fc.constantFrom(...WINDOWS),
  isSecondKey: fc.boolean(),
  ago: fc.nat({ max: 5 }),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** A life of one account, whose operations nobody waits for unless a step says so. */
class Life {
  readonly #ledger: Ledger;
  readonly #accountId: string;
  readonly #pending: Promise<unknown>[] = [];
  readonly #held: string[] = [];
  readonly #charged: string[] = [];
  readonly #cents = new Map<string, number>();
  /** Holds whose end is sure to find them. */
  readonly #live = new Set<string>();
  readonly lost: string[] = [];
  #made = 0;

  constructor(ledger: Ledger, accountId: string) {
    this.#ledger = ledger;
    this.#accountId = accountId;
  }

  #id(): string {
    return `${this.#accountId}.${this.#made++}`;
  }

  #request(holdId: string, cents: number, more: Partial<ReserveRequest>): ReserveRequest {
    const hold = { accountId: this.#accountId, holdId, cents, nowMs: clock.epochMs() };
    return holdRequest(hold, { unwritten: true, isNew: true, leaseMs: 90 * DAYS_MS, ...more });
  }

  async take(kind: string, { cents, upstream, windows, isSecondKey, ago }: Step): Promise<void> {
    const accountId = this.#accountId;
    const keyId = `${accountId}.${isSecondKey ? "second" : "key"}`;
    const later = (work: Promise<unknown>) => void this.#pending.push(work);
    const holdId = this.#held.at(-1 - ago);
    const ref = { accountId, holdId: holdId ?? "" };
    if (kind === "turn") await new Promise((resolve) => setImmediate(resolve));
    else if (kind === "wait") await this.settle();
    else if (kind === "check") await this.check();
    else if (kind === "midnight") clock.advance(DAYS_MS / 4);
    else if (kind === "call" || kind === "keyed" || kind === "kept") this.#reserve(kind, { cents, windows, keyId });
    else if (kind === "topUp") later(this.#ledger.topUp(accountId, this.#id(), nano(CENT), `r${this.#made}`));
    else if (kind === "freeze") later(this.#ledger.patchAccount(accountId, { frozen: cents === 3 }));
    else if (kind === "pause") later(this.#ledger.patchKey(accountId, keyId, { paused: cents === 3 }));
    else if (kind === "sweep") later(this.#ledger.sweep(100));
    else if (kind === "ceiling") {
      const ceiling = { ceilingNano: nano(3 * cents * CENT), ceilingPeriod: "day" } as const;
      later(this.#ledger.patchKey(accountId, keyId, ceiling));
    } else if (kind === "refund") {
      const charged = this.#charged.at(-1 - ago);
      if (charged !== undefined) later(this.#ledger.refund(charged, `${charged}.r`, "test"));
    } else if (holdId === undefined) return;
    else if (kind === "letGo") {
      this.#live.delete(holdId);
      later(this.#ledger.letGo?.(ref) ?? Promise.resolve());
    } else if (kind === "extend") {
      later(this.#ledger.extend(ref, nano((cents + 1) * CENT), nano(0), 90 * DAYS_MS).catch(() => null));
    } else this.#end(kind, holdId, { cents: (this.#cents.get(holdId) ?? 0) + (kind === "over" ? cents : 0), upstream });
  }

  #reserve(kind: "call" | "keyed" | "kept", { cents, ...more }: { cents: number } & Partial<ReserveRequest>): void {
    const how: Record<typeof kind, Partial<ReserveRequest>> = {
      call: {},
      keyed: { idempotency: { key: `k${cents}`, fingerprint: "x", keepMs: 60_000 } },
      kept: { owner: "job:1", onExpire: "post-accrued" },
    };
    const slots = [{ scope: "calls", max: 4, code: "concurrency_limit" as const }];
    const holdId = this.#id();
    const placing = this.#ledger.reserve(this.#request(holdId, cents, { ...more, ...how[kind], slots }));
    this.#pending.push(
      placing.then(({ outcome }) => {
        if (outcome !== "held") return;
        this.#held.push(holdId);
        this.#cents.set(holdId, cents);
        this.#live.add(holdId);
      }),
    );
  }

  #end(kind: string, holdId: string, { cents, upstream }: { cents: number; upstream: number }): void {
    const isSure = this.#live.delete(holdId);
    const ref = { accountId: this.#accountId, holdId, cents };
    const cost = { upstreamNano: nano(upstream * CENT) };
    const ending: Promise<{ outcome: string }> =
      kind === "void" ? this.#ledger.void(ref, "test", cost) : this.#ledger.post(postRequest(ref, cost));
    const wanted = kind === "void" ? "voided" : "posted";
    this.#pending.push(
      ending.then(({ outcome }) => {
        if (isSure && outcome !== wanted) this.lost.push(`${holdId}: ${outcome}`);
        if (outcome === "posted") this.#charged.push(holdId);
      }),
    );
  }

  settle(): Promise<unknown> {
    return Promise.all(this.#pending.splice(0));
  }

  /** What the process says of each bound is what the storage thread says of it. */
  async check(): Promise<void> {
    await this.settle();
    const keys = [`${this.#accountId}.key`, `${this.#accountId}.second`];
    const asked = WINDOWS.flatMap((windows) =>
      keys.flatMap((keyId) => [0, ...TOO_MUCH].map((cents) => ({ windows, keyId, cents }))),
    );
    const said = async (isNew: boolean) => {
      const outcomes = [];
      for (const { cents, ...more } of asked) {
        const holdId = this.#id();
        const outcome = await this.#ledger.reserve(this.#request(holdId, cents, { ...more, isNew }));
        if (outcome.outcome === "held") await this.#ledger.void({ accountId: this.#accountId, holdId }, "test");
        outcomes.push(outcome);
      }
      return outcomes;
    };
    expect(await said(true)).toEqual(await said(false));
  }

  /** Ends all holds that are left; each must be there. */
  async end(): Promise<void> {
    await this.settle();
    for (const holdId of this.#live) this.#end("post", holdId, { cents: 0, upstream: 0 });
    await this.check();
    expect(this.lost).toEqual([]);
  }
}

test("operations that nobody waits for: what the process decides, the storage thread decides too", async () => {
  const ledger = await openDoubting();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(story, fc.array(step, { minLength: 30, maxLength: 90 }), async ({ credit, kinds }, steps) => {
      const accountId = `account-${round++}`;
      await ledger.openAccount(newAccount(accountId, credit, { inferenceCapNano: nano(5_000 * CENT) }));
      await ledger.createKey(accountId, newKey(`${accountId}.second`));
      const life = new Life(ledger, accountId);
      await life.check();
      for (const one of steps) await life.take(kinds[one.at % kinds.length] ?? "turn", one);
      await life.end();
    }),
    { numRuns: Number(process.env.LEDGER_MODEL_RUNS ?? 40) },
  );
  while ((await ledger.sweep(100)).length > 0);
  expect((await ledger.doctor()).findings).toEqual([]);
  await ledger.close();
});

test("a call of an account that is loaded asks nobody, and its hold reaches the storage thread before whatever follows", async () => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 100));
  expect(await ledger.reserve(call("first", 1))).toEqual({ outcome: "held" });
  expect(await ledger.reserve(call("second", 1))).toEqual({ outcome: "held" });
  const messages = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => messages.mockRestore());
  expect(await ledger.reserve(call("third", 2))).toEqual({ outcome: "held" });
  const tooMuch = await ledger.reserve(call("too much", 99));
  expect(tooMuch).toMatchObject({ outcome: "insufficient", freeNano: 96 * CENT, heldNano: 4 * CENT });
  await new Promise((resolve) => setImmediate(resolve));
  expect(messages).not.toHaveBeenCalled();
  expect(await ledger.account("a")).toMatchObject({ heldNano: 4 * CENT });
  expect(messages).toHaveBeenCalledOnce();
  expect(await ledger.post(postRequest(hold("third", 2)))).toMatchObject({ outcome: "posted", balanceNano: 98 * CENT });
  await ledger.close();
});

test("of 512 calls at once on a loaded account, exactly as many are admitted as it can pay for", async () => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 100));
  await ledger.reserve(call("first", 0, { windows: [GROUP] }));
  const outcomes = await Promise.all(
    Array.from({ length: 512 }, (_, at) => ledger.reserve(call(`h${at}`, 1, { windows: at % 2 ? [] : [GROUP] }))),
  );
  expect(outcomes.filter(({ outcome }) => outcome === "held")).toHaveLength(100);
  expect(await ledger.account("a")).toMatchObject({ heldNano: 100 * CENT });
  expect(await ledger.periodSums("a", [{ scope: "group:7", period: "month" }])).toMatchObject([
    { heldNano: 15 * CENT },
  ]);
  await ledger.close();
});

test("an end that takes more than its hold counts before it is on disk", async () => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 100));
  const windows = [GROUP, UNPAID];
  await ledger.reserve(call("first", 10, { windows }));
  await ledger.reserve(call("second", 1, { windows }));
  const above = ledger.post(postRequest(hold("first", 14)));
  expect(await ledger.reserve(call("too much", 2, { windows }))).toMatchObject({ scope: "group:7" });
  await above;
  const unpaid = ledger.post(postRequest(hold("second", 1), { upstreamNano: nano(5 * CENT) }));
  expect(await ledger.reserve(call("too dear", 0, { windows }))).toMatchObject({ scope: "unpaid" });
  await unpaid;
  await ledger.close();
});

test("a margin that grows widens the bound of unpaid costs at once", async () => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 100));
  const windows = [UNPAID, MARGIN];
  await ledger.reserve(call("dear", 1, { windows }));
  await ledger.reserve(call("cheap", 3, { windows }));
  await ledger.post(postRequest(hold("dear", 1), { upstreamNano: nano(5 * CENT) }));
  expect(await ledger.reserve(call("refused", 0, { windows }))).toMatchObject({ scope: "unpaid" });
  await ledger.post(postRequest(hold("cheap", 3), { upstreamNano: nano(0) }));
  expect(await ledger.reserve(call("admitted", 0, { windows }))).toEqual({ outcome: "held" });
  await ledger.close();
});

const HELD = { accountId: "a", holdId: "held" };
test.each<[string, (ledger: Ledger) => Promise<unknown> | undefined, cents: number, outcome: string]>([
  ["a frozen account", (ledger) => ledger.patchAccount("a", { frozen: true }), 0, "frozen"],
  ["a paused key", (ledger) => ledger.patchKey("a", "agent", { paused: true }), 0, "paused"],
  ["a deleted key", (ledger) => ledger.deleteKey("a", "agent"), 0, "unknown_key"],
  ["credit", (ledger) => ledger.topUp("a", "t", nano(CENT), "r"), 6, "held"],
  ["a refund", (ledger) => ledger.refund("charged", "charged.r", "test"), 6, "held"],
  ["a hold let go", (ledger) => ledger.letGo?.(HELD), 6, "held"],
  ["a hold that grows", (ledger) => ledger.extend(HELD, nano(6 * CENT), nano(0), 60_000), 1, "insufficient"],
])("%s counts in the next decision, though nobody waits for it", async (_, change, amount, outcome) => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 7));
  await ledger.createKey("a", newKey("agent"));
  const reserve = (id: string, cents: number) => ledger.reserve(call(id, cents, { keyId: "agent" }));
  await reserve("charged", 1);
  await ledger.post(postRequest(hold("charged", 1)));
  await reserve("held", 1);
  expect(await reserve("too much", 6)).toMatchObject({ outcome: "insufficient", freeNano: 5 * CENT });
  const changing = change(ledger);
  expect(await reserve("next", amount)).toMatchObject({ outcome });
  await changing;
  await ledger.close();
});

test("what a sweep frees can be held again", async () => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 3));
  await ledger.reserve(call("left", 3, { owner: "job:1", onExpire: "post-accrued" }));
  await ledger.letGo?.({ accountId: "a", holdId: "left" });
  expect(await ledger.reserve(call("early", 1))).toMatchObject({ outcome: "insufficient" });
  expect(await ledger.sweep(1)).toEqual(["left"]);
  expect(await ledger.reserve(call("late", 3))).toEqual({ outcome: "held" });
  await ledger.close();
});

test("an account with hundreds of holds is not loaded again until they have ended", async () => {
  const ledger = await openDoubting();
  await ledger.openAccount(newAccount("a", 1_000));
  const messages = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => messages.mockRestore());
  const messagesOf = async (id: string) => {
    messages.mockClear();
    expect(await ledger.reserve(call(id, 1))).toEqual({ outcome: "held" });
    return messages.mock.calls.length;
  };
  const many = Array.from({ length: 300 }, (_, at) => `many ${at}`);
  await messagesOf("first");
  await messagesOf("second");
  await Promise.all(many.map((id) => ledger.reserve(call(id, 1))));
  expect(await messagesOf("decided")).toBe(0);
  await ledger.topUp("a", "t", nano(CENT), "r");
  expect([await messagesOf("tried"), await messagesOf("asked")]).toEqual([2, 1]);
  await Promise.all(many.map((holdId) => ledger.void({ accountId: "a", holdId }, "test")));
  clock.advance(1_000);
  expect([await messagesOf("loaded"), await messagesOf("decided again")]).toEqual([1, 0]);
  await ledger.close();
});

test("with little room on the disk the process decides on no hold either", async () => {
  const file = join(folder, "tollgate.db");
  const roomy = sqliteLedger(await openLedgerThread(file, clock));
  await roomy.openAccount(newAccount("a", 100));
  // The first use of a key needs a row, which the storage thread would refuse anyway.
  await roomy.reserve(call("first", 1));
  await roomy.close();
  const tight = sqliteLedger(
    await openLedgerThread(file, clock, { ...NO_BOUNDS, freeBytesMin: Number.MAX_SAFE_INTEGER }),
  );
  for (const id of ["one", "two"])
    await expect(tight.reserve(call(id, 2))).rejects.toMatchObject({ code: "ledger_unavailable" });
  await tight.close();
});

test("a clock that falls back over midnight opens no day again; a new day opens with the next call", async () => {
  const time = manualClock(START_MS);
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), time));
  await ledger.openAccount(newAccount("a", 100, { inferenceCapNano: nano(3 * CENT) }));
  const at = (id: string, cents: number) => call(id, cents, { nowMs: time.epochMs() });
  await ledger.reserve(at("first", 1));
  await ledger.post(postRequest(hold("first", 1)));
  expect(await ledger.reserve(at("second", 2))).toEqual({ outcome: "held" });
  expect(await ledger.reserve(at("no room", 1))).toMatchObject({ outcome: "inference_cap" });
  time.advance(14 * 3_600_000 + 1_000);
  expect(await ledger.reserve(at("next day", 3))).toEqual({ outcome: "held" });
  time.setEpochMs(time.epochMs() - 5_000);
  expect(await ledger.reserve(at("day before", 1))).toMatchObject({ outcome: "inference_cap", heldNano: 3 * CENT });
  await ledger.close();
});

test("a hold that the storage thread places after midnight counts on the new day in the process, too", async () => {
  const time = manualClock(START_MS);
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), time));
  await ledger.openAccount(newAccount("a", 100, { inferenceCapNano: nano(3 * CENT) }));
  const at = (id: string, cents: number, more: Partial<ReserveRequest> = {}) =>
    ledger.reserve(call(id, cents, { nowMs: time.epochMs(), ...more }));
  time.advance(86_400_000 - (START_MS % 86_400_000) - 1_000);
  await at("first", 0);
  expect(await at("loaded", 0)).toEqual({ outcome: "held" });
  // The thread is busy with another operation, so this one waits for the next batch, which leaves after midnight.
  const busy = ledger.account("a");
  await Promise.resolve();
  const kept = at("kept", 3, { owner: "job:1", onExpire: "post-accrued" });
  time.advance(2_000);
  expect(await kept).toEqual({ outcome: "held" });
  expect(await at("too much", 1)).toMatchObject({ outcome: "inference_cap", heldNano: 3 * CENT });
  await busy;
  await ledger.close();
});
