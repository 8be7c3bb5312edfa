// The contract of every ledger, for any backend. A store's test calls `ledgerContract` with a function that opens one.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { nano, ZERO } from "../../../../src/core/money.ts";
import { dayOf, periodEnd } from "../../../../src/money/ledger/model/windows.ts";
import { CENT, charge, holdRequest, newAccount, postRequest } from "../requests.ts";
import type { TestStore } from "../store.ts";
import { booksContract } from "./books.ts";
import { broughtContract } from "./brought.ts";
import { idempotencyContract } from "./idempotency.ts";
import { keptContract } from "./kept.ts";
import { legsContract } from "./legs.ts";
import { stageOf } from "./stage.ts";
import { strictContract } from "./strict.ts";
import { windowsContract } from "./windows.ts";

const DAY_MS = 86_400_000;
/** A server may need to be installed first. */
const OPEN_MS_MAX = 300_000;

export function ledgerContract(name: string, open: () => Promise<TestStore>): void {
  describe(`${name}: the ledger's contract`, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await open();
    }, OPEN_MS_MAX);
    afterAll(() => store.dispose());
    beforeEach(async () => {
      store.clock.advance(120_000);
      for (let ended = 1; ended > 0; ) ended = (await store.ledger.sweep(1_000)).length;
    });

    const stage = stageOf(() => store);
    const { account } = stage;

    /** 512 concurrent holds, of which the bound admits 100. */
    async function stampede(to: Awaited<ReturnType<typeof account>>): Promise<Map<string, number>> {
      const calls = Array.from({ length: 512 }, (_, at) => store.ledger.reserve(holdRequest(to.hold(at, 1))));
      const outcomes = new Map<string, number>();
      for (const { outcome } of await Promise.all(calls)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      return outcomes;
    }

    test("512 reserves at once on a balance for 100: exactly 100 are held", async () => {
      const to = await account(100);
      expect(Object.fromEntries(await stampede(to))).toEqual({ held: 100, insufficient: 412 });
    });

    test("512 reserves at once under a ceiling for 100: exactly 100 are held", async () => {
      const to = await account(100_000);
      await store.ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(100 * CENT), ceilingPeriod: "month" });
      expect(Object.fromEntries(await stampede(to))).toEqual({ held: 100, ceiling: 412 });
    });

    test("512 reserves at once under an inference cap for 100: exactly 100 are held", async () => {
      const to = await account(100_000, { inferenceCapNano: nano(100 * CENT) });
      expect(Object.fromEntries(await stampede(to))).toEqual({ held: 100, inference_cap: 412 });
    });

    test("a slot is taken by the reserve and freed by whatever ends the hold", async () => {
      const to = await account(100);
      const slots = [{ scope: "deep jobs", max: 2, code: "too_many_inflight" as const }];
      const reserve = (id: number) => store.ledger.reserve(holdRequest(to.hold(id, 1), { slots }));
      expect((await Promise.all([1, 2, 3].map(reserve))).map(({ outcome }) => outcome)).toEqual([
        "held",
        "held",
        "slots",
      ]);
      await store.ledger.post(postRequest(to.hold(1, 1)));
      await store.ledger.void(to.hold(2, 1), "test");
      expect((await Promise.all([4, 5, 6].map(reserve))).map(({ outcome }) => outcome)).toEqual([
        "held",
        "held",
        "slots",
      ]);
    });

    test("a refusal says what would have been possible", async () => {
      const to = await account(10);
      await store.ledger.reserve(holdRequest(to.hold("a", 4)));
      expect(await store.ledger.reserve(holdRequest(to.hold("b", 7)))).toEqual({
        ...{ outcome: "insufficient", freeNano: 6 * CENT, heldNano: 4 * CENT, balanceNano: 10 * CENT },
      });
      await store.ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(5 * CENT), ceilingPeriod: "week" });
      expect(await store.ledger.reserve(holdRequest(to.hold("c", 2)))).toEqual({
        ...{ outcome: "ceiling", period: "week", ceilingNano: 5 * CENT, spentNano: 0, heldNano: 4 * CENT },
        absorbedNano: 0,
        resetsAtMs: periodEnd("week", dayOf(store.clock.epochMs())) * DAY_MS,
      });
    });

    test("a post takes what the call cost and gives the rest back; above the hold it is absorbed", async () => {
      const to = await account(10);
      await store.ledger.reserve(holdRequest(to.hold("a", 4)));
      expect(await store.ledger.post(postRequest(to.hold("a", 1)))).toEqual({
        ...{
          outcome: "posted",
          repeat: false,
          chargedNano: CENT,
          chargedCents: 1,
          absorbedNano: 0,
          balanceNano: 9 * CENT,
        },
      });
      await store.ledger.reserve(holdRequest(to.hold("b", 2)));
      expect(await store.ledger.post(postRequest(to.hold("b", 5)))).toMatchObject({
        ...{ chargedNano: 2 * CENT, absorbedNano: 3 * CENT, balanceNano: 7 * CENT },
      });
      expect(await store.ledger.account(to.accountId)).toMatchObject({ spentNano: 3 * CENT, heldNano: 0 });
      expect(await store.ledger.transaction(to.accountId, to.hold("b", 0).holdId)).toMatchObject({
        ...{ kind: "charge", absorbedNano: 3 * CENT, absorbReason: "usage_above_hold", provider: "vendor" },
        ...{ requestId: `request of ${to.hold("b", 0).holdId}`, usage: { inputTokens: 10 }, upstreamNano: 7 },
      });
    });

    test("cents add up to the cents of the spend, at any price", async () => {
      const to = await account(100);
      let cents = 0;
      let spent = 0;
      for (const amount of [1, 9_999_999, 1, 3_333_333, 3_333_333, 3_333_334, 25_000_001, 0, 7]) {
        const hold = to.hold(`c${spent}`, 0);
        await store.ledger.reserve(holdRequest(hold, { amountNano: nano(amount) }));
        const posted = await store.ledger.post(postRequest(hold, { amountNano: nano(amount) }));
        if (posted.outcome === "posted" && !posted.repeat) cents += posted.chargedCents;
        spent += amount;
        expect(cents).toBe(Math.ceil(spent / CENT));
      }
    });

    test("operations sent twice and late change nothing", async () => {
      const to = await account(10);
      const hold = to.hold("a", 3);
      const reserve = () => store.ledger.reserve(holdRequest(hold));
      expect(await Promise.all([reserve(), reserve()])).toEqual([
        { outcome: "held" },
        { outcome: "exists", state: "held" },
      ]);
      const posts = await Promise.all([1, 2, 3].map((cents) => store.ledger.post(postRequest(to.hold("a", cents)))));
      expect(posts.map((post) => post.outcome === "posted" && [post.repeat, post.chargedNano])).toEqual([
        [false, CENT],
        [true, CENT],
        [true, CENT],
      ]);
      expect(await store.ledger.void(hold, "late")).toEqual({ outcome: "posted" });
      expect(await reserve()).toEqual({ outcome: "exists", state: "posted" });
      expect(await store.ledger.void(to.hold("b", 0), "its reserve is still on the way")).toEqual({
        outcome: "voided",
      });
      expect(await store.ledger.reserve(holdRequest(to.hold("b", 1)))).toEqual({ outcome: "exists", state: "voided" });
      expect(await store.ledger.post(postRequest(to.hold("b", 1)))).toEqual({ outcome: "voided" });
      expect(await store.ledger.account(to.accountId)).toMatchObject({ spentNano: CENT, heldNano: 0 });
    });

    test("a hold that is told twice to grow grows once, in everything that it is counted in", async () => {
      const to = await account(10);
      const { ledger } = store;
      await ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(8 * CENT), ceilingPeriod: "day" });
      await ledger.reserve(holdRequest(to.hold("a", 2)));
      const grow = (cents: number) => ledger.extend(to.hold("a", 0), nano(cents * CENT), nano(CENT), 60_000);
      const grown = { outcome: "extended", amountNano: 5 * CENT };
      expect(await Promise.all([grow(5), grow(5)])).toEqual([grown, grown]);
      // A late older request takes nothing away.
      expect(await grow(3)).toEqual(grown);
      expect(await ledger.account(to.accountId)).toMatchObject({ heldNano: 5 * CENT });
      expect(await ledger.keys(to.accountId)).toMatchObject([{ periodHeldNano: 5 * CENT }]);
      const short = { outcome: "ceiling", heldNano: 5 * CENT };
      expect([await grow(9), await grow(9)]).toMatchObject([short, short]);
      expect(await ledger.post(postRequest(to.hold("a", 7)))).toMatchObject({
        ...{ chargedNano: 5 * CENT, absorbedNano: 2 * CENT },
      });
      expect(await grow(5)).toEqual({ outcome: "gone", state: "posted" });
      expect((await ledger.doctor()).findings).toEqual([]);
    });

    test("another account cannot touch a hold", async () => {
      const [owner, other] = [await account(10), await account(10)];
      await store.ledger.reserve(holdRequest(owner.hold("a", 3)));
      const stolen = { ...owner.hold("a", 1), accountId: other.accountId };
      expect(await store.ledger.post(postRequest(stolen))).toEqual({ outcome: "missing" });
      expect(await store.ledger.renew([stolen], 1)).toEqual([stolen.holdId]);
      await store.ledger.void(stolen, "stolen");
      expect(await store.ledger.account(owner.accountId)).toMatchObject({ heldNano: 3 * CENT });
    });

    test("a call across midnight counts for the day of its reserve", async () => {
      const to = await account(100);
      await store.ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(5 * CENT), ceilingPeriod: "day" });
      store.clock.advance(DAY_MS - (store.clock.epochMs() % DAY_MS) - 1_000);
      await store.ledger.reserve(holdRequest(to.hold("late", 5)));
      store.clock.advance(2_000);
      expect(await store.ledger.reserve(holdRequest(to.hold("early", 5)))).toEqual({ outcome: "held" });
      await store.ledger.post(postRequest(to.hold("late", 5)));
      expect(await store.ledger.keys(to.accountId)).toMatchObject([{ periodSpentNano: 0, periodHeldNano: 5 * CENT }]);
      await store.ledger.void(to.hold("early", 0), "test");
    });

    test("a clock that falls back opens no new window; one that leaps forward is not believed at once", async () => {
      const to = await account(100, { inferenceCapNano: nano(2 * CENT) });
      await charge(store.ledger, to.hold("a", 2));
      store.clock.setEpochMs(store.clock.epochMs() - 2 * DAY_MS);
      expect(await store.ledger.reserve(holdRequest(to.hold("b", 2)))).toMatchObject({ outcome: "inference_cap" });
      const other = await account(10);
      await store.ledger.reserve(holdRequest(other.hold("a", 2)));
      store.clock.setEpochMs(store.clock.epochMs() + 40 * DAY_MS);
      expect(await store.ledger.reserve(holdRequest(other.hold("b", 2)))).toEqual({ outcome: "clock_skew" });
      expect(await store.ledger.post(postRequest(other.hold("a", 2)))).toMatchObject({ outcome: "posted" });
      const posting = await store.ledger.transaction(null, other.hold("a", 0).holdId);
      expect(posting?.createdAtMs).toBeLessThan(store.clock.epochMs() - 30 * DAY_MS);
      store.clock.advance(61_000);
      expect(await store.ledger.reserve(holdRequest(other.hold("b", 2)))).toEqual({ outcome: "held" });
    });

    test.each([
      ["forward by minutes", 6 * 60_000],
      ["forward by days", 40 * DAY_MS],
      ["backward by minutes", -6 * 60_000],
      ["backward by days", -40 * DAY_MS],
    ])("a call and a job that run while the clock leaps %s end and are charged", async (_, leapMs) => {
      const to = await account(100);
      const { ledger, clock } = store;
      expect(await ledger.reserve(holdRequest(to.hold("call", 5)))).toEqual({ outcome: "held" });
      await ledger.reserve(holdRequest(to.hold("early", 5)));
      await ledger.reserve(holdRequest(to.hold("job", 5), { onExpire: "post-accrued", owner: "job:1" }));
      clock.advance(1_000);
      clock.setEpochMs(clock.epochMs() + leapMs);
      clock.advance(1_000);
      expect(await ledger.post(postRequest(to.hold("early", 5)))).toMatchObject({ outcome: "posted" });
      const extended = await ledger.extend(to.hold("job", 0), nano(6 * CENT), nano(2 * CENT), 120_000);
      expect(extended).toMatchObject({ outcome: "extended" });
      const running = ["call", "job"].map((id) => to.hold(id, 0));
      for (let second = 0; second < 90; second += 15) {
        clock.advance(15_000);
        await ledger.renew(running, 60_000);
        expect(await ledger.sweep(100)).toEqual([]);
      }
      expect(await ledger.post(postRequest(to.hold("call", 5)))).toMatchObject({ outcome: "posted" });
      expect(await ledger.post(postRequest(to.hold("job", 6)))).toMatchObject({ outcome: "posted" });
      expect(await ledger.keys(to.accountId)).toMatchObject([{ periodHeldNano: 0 }]);
    });

    test("a caller whose clock differs is refused", async () => {
      const to = await account(10);
      const nowMs = store.clock.epochMs() - 31_000;
      expect(await store.ledger.reserve(holdRequest(to.hold("a", 1), { nowMs }))).toEqual({ outcome: "clock_skew" });
    });

    idempotencyContract(stage);
    booksContract(stage);
    windowsContract(stage);
    broughtContract(stage);
    strictContract(stage);
    legsContract(stage);
    keptContract(stage);

    describe("leases", () => {
      test("a hold whose lease has ended is voided, or posted as far as it was used", async () => {
        const to = await account(100);
        const { ledger, clock } = store;
        await ledger.reserve(holdRequest(to.hold("call", 5)));
        await ledger.reserve(holdRequest(to.hold("job", 5), { onExpire: "post-accrued", owner: "job:1" }));
        await ledger.extend(to.hold("job", 0), nano(6 * CENT), nano(2 * CENT), 60_000);
        clock.advance(59_999);
        expect(await ledger.sweep(100)).toEqual([]);
        clock.advance(1);
        expect([...(await ledger.sweep(100))].sort()).toEqual([to.hold("call", 0).holdId, to.hold("job", 0).holdId]);
        expect(await ledger.post(postRequest(to.hold("call", 5)))).toEqual({ outcome: "expired" });
        expect(await ledger.post(postRequest(to.hold("job", 5)))).toMatchObject({
          repeat: true,
          chargedNano: 2 * CENT,
        });
        expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 2 * CENT, heldNano: 0 });
      });

      test("a renewed lease does not end; a sweep ends no more than it was told", async () => {
        const to = await account(100);
        const { ledger, clock } = store;
        for (const id of [1, 2, 3]) await ledger.reserve(holdRequest(to.hold(id, 1)));
        clock.advance(40_000);
        expect(await ledger.renew([to.hold(1, 0), to.hold("no", 0)], 60_000)).toEqual([to.hold("no", 0).holdId]);
        clock.advance(40_000);
        expect(await ledger.sweep(1)).toHaveLength(1);
        expect(await ledger.sweep(9)).toHaveLength(1);
        expect(await ledger.account(to.accountId)).toMatchObject({ heldNano: CENT });
        await ledger.void(to.hold(1, 0), "test");
      });

      test("at start the holds of dead processes end at once, those of jobs keep their whole lease", async () => {
        const to = await account(100);
        await store.ledger.reserve(holdRequest(to.hold("call", 5)));
        await store.ledger.reserve(holdRequest(to.hold("job", 5), { owner: "job:1" }));
        if (store.shared) {
          // A dead process looks like a busy one: every hold stands until its lease has ended.
          const other = await store.reopen();
          store.clock.advance(59_999);
          expect(await other.sweep(100, "process-2")).toEqual([]);
          store.clock.advance(1);
          expect(await other.sweep(100, "process-2")).toHaveLength(2);
          return;
        }
        store.clock.advance(10 * 60_000);
        const ledger = await store.reopen();
        expect(await ledger.sweep(100, "process-2")).toEqual([to.hold("call", 0).holdId]);
        store.clock.advance(59_999);
        expect(await ledger.sweep(100, "process-2")).toEqual([]);
        store.clock.advance(1);
        expect(await ledger.sweep(100, "process-2")).toEqual([to.hold("job", 0).holdId]);
      });
    });

    test("an account is opened once, and can be changed and frozen", async () => {
      const to = await account(10);
      const { ledger } = store;
      expect(await ledger.openAccount(newAccount(to.accountId, 99))).toBe("exists");
      const patch = { frozen: true, requestsPerMinute: 5, inFlightMax: 2, name: "renamed" };
      expect(await ledger.patchAccount(to.accountId, patch)).toMatchObject({ ...patch, grantedNano: 10 * CENT });
      expect(await ledger.reserve(holdRequest(to.hold("a", 1)))).toEqual({ outcome: "frozen" });
      expect(await ledger.account("nobody")).toBeNull();
      expect(await ledger.patchAccount("nobody", patch)).toBeNull();
      expect(await ledger.reserve(holdRequest({ ...to.hold("b", 1), accountId: "nobody" }))).toEqual({
        outcome: "unknown_account",
      });
    });

    test("accounts are found by a part of their name or id, or by a key's id, a page at a time", async () => {
      const to = await Promise.all([account(1), account(1), account(1)]);
      const ids = to.map(({ accountId }) => accountId).sort();
      for (const id of ids) await store.ledger.patchAccount(id, { name: `Ada's Orchard` });
      const found = async (text: string, limit = 10, after: string | null = null) =>
        (await store.ledger.accounts({ limit, after, text })).map(({ accountId }) => accountId);
      expect((await found("s orch")).sort()).toEqual(ids);
      expect(await found("orchard no more")).toEqual([]);
      expect(await found("%")).toEqual([]);
      for (const id of ids) expect(await found(id)).toEqual([id]);
      expect(await found(`${ids[1]}.key`)).toEqual([ids[1]]);
      const first = await found("ORCHARD", 2);
      expect([...first, ...(await found("ORCHARD", 2, first.at(-1)))].sort()).toEqual(ids);
    });

    test("an amount that is no whole number of nano-USD is our bug, and is thrown", async () => {
      const to = await account(10);
      expect(() => store.ledger.reserve(holdRequest(to.hold("a", 0), { amountNano: -1 as never }))).toThrow(RangeError);
      expect(() => store.ledger.post(postRequest(to.hold("a", 0), { amountNano: 0.5 as never }))).toThrow(RangeError);
    });

    test("everything is there after closing and opening again, and the doctor finds nothing", async () => {
      const to = await account(50);
      await charge(store.ledger, to.hold("a", 3));
      await store.ledger.reserve(holdRequest(to.hold("b", 5)));
      await store.ledger.extend(to.hold("b", 0), nano(6 * CENT), ZERO, 60_000);
      const sandbox = await account(50, { kind: "sandbox" });
      await charge(store.ledger, sandbox.hold("a", 3));
      await store.ledger.reserve(holdRequest(sandbox.hold("c", 2)));
      const [accounts, keys] = [await store.ledger.accounts(), await store.ledger.keys(to.accountId)];
      const ledger = await store.reopen();
      expect(await ledger.accounts()).toEqual(accounts);
      const pages: string[][] = [];
      for (let after: string | null = null; pages.at(-1)?.length !== 0; after = pages.at(-1)?.at(-1) ?? null) {
        pages.push((await ledger.accounts({ limit: 2, after })).map(({ accountId }) => accountId));
      }
      expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(2);
      expect(pages.flat().sort()).toEqual(accounts.map(({ accountId }) => accountId).sort());
      expect(await ledger.keys(to.accountId)).toEqual(keys);
      const sum = (name: "heldNano" | "spentNano" | "absorbedNano") =>
        accounts.reduce((all, row) => all + row[name], 0);
      expect(await ledger.totals()).toMatchObject({
        accounts: accounts.length,
        heldNano: sum("heldNano"),
        spentNano: String(sum("spentNano")),
        absorbedNano: String(sum("absorbedNano")),
        play: { heldNano: 2 * CENT, spentNano: String(3 * CENT) },
      });
      expect((await ledger.doctor({ file: true })).findings).toEqual([]);
      expect(await ledger.post(postRequest(to.hold("b", 6)))).toMatchObject({
        outcome: "posted",
        chargedNano: 6 * CENT,
      });
    });
  });
}
