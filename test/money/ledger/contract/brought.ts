// The contract of windows that a hold brings, for every ledger: budgets of any scope, and the unpaid cost of calls. A part of
// `ledgerContract`.
import { describe, expect, test } from "vitest";
import { type Nano, nano, ZERO } from "../../../../src/core/money.ts";
import type { ReserveRequest } from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { dayOf, periodEnd } from "../../../../src/money/ledger/model/windows.ts";
import { CENT, holdRequest, newKey, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

const DAY_MS = 86_400_000;

/** Budgets that the stores do not know. */
const GROUP: Window = {
  ...{ scope: "group:7", period: "month", max: nano(10 * CENT), code: "api_key_limit_exceeded", counts: "charge" },
};
const TAG: Window = { ...GROUP, scope: "tag:team=red%20one", period: "day", max: nano(4 * CENT) };
const UNPAID: Window = {
  ...{ scope: "unpaid", period: "day", max: nano(5 * CENT), code: "unpaid_costs", counts: "unpaid" },
  widenedBy: "margin",
};
const OF_KEY: Window = { ...UNPAID, scope: "unpaid:one", max: null };
const MARGIN: Window = { ...UNPAID, scope: "margin", max: null, counts: "margin" };
const COSTS = [UNPAID, OF_KEY, MARGIN];
const SUMS = ["unpaid", "unpaid:one", "margin"];

export function broughtContract(stage: Stage): void {
  const { account } = stage;
  type Account = Awaited<ReturnType<typeof account>>;
  const clean = async () => expect((await stage.store.ledger.doctor()).findings).toEqual([]);

  const reserve = (
    to: Account,
    id: string,
    cents: number,
    windows: readonly Window[],
    more: Partial<ReserveRequest> = {},
  ) => stage.store.ledger.reserve(holdRequest(to.hold(id, cents), { windows, ...more }));
  /** Posts `cents` for a call that cost us `cost`. */
  const post = (to: Account, id: string, cents: number, cost: number) =>
    stage.store.ledger.post(postRequest(to.hold(id, cents), { upstreamNano: nano(cost * CENT) }));
  const fail = (to: Account, id: string, cost: number) =>
    stage.store.ledger.void(to.hold(id, 0), "failed", { upstreamNano: nano(cost * CENT) });
  const sums = (to: Account) => stage.store.ledger.spentToday(to.accountId, SUMS);

  describe("budgets that a hold brings", () => {
    test("bound all keys that bring them, with what is spent, held and absorbed, over their period", async () => {
      const to = await account(100);
      const { ledger, clock } = stage.store;
      await ledger.createKey(to.accountId, newKey(`${to.accountId}.other`));
      const other = { keyId: `${to.accountId}.other`, inference: false };
      await reserve(to, "a", 2, [GROUP]);
      await post(to, "a", 5, 5);
      await reserve(to, "b", 3, [GROUP], other);
      expect(await reserve(to, "c", 3, [GROUP])).toEqual({
        ...{ outcome: "window_full", scope: "group:7", counts: "charge", code: "api_key_limit_exceeded" },
        ...{ maxNano: 10 * CENT, spentNano: 2 * CENT, heldNano: 3 * CENT, absorbedNano: 3 * CENT },
        resetsAtMs: periodEnd("month", dayOf(clock.epochMs())) * DAY_MS,
      });
      expect(await reserve(to, "c", 3, [])).toEqual({ outcome: "held" });
      expect(await reserve(to, "d", 2, [GROUP], other)).toEqual({ outcome: "held" });
      await clean();
    });

    test("take the bound that the request brings: a lower one refuses at once and takes nothing back", async () => {
      const to = await account(100);
      await reserve(to, "a", 4, [TAG]);
      const lower = { ...TAG, max: nano(2 * CENT) };
      expect(await reserve(to, "b", 0, [lower])).toMatchObject({ outcome: "window_full", heldNano: 4 * CENT });
      expect(await reserve(to, "b", 0, [{ ...TAG, max: null }])).toEqual({ outcome: "held" });
      await clean();
    });

    test("are one row each, and all have to have room", async () => {
      const to = await account(100);
      const refused = (id: string, cents: number) => reserve(to, id, cents, [GROUP, TAG]);
      expect(await refused("a", 11)).toMatchObject({ scope: GROUP.scope });
      expect(await refused("a", 5)).toMatchObject({ scope: TAG.scope });
      expect(await refused("a", 4)).toEqual({ outcome: "held" });
      await fail(to, "a", 0);
      expect(await refused("b", 4)).toEqual({ outcome: "held" });
      await clean();
    });

    test("bound a hold that grows, by what it was placed with", async () => {
      const to = await account(100);
      const { ledger } = stage.store;
      await reserve(to, "a", 1, [TAG]);
      const grow = (cents: number) => ledger.extend(to.hold("a", 0), nano(cents * CENT), ZERO, 60_000);
      expect(await grow(5)).toMatchObject({ outcome: "window_full", scope: TAG.scope, heldNano: CENT });
      expect(await grow(4)).toMatchObject({ outcome: "extended" });
      expect(await reserve(to, "b", 1, [TAG])).toMatchObject({ outcome: "window_full", heldNano: 4 * CENT });
      await clean();
    });

    test("are there after opening again, and so is what a kept hold takes of them", async () => {
      const to = await account(100);
      await reserve(to, "a", 2, [TAG]);
      await post(to, "a", 2, 2);
      await reserve(to, "job", 1, [TAG], { owner: "job:1", onExpire: "post-accrued" });
      await stage.store.reopen();
      expect(await reserve(to, "b", 2, [TAG])).toMatchObject({ spentNano: 2 * CENT, heldNano: CENT });
      expect(await reserve(to, "b", 1, [TAG])).toEqual({ outcome: "held" });
      await clean();
    });
  });

  describe("a run's window", () => {
    const run = (id: string, cents: number): Window => ({
      ...{ scope: `run:${id}`, period: "run", max: nano(cents * CENT), code: "run_budget_exceeded", counts: "charge" },
    });
    const [CHILD, PARENT] = [run("child", 4), run("parent", 6)];

    test("counts calls of any day, says what is left, and is bounded by its ancestors", async () => {
      const to = await account(100);
      expect(await reserve(to, "a", 2, [CHILD, PARENT])).toEqual({ outcome: "held", runLeftNano: 4 * CENT });
      expect(await post(to, "a", 3, 1)).toMatchObject({ runLeftNano: CENT, absorbedNano: CENT });
      stage.store.clock.advance(40 * DAY_MS);
      expect(await reserve(to, "b", 2, [CHILD, PARENT])).toMatchObject({
        ...{ outcome: "window_full", scope: "run:child", code: "run_budget_exceeded", maxNano: 4 * CENT },
        ...{ spentNano: 2 * CENT, heldNano: 0, absorbedNano: CENT },
      });
      expect(await reserve(to, "c", 3, [PARENT])).toMatchObject({ outcome: "held", runLeftNano: 3 * CENT });
      expect(await reserve(to, "d", 1, [CHILD, PARENT])).toMatchObject({ scope: "run:parent", heldNano: 3 * CENT });
      await clean();
    });

    test("names the run of a posting, and stays when the store opens again", async () => {
      const to = await account(100);
      await reserve(to, "a", 2, [GROUP, CHILD, PARENT, ...COSTS]);
      await post(to, "a", 2, 2);
      await stage.store.reopen();
      expect(await stage.store.ledger.transaction(to.accountId, to.hold("a", 0).holdId)).toMatchObject({
        runId: "child",
      });
      expect(await reserve(to, "b", 3, [CHILD, PARENT])).toMatchObject({ scope: "run:child", spentNano: 2 * CENT });
      const asked = [{ scope: "run:parent", period: "run" as const }];
      expect(await stage.store.ledger.periodSums(to.accountId, asked)).toMatchObject([{ spentNano: 2 * CENT }]);
      await clean();
    });

    test("reports its marks at 50, 80 and 95 % of its budget, once each", async () => {
      const to = await account(1_000);
      const marked: unknown[] = [];
      for (const [at, cents] of [49, 1, 30, 10, 5, 5].entries()) {
        await reserve(to, `m${at}`, cents, [run("marks", 100)]);
        marked.push(((await post(to, `m${at}`, cents, 0)) as { marked?: true }).marked);
      }
      expect(marked).toEqual([undefined, true, true, undefined, true, undefined]);
      const events = (await stage.store.ledger.events(100)).filter(({ accountId }) => accountId === to.accountId);
      expect(events.filter(({ kind }) => kind === "run.mark").map(({ data }) => data)).toEqual(
        [50, 80, 95].map((percent) => ({
          ...{ run_id: "marks", percent, budget_nano_usd: 100 * CENT, spent_nano_usd: percent * CENT },
        })),
      );
      await clean();
    });
  });

  describe("marks that a hold brings", () => {
    const HALF: Window = { ...GROUP, counts: "marks" };
    const told = async (to: Account, id: string, cents: number) => (await post(to, id, cents, 0)) as { marked?: true };

    test("are told by the posting that passes 50, 80 or 100 % of the bound, each once", async () => {
      const to = await account(100);
      const said: (true | undefined)[] = [];
      for (const [at, cents] of [4, 1, 2, 1, 1, 1].entries()) {
        await reserve(to, `m${at}`, cents, [GROUP, HALF]);
        said.push((await told(to, `m${at}`, cents)).marked);
      }
      expect(said).toEqual([undefined, true, undefined, true, undefined, true]);
      await clean();
    });

    test("count what was absorbed, in the period of the hold's day, and refuse nothing", async () => {
      const to = await account(100);
      const day: Window = { ...HALF, scope: "day", period: "day", max: nano(2 * CENT) };
      const counted: Window = { ...day, counts: "charge", max: null };
      await reserve(to, "a", 0, [counted, day]);
      expect((await told(to, "a", 1)).marked).toBe(true);
      await reserve(to, "b", 9, [counted, day]);
      expect((await told(to, "b", 9)).marked).toBe(true);
      stage.store.clock.advance(DAY_MS);
      await reserve(to, "c", 2, [counted, day]);
      expect((await told(to, "c", 2)).marked).toBe(true);
      await clean();
    });

    test("of a key's own ceiling and of the balance are told as well", async () => {
      const to = await account(10);
      const key: Window = { ...HALF, scope: `key:${to.keyId}`, max: nano(4 * CENT) };
      const balance: Window = { ...HALF, scope: "balance", period: "day", max: nano(7 * CENT) };
      const said: (true | undefined)[] = [];
      for (const [at, cents] of [1, 1, 1, 3].entries()) {
        await reserve(to, `k${at}`, cents, at < 2 ? [key] : [balance]);
        said.push((await told(to, `k${at}`, cents)).marked);
      }
      expect(said).toEqual([undefined, true, undefined, true]);
    });
  });

  test("marks, the first use of a key and the first refusal of a period are told in their transactions, once, until they are dropped", async () => {
    const to = await account(100);
    const { ledger, clock } = stage.store;
    const bound: Window = { ...GROUP, scope: `group:${to.accountId}`, max: nano(4 * CENT) };
    const balance: Window = { ...bound, scope: "balance", period: "day", counts: "marks", max: nano(99 * CENT) };
    const list = [bound, { ...bound, counts: "marks" as const }, balance];
    await reserve(to, "a", 2, list);
    await post(to, "a", 2, 0);
    await post(to, "a", 2, 0);
    for (const id of ["b", "c", "d"]) await reserve(to, id, 3, list);
    const told = async () => (await ledger.events(1_000)).filter(({ accountId }) => accountId === to.accountId);
    const events = await told();
    expect(events.map(({ kind }) => kind).sort()).toEqual(["balance.low", "budget.mark", "key.first_use"]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    const resets_at_ms = periodEnd("month", dayOf(clock.epochMs())) * DAY_MS;
    const of = { scope: bound.scope, ceiling_nano_usd: 4 * CENT, resets_at_ms };
    expect(events.find(({ kind }) => kind === "budget.mark")?.data).toEqual({ ...of, percent: 50, period: "month" });
    expect(events.find(({ kind }) => kind === "balance.low")?.data).toMatchObject({ balance_nano_usd: 98 * CENT });
    await stage.store.reopen();
    expect(
      await (await stage.store.ledger.events(1_000)).filter(({ accountId }) => accountId === to.accountId),
    ).toEqual(events);
    const { ledger: again } = stage.store;
    await again.dropEvents((await again.events(1_000)).filter(({ accountId }) => accountId === to.accountId));
    expect((await again.events(1_000)).filter(({ accountId }) => accountId === to.accountId)).toEqual([]);
    await clean();
  });

  test("what scopes have come to in their periods is told, held and absorbed too", async () => {
    const to = await account(100);
    const { ledger, clock } = stage.store;
    await reserve(to, "a", 2, [GROUP, TAG]);
    await post(to, "a", 3, 0);
    await reserve(to, "b", 1, [GROUP]);
    const asked = [GROUP, TAG, { scope: `key:${to.keyId}`, period: "week" as const }];
    const ends = (period: "day" | "week" | "month") => periodEnd(period, dayOf(clock.epochMs())) * DAY_MS;
    expect(await ledger.periodSums(to.accountId, asked)).toEqual([
      { spentNano: 2 * CENT, heldNano: CENT, absorbedNano: CENT, resetsAtMs: ends("month") },
      { spentNano: 2 * CENT, heldNano: 0, absorbedNano: CENT, resetsAtMs: ends("day") },
      { spentNano: 2 * CENT, heldNano: CENT, absorbedNano: CENT, resetsAtMs: ends("week") },
    ]);
  });

  describe("what calls cost us unpaid", () => {
    test("is what they cost above their charge, charged or not; what was paid above the cost is margin", async () => {
      const to = await account(100);
      for (const id of ["miss", "half", "paid", "free"]) await reserve(to, id, 4, COSTS);
      await fail(to, "miss", 2);
      await post(to, "half", 1, 2);
      await post(to, "paid", 4, 1);
      await post(to, "free", 0, 1);
      expect(await sums(to)).toEqual([4 * CENT, 4 * CENT, 3 * CENT]);
      await clean();
    });

    test("counts what was charged, not what was asked for: above its hold a call is unpaid", async () => {
      const to = await account(100);
      await reserve(to, "a", 1, COSTS);
      await post(to, "a", 9, 9);
      expect(await sums(to)).toEqual([8 * CENT, 8 * CENT, 0]);
      await clean();
    });

    test("is counted once, however often the end of a call is told", async () => {
      const to = await account(100);
      await reserve(to, "a", 4, COSTS);
      await reserve(to, "b", 4, COSTS);
      for (let told = 0; told < 3; told++) {
        await fail(to, "a", 2);
        await post(to, "b", 1, 4);
        await fail(to, "b", 9);
      }
      expect(await sums(to)).toEqual([5 * CENT, 5 * CENT, 0]);
      await clean();
    });

    test("refuses at its bound, with what has widened it, until the period ends; others go on", async () => {
      const to = await account(100);
      const [other, { clock }] = [await account(100), stage.store];
      const most = async (id: string, cost: number) => {
        expect(await reserve(to, id, 1, COSTS)).toEqual({ outcome: "held" });
        await fail(to, id, cost);
      };
      await most("a", 4.999_999_9);
      await most("b", 3);
      const full = {
        outcome: "window_full",
        scope: "unpaid",
        counts: "unpaid",
        code: "unpaid_costs",
        maxNano: 5 * CENT,
      };
      const resetsAtMs = (dayOf(clock.epochMs()) + 1) * DAY_MS;
      expect(await reserve(to, "c", 0, COSTS)).toEqual({
        ...{ ...full, spentNano: 8 * CENT - 1, heldNano: 0, absorbedNano: 0, resetsAtMs },
      });
      expect(await reserve(other, "c", 1, COSTS)).toEqual({ outcome: "held" });
      await fail(other, "c", 0);
      // Margin widens it, turnover does not.
      await reserve(to, "paid", 4, [MARGIN]);
      await post(to, "paid", 4, 1);
      expect(await reserve(to, "c", 1, COSTS)).toEqual({ outcome: "held" });
      await fail(to, "c", 1);
      expect(await reserve(to, "d", 1, COSTS)).toMatchObject({ ...full, maxNano: 8 * CENT });
      clock.advance(resetsAtMs - clock.epochMs());
      expect(await reserve(to, "d", 1, COSTS)).toEqual({ outcome: "held" });
      await fail(to, "d", 0);
      await clean();
    });

    test("belongs to the day of the hold", async () => {
      const to = await account(100);
      const { clock } = stage.store;
      clock.advance(DAY_MS - (clock.epochMs() % DAY_MS) - 1_000);
      await reserve(to, "a", 1, COSTS);
      clock.advance(2_000);
      await fail(to, "a", 9);
      expect(await sums(to)).toEqual([0, 0, 0]);
      expect(await reserve(to, "b", 1, COSTS)).toEqual({ outcome: "held" });
      await clean();
    });

    test("is no reason to stop a hold that grows", async () => {
      const to = await account(100);
      await reserve(to, "a", 1, COSTS);
      await reserve(to, "b", 1, COSTS);
      await fail(to, "b", 50);
      const grown = await stage.store.ledger.extend(to.hold("a", 0), nano(2 * CENT), ZERO, 60_000);
      expect(grown).toMatchObject({ outcome: "extended" });
      await clean();
    });

    test("is not known of a hold that the sweep ends: neither unpaid nor margin", async () => {
      const to = await account(100);
      const { ledger, clock } = stage.store;
      await reserve(to, "a", 3, COSTS, { onExpire: "post-accrued" });
      await ledger.extend(to.hold("a", 0), nano(3 * CENT), nano(2 * CENT), 60_000);
      clock.advance(120_000);
      while ((await ledger.sweep(1_000)).length > 0);
      expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 2 * CENT });
      expect(await sums(to)).toEqual([0, 0, 0]);
      await clean();
    });

    test("stays when the store is opened again", async () => {
      const to = await account(100);
      await reserve(to, "a", 1, COSTS);
      await fail(to, "a", 6);
      await stage.store.reopen();
      expect(await sums(to)).toEqual([6 * CENT, 6 * CENT, 0]);
      expect(await reserve(to, "b", 1, COSTS)).toMatchObject({ outcome: "window_full" });
    });
  });

  test.each<[string, readonly Window[]]>([
    ["more than twenty-four", Array.from({ length: 25 }, (_, at) => ({ ...GROUP, scope: `group:${at}` }))],
    ["one that stands twice", [GROUP, GROUP]],
    ["the store's own", [{ ...GROUP, scope: "key:mine" }]],
    ["all inference's", [{ ...GROUP, scope: "inference" }]],
    ["a run with a period", [{ ...GROUP, scope: "run:1" }]],
    ["a name that is no scope", [{ ...GROUP, scope: 'a"b' }]],
    ["a cost that is named like a budget", [{ ...UNPAID, scope: "group:7" }]],
    ["a bound that is no amount", [{ ...GROUP, max: 0.5 as Nano }]],
  ])("windows that nobody can keep are our bug, and are thrown: %s", async (_, windows) => {
    const to = await account(1);
    await expect(async () => reserve(to, "a", 0, windows)).rejects.toThrow(RangeError);
  });
}
