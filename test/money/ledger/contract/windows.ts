// The contract of absorbed cost, for every ledger: it takes room in the windows and no account is charged. A part of `ledgerContract`.
import { expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import { dayOf, periodEnd } from "../../../../src/money/ledger/model/windows.ts";
import { CENT, holdRequest, newKey, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

const DAY_MS = 86_400_000;

export function windowsContract(stage: Stage): void {
  const { account } = stage;
  type Account = Awaited<ReturnType<typeof account>>;

  /** A call that holds `held` cents and costs more. */
  async function overrun(to: Account, id: string, held: number, cost: number, more = {}) {
    expect(await stage.store.ledger.reserve(holdRequest(to.hold(id, held), more))).toEqual({ outcome: "held" });
    return stage.store.ledger.post(postRequest(to.hold(id, cost)));
  }
  const clean = async () => expect((await stage.store.ledger.doctor()).findings).toEqual([]);

  test("what a call costs above its hold takes room under the key's ceiling, and is not spent", async () => {
    const to = await account(100);
    const { ledger, clock } = stage.store;
    await ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(10 * CENT), ceilingPeriod: "week" });
    expect(await overrun(to, "a", 2, 5)).toMatchObject({
      ...{ chargedNano: 2 * CENT, absorbedNano: 3 * CENT, balanceNano: 98 * CENT },
    });
    await ledger.reserve(holdRequest(to.hold("b", 1)));
    expect(await ledger.reserve(holdRequest(to.hold("c", 5)))).toEqual({
      ...{ outcome: "ceiling", period: "week", ceilingNano: 10 * CENT, spentNano: 2 * CENT, heldNano: CENT },
      ...{ absorbedNano: 3 * CENT, resetsAtMs: periodEnd("week", dayOf(clock.epochMs())) * DAY_MS },
    });
    const grow = (cents: number) => ledger.extend(to.hold("b", 0), nano(cents * CENT), nano(0), 60_000);
    expect(await grow(6)).toMatchObject({ outcome: "ceiling", absorbedNano: 3 * CENT });
    expect(await grow(5)).toMatchObject({ outcome: "extended" });
    expect(await ledger.keys(to.accountId)).toMatchObject([{ periodSpentNano: 2 * CENT, periodHeldNano: 5 * CENT }]);
    expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 2 * CENT, absorbedNano: 3 * CENT });
    await clean();
  });

  test("requests are counted in a window of their account: those that are held, until it ends", async () => {
    const to = await account(100);
    const { ledger, clock } = stage.store;
    const window = { limit: 2, seconds: 60 };
    clock.advance(60_000 - (clock.epochMs() % 60_000));
    const slots = [{ scope: "jobs", max: 0, code: "too_many_inflight" as const }];
    const reserve = (id: string, cents: number, more = {}) =>
      ledger.reserve(holdRequest(to.hold(id, cents), { window, ...more }));
    const held = (remaining: number) => ({ outcome: "held", window: { remaining, resetSeconds: 60 } });
    const full = { outcome: "window", limit: 2, resetSeconds: 60 };
    expect(await reserve("a", 101)).toMatchObject({ outcome: "insufficient" });
    expect(await reserve("b", 1, { slots })).toMatchObject({ outcome: "slots" });
    const keyed = { idempotency: { key: `${to.accountId} once`, fingerprint: "f", keepMs: 60_000 } };
    expect(await reserve("c", 1, keyed)).toEqual(held(1));
    expect(await reserve("d", 1)).toEqual(held(0));
    expect(await reserve("e", 101, { slots })).toEqual(full);
    expect(await reserve("f", 1, keyed)).toMatchObject({ outcome: "idempotency_in_progress" });
    const other = await account(1);
    expect(await ledger.reserve(holdRequest(other.hold("a", 1), { window }))).toEqual(held(1));
    await ledger.patchAccount(to.accountId, { frozen: true });
    expect(await reserve("g", 1)).toEqual({ outcome: "frozen" });
    await ledger.patchAccount(to.accountId, { frozen: false });
    clock.advance(59_500);
    expect(await reserve("h", 1)).toEqual({ ...full, resetSeconds: 1 });
    clock.advance(500);
    expect(await reserve("i", 1)).toEqual(held(1));
  });

  test("it takes room under the inference cap of all keys, where the call counts there, until the day ends", async () => {
    const to = await account(100, { inferenceCapNano: nano(10 * CENT) });
    const { ledger, clock } = stage.store;
    await ledger.createKey(to.accountId, newKey(`${to.accountId}.other`));
    const other = { keyId: `${to.accountId}.other` };
    await overrun(to, "a", 1, 4);
    await overrun(to, "b", 1, 9, { inference: false });
    const reserve = (id: string, cents: number) => ledger.reserve(holdRequest(to.hold(id, cents), other));
    expect(await reserve("c", 7)).toEqual({
      ...{ outcome: "inference_cap", capNano: 10 * CENT, spentNano: CENT, heldNano: 0, absorbedNano: 3 * CENT },
      resetsAtMs: (dayOf(clock.epochMs()) + 1) * DAY_MS,
    });
    expect(await reserve("d", 6)).toEqual({ outcome: "held" });
    await ledger.void(to.hold("d", 0), "test");
    clock.advance(DAY_MS - (clock.epochMs() % DAY_MS));
    expect(await reserve("e", 10)).toEqual({ outcome: "held" });
    await ledger.void(to.hold("e", 0), "test");
    await clean();
  });

  test("it may take more room than there was: then there is none, and nothing breaks", async () => {
    const to = await account(100);
    const { ledger } = stage.store;
    await ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(3 * CENT), ceilingPeriod: "month" });
    await overrun(to, "a", 2, 50);
    expect(await ledger.reserve(holdRequest(to.hold("b", 1)))).toMatchObject({
      ...{ outcome: "ceiling", spentNano: 2 * CENT, heldNano: 0, absorbedNano: 48 * CENT },
    });
    await clean();
  });

  test("it belongs to the day of the hold, and is there after opening again", async () => {
    const to = await account(100);
    const { clock } = stage.store;
    await stage.store.ledger.patchKey(to.accountId, to.keyId, { ceilingNano: nano(9 * CENT), ceilingPeriod: "day" });
    clock.advance(DAY_MS - (clock.epochMs() % DAY_MS) - 1_000);
    await stage.store.ledger.reserve(holdRequest(to.hold("late", 1)));
    clock.advance(2_000);
    await stage.store.ledger.post(postRequest(to.hold("late", 9)));
    await overrun(to, "early", 1, 4);
    const ledger = await stage.store.reopen();
    expect(await ledger.reserve(holdRequest(to.hold("again", 6)))).toMatchObject({
      ...{ outcome: "ceiling", spentNano: CENT, absorbedNano: 3 * CENT },
    });
    // A monthly ceiling also counts the day before, where that is in the same month.
    await ledger.patchKey(to.accountId, to.keyId, { ceilingPeriod: "month" });
    const before = new Date(clock.epochMs()).getUTCDate() === 1 ? 0 : 8 * CENT;
    expect(await ledger.reserve(holdRequest(to.hold("again", 9)))).toMatchObject({
      ...{ outcome: "ceiling", absorbedNano: 3 * CENT + before },
    });
    await clean();
  });
}
