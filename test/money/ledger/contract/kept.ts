// The contract of holds that outlive their request, those of jobs and sessions, for every ledger: a part of `ledgerContract`.
import { describe, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { ReserveRequest } from "../../../../src/money/ledger/model/ledger.ts";
import { CENT, holdRequest, newKey, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

const HALF_HOUR_MS = 30 * 60_000;
const DAY_MS = 24 * 3_600_000;
const HOLDS = 3_000;

export function keptContract(stage: Stage): void {
  const { account } = stage;
  type Account = Awaited<ReturnType<typeof account>>;
  const kept: Partial<ReserveRequest> = { owner: "job:1", leaseMs: HALF_HOUR_MS, onExpire: "post-accrued" };
  const place = (to: Account, id: string, cents: number, more: Partial<ReserveRequest> = {}) =>
    stage.store.ledger.reserve(holdRequest(to.hold(id, cents), { ...kept, ...more }));
  const clean = async () => expect((await stage.store.ledger.doctor()).findings).toEqual([]);
  /** Ends expired holds until none is left. */
  async function sweep(onlyOwner?: string): Promise<string[]> {
    const ended: string[] = [];
    for (let more = true; more; ) {
      const { ledger } = stage.store;
      const some = await (onlyOwner === undefined ? ledger.sweep(1_000) : ledger.sweep(1_000, onlyOwner));
      ended.push(...some);
      more = some.length > 0;
    }
    return ended;
  }

  describe("kept holds", () => {
    test("one grows with what it has used, is renewed, and is posted by whoever ends the job", async () => {
      const to = await account(100);
      const { clock } = stage.store;
      expect(await place(to, "job", 5)).toEqual({ outcome: "held" });
      for (let minute = 1; minute <= 60; minute++) {
        clock.advance(60_000);
        const amount = nano(5 * CENT + minute * (CENT / 10));
        const used = nano(minute * (CENT / 10));
        const { ledger } = stage.store;
        expect(await ledger.extend(to.hold("job", 0), amount, used, HALF_HOUR_MS)).toEqual({
          ...{ outcome: "extended", amountNano: amount },
        });
        if (minute % 20 === 0) expect(await sweep()).toEqual([]);
      }
      expect(await stage.store.ledger.account(to.accountId)).toMatchObject({ heldNano: 11 * CENT, spentNano: 0 });
      // A different process ends it.
      const ledger = await stage.store.reopen();
      expect(await ledger.post(postRequest(to.hold("job", 7)))).toMatchObject({
        ...{ outcome: "posted", repeat: false, chargedNano: 7 * CENT, absorbedNano: 0 },
      });
      expect(await ledger.account(to.accountId)).toMatchObject({ heldNano: 0, spentNano: 7 * CENT });
      await clean();
    });

    test("thousands are renewed at once, and those that are gone are named", async () => {
      const to = await account(10_000);
      const { clock } = stage.store;
      const ids = Array.from({ length: HOLDS }, (_, at) => `job ${at}`);
      await Promise.all(ids.map((id) => place(to, id, 1, { inference: false })));
      await stage.store.ledger.void(to.hold("job 7", 0), "cancelled");
      await stage.store.ledger.post(postRequest(to.hold("job 8", 1)));
      clock.advance(HALF_HOUR_MS - 1_000);
      const gone = await stage.store.ledger.renew(
        ids.map((id) => to.hold(id, 0)),
        HALF_HOUR_MS,
      );
      expect(gone).toEqual([to.hold("job 7", 0).holdId, to.hold("job 8", 0).holdId]);
      clock.advance(HALF_HOUR_MS - 1_000);
      expect(await sweep()).toEqual([]);
      expect(await stage.store.ledger.account(to.accountId)).toMatchObject({ heldNano: (HOLDS - 2) * CENT });
      clock.advance(1_000);
      expect(await sweep()).toHaveLength(HOLDS - 2);
      expect(await stage.store.ledger.account(to.accountId)).toMatchObject({ heldNano: 0, spentNano: CENT });
      await clean();
    });

    test("one that nobody has renewed is posted as far as it was used, in the day of its reserve", async () => {
      const to = await account(100);
      const { clock } = stage.store;
      await place(to, "used", 5);
      await place(to, "unused", 5);
      await place(to, "void", 5, { onExpire: "void" });
      const { ledger } = stage.store;
      await ledger.extend(to.hold("used", 0), nano(8 * CENT), nano(2 * CENT), HALF_HOUR_MS);
      clock.advance(HALF_HOUR_MS - 1);
      expect(await sweep()).toEqual([]);
      clock.advance(1);
      expect((await sweep()).sort()).toEqual(["unused", "used", "void"].map((id) => to.hold(id, 0).holdId));
      expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 2 * CENT, heldNano: 0, absorbedNano: 0 });
      const ofUsed = { amountNano: 2 * CENT, reason: "its lease ended", estimated: true, legs: [] };
      expect(await ledger.transaction(to.accountId, to.hold("used", 0).holdId)).toMatchObject(ofUsed);
      expect(await ledger.transaction(to.accountId, to.hold("unused", 0).holdId)).toMatchObject({ amountNano: 0 });
      expect(await ledger.transaction(to.accountId, to.hold("void", 0).holdId)).toBeNull();
      expect(await ledger.extend(to.hold("used", 0), nano(9 * CENT), nano(0), 1)).toEqual({
        ...{ outcome: "gone", state: "posted" },
      });
      await clean();
    });

    test("a start never ends one whose owner is a job, however often and whoever starts", async () => {
      const to = await account(100);
      await place(to, "job", 5);
      for (const process of ["process-2", "process-3"]) {
        await stage.store.reopen();
        expect(await sweep(process)).toEqual([]);
      }
      expect(await stage.store.ledger.account(to.accountId)).toMatchObject({ heldNano: 5 * CENT });
      expect(await stage.store.ledger.void(to.hold("job", 0), "test")).toEqual({ outcome: "voided" });
    });

    test("its slot stays taken for as long as it is there, and is freed by its end", async () => {
      const to = await account(100);
      const { clock } = stage.store;
      const slots = [{ scope: "deep", max: 1, code: "too_many_inflight" as const }];
      await place(to, "one", 1, { slots });
      await stage.store.reopen();
      clock.advance(HALF_HOUR_MS / 2);
      expect(await place(to, "two", 1, { slots })).toMatchObject({ outcome: "slots", code: "too_many_inflight" });
      await stage.store.ledger.post(postRequest(to.hold("one", 1)));
      expect(await place(to, "three", 1, { slots })).toEqual({ outcome: "held" });
      await stage.store.ledger.void(to.hold("three", 0), "test");
    });

    test("its idempotency key names it while it runs; posted or voided as answered, its answer is replayed by that name", async () => {
      const to = await account(100);
      const { clock } = stage.store;
      const launched = { idempotency: { key: "launch", fingerprint: "body", keepMs: DAY_MS } };
      const { holdId } = to.hold("one", 0);
      expect(await place(to, "one", 5, launched)).toEqual({ outcome: "held" });
      const ask = (id: string) => place(to, id, 5, launched);
      expect(await ask("two")).toEqual({ outcome: "idempotency_in_progress", holdId });
      const other = { idempotency: { ...launched.idempotency, fingerprint: "another" } };
      expect(await place(to, "two", 5, other)).toEqual({ outcome: "idempotency_mismatch" });
      // A job may run longer than its key is kept: until the job has ended, the key stays its own.
      for (let hour = 0; hour < 60; hour++) {
        clock.advance(HALF_HOUR_MS - 1);
        await stage.store.ledger.renew([to.hold("one", 0)], HALF_HOUR_MS);
      }
      expect(await ask("two")).toEqual({ outcome: "idempotency_in_progress", holdId });
      expect(await stage.store.ledger.void(to.hold("one", 0), "it failed", { keyFate: "answered" })).toEqual({
        outcome: "voided",
      });
      expect(await stage.store.ledger.void(to.hold("one", 0), "it failed", { keyFate: "answered" })).toEqual({
        outcome: "exists",
      });
      await clean();

      const second = await account(100);
      await place(second, "one", 5, launched);
      await stage.store.ledger.void(second.hold("one", 0), "it failed", { keyFate: "answered" });
      const done = { outcome: "idempotency_done", holdId: second.hold("one", 0).holdId };
      expect(await place(second, "two", 5, launched)).toEqual(done);
      const third = await account(100);
      await place(third, "one", 5, launched);
      await stage.store.ledger.post(postRequest(third.hold("one", 0)));
      expect(await place(third, "two", 5, launched)).toEqual({ ...done, holdId: third.hold("one", 0).holdId });
      await clean();
    });

    test("one is posted in full after its key was deleted and its account frozen", async () => {
      const to = await account(10);
      const { ledger } = stage.store;
      const keyId = `${to.accountId}.agent`;
      await ledger.createKey(to.accountId, newKey(keyId, { ceilingNano: nano(5 * CENT), ceilingPeriod: "day" }));
      await place(to, "job", 4, { keyId });
      await ledger.patchKey(to.accountId, keyId, { ceilingNano: nano(1) });
      await ledger.deleteKey(to.accountId, keyId);
      await ledger.patchAccount(to.accountId, { frozen: true });
      const reopened = await stage.store.reopen();
      expect(await reopened.extend(to.hold("job", 0), nano(4 * CENT), nano(CENT), HALF_HOUR_MS)).toMatchObject({
        outcome: "extended",
      });
      expect(await reopened.post(postRequest(to.hold("job", 4)))).toMatchObject({
        ...{ outcome: "posted", chargedNano: 4 * CENT, absorbedNano: 0 },
      });
      expect(await reopened.transaction(to.accountId, to.hold("job", 0).holdId)).toMatchObject({ keyId });
      await clean();
    });

    test("one is refused growth like a new hold, and keeps what it has", async () => {
      const to = await account(10);
      const { ledger } = stage.store;
      await place(to, "job", 4);
      const grow = (cents: number) =>
        ledger.extend(to.hold("job", 0), nano(cents * CENT), nano(3 * CENT), HALF_HOUR_MS);
      expect(await grow(11)).toMatchObject({ outcome: "insufficient", freeNano: 6 * CENT });
      await ledger.patchKey(to.accountId, to.keyId, { paused: true });
      expect(await grow(5)).toEqual({ outcome: "paused" });
      // It may continue with what it has, and record its usage.
      expect(await grow(4)).toEqual({ outcome: "extended", amountNano: 4 * CENT });
      await ledger.patchAccount(to.accountId, { frozen: true });
      expect(await grow(5)).toEqual({ outcome: "frozen" });
      expect(await ledger.post(postRequest(to.hold("job", 3)))).toMatchObject({ chargedNano: 3 * CENT });
      await clean();
    });
  });
}
