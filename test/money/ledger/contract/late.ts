// What a shared ledger must do with a charge whose hold ended by its lease before the charge arrived.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type {
  HoldOrigin,
  PostRequest,
  ReserveRequest,
  SharedLedger,
} from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { restId, tellStore } from "../../../../src/money/ledger/spool/tell-store.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../requests.ts";
import type { TestStore } from "../store.ts";

const LEASE_MS = 60_000;
const OPEN_MS_MAX = 300_000;

export function lateContract(name: string, open: () => Promise<TestStore>): void {
  describe(`${name}: a charge after the lease of its hold`, () => {
    let store: TestStore;
    let ledger: SharedLedger;
    let made = 0;
    beforeAll(async () => {
      store = await open();
      if (store.sharedLedger === null) throw new Error("nobody can be late where one process has the store for itself");
      ledger = store.sharedLedger;
    }, OPEN_MS_MAX);
    afterAll(() => store.dispose());

    /** An account with one hold whose lease has ended. */
    async function expired(cents: number, wish: Partial<ReserveRequest> = {}, credit = 100) {
      const accountId = `late-${made++}`;
      await ledger.openAccount(newAccount(accountId, credit));
      const hold = (id: string, cents = 0) => ({ accountId, holdId: `${accountId}.${id}`, cents, nowMs: now() });
      const placed = holdRequest(hold("call", cents), wish);
      expect(await ledger.reserve(placed)).toEqual({ outcome: "held" });
      return { accountId, hold, placed, end };
    }
    const now = () => store.clock.epochMs();
    async function end(): Promise<void> {
      store.clock.advance(LEASE_MS);
      while ((await ledger.sweep(1_000)).length > 0);
    }
    const tell = (request: PostRequest, origin: HoldOrigin | null) =>
      tellStore(ledger, { op: "post", request, origin });
    const clean = async () => expect((await ledger.doctor()).findings).toEqual([]);

    test("is made once, however often and at once it is told, and never without what the hold was placed with", async () => {
      const to = await expired(5);
      await to.end();
      const request = postRequest(to.hold("call", 3));
      expect(await ledger.post(request)).toEqual({ outcome: "expired" });
      expect(await tell(request, null)).toEqual({ outcome: "expired" });
      expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 0 });
      const charged = { outcome: "posted", chargedNano: 3 * CENT, chargedCents: 3, absorbedNano: 0 };
      const told = await Promise.all([1, 2, 3].map(() => tell(request, to.placed)));
      expect(told).toMatchObject([charged, charged, charged]);
      expect(told.filter((one) => "repeat" in one && !one.repeat)).toHaveLength(1);
      expect(await ledger.post(request)).toMatchObject({ ...charged, repeat: true });
      expect(await ledger.void(to.hold("call"), "late")).toEqual({ outcome: "posted" });
      expect(await ledger.reserve(to.placed)).toEqual({ outcome: "exists", state: "posted" });
      expect(await ledger.transaction(to.accountId, request.holdId)).toMatchObject({
        ...{ kind: "charge", amountNano: 3 * CENT, reason: "late", absorbReason: null, keyId: to.placed.keyId },
        ...{ requestId: to.placed.requestId, provider: "vendor", upstreamNano: 7 },
      });
      expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 3 * CENT, heldNano: 0, absorbedNano: 0 });
      await clean();
    });

    test("takes what is still free in the account, the key's period and the inference cap; the rest is absorbed", async () => {
      const bounds = async (to: Awaited<ReturnType<typeof expired>>, free: number) => {
        expect(await tell(postRequest(to.hold("call", 9)), to.placed)).toMatchObject({
          ...{ outcome: "posted", chargedNano: free * CENT, absorbedNano: (9 - free) * CENT },
        });
        const row = await ledger.transaction(to.accountId, to.placed.holdId);
        expect(row).toMatchObject({ reason: "late", absorbReason: "late", absorbedNano: (9 - free) * CENT });
        expect(await ledger.account(to.accountId)).toMatchObject({ absorbedNano: (9 - free) * CENT });
      };
      const ofBalance = await expired(9, {}, 10);
      await ofBalance.end();
      await ledger.reserve(holdRequest(ofBalance.hold("other", 6)));
      await bounds(ofBalance, 4);
      const ofHold = await expired(8);
      await ofHold.end();
      await bounds(ofHold, 8);
      const ofCeiling = await expired(9);
      await ledger.patchKey(ofCeiling.accountId, ofCeiling.placed.keyId, {
        ...{ ceilingNano: nano(3 * CENT), ceilingPeriod: "month" },
      });
      await ofCeiling.end();
      await bounds(ofCeiling, 3);
      const ofCap = await expired(9);
      await ledger.patchAccount(ofCap.accountId, { inferenceCapNano: nano(2 * CENT) });
      await ofCap.end();
      await bounds(ofCap, 2);
      await clean();
    });

    test("says nothing about how the account's calls keep to their holds: its bounds stay as they were", async () => {
      for (const id of ["one", "two", "three"]) {
        const to = await expired(9, {}, 10);
        await to.end();
        await ledger.reserve(holdRequest(to.hold("other", 9)));
        const told = [
          await tell(postRequest({ ...to.hold(id), cents: 9 }), to.placed),
          await tell(postRequest({ ...to.hold(`${id} again`), cents: 9 }), to.placed),
          await tell(postRequest(to.hold("call", 9)), to.placed),
        ];
        expect(told).toMatchObject([1, 0, 0].map((cents) => ({ absorbedNano: (9 - cents) * CENT })));
        expect(await ledger.account(to.accountId)).toMatchObject({ strictBounds: false });
      }
    });

    const WINDOWS: readonly Window[] = [
      { scope: "group:7", period: "month", max: nano(9 * CENT), code: "api_key_limit_exceeded", counts: "charge" },
      { scope: "unpaid", period: "day", max: null, code: "unpaid_costs", counts: "unpaid" },
      { scope: "margin", period: "day", max: null, code: "unpaid_costs", counts: "margin" },
    ];
    const sums = (to: { accountId: string }) => ledger.spentToday(to.accountId, ["group:7", "unpaid", "margin"]);

    test("takes what is free in the windows that its hold had brought, and counts what it cost there, once", async () => {
      const to = await expired(9, { windows: WINDOWS });
      await to.end();
      expect(await sums(to)).toEqual([0, 0, 0]);
      await ledger.reserve(holdRequest(to.hold("other", 5), { windows: WINDOWS }));
      const request = postRequest(to.hold("call", 9), { upstreamNano: nano(6 * CENT) });
      for (let told = 0; told < 2; told++)
        expect(await tell(request, to.placed)).toMatchObject({ chargedNano: 4 * CENT, absorbedNano: 5 * CENT });
      expect(await sums(to)).toEqual([4 * CENT, 2 * CENT, 0]);
      await clean();
    });

    test("of a hold that was lost counts what it cost, charged or not, once", async () => {
      const accountId = `late-${made++}`;
      await ledger.openAccount(newAccount(accountId, 100));
      const to = { accountId };
      const ref = (id: string, cents = 0) => ({ accountId, holdId: `${accountId}.${id}`, cents, nowMs: now() });
      const [paid, failed] = [
        holdRequest(ref("paid", 3), { windows: WINDOWS }),
        holdRequest(ref("failed", 3), { windows: WINDOWS }),
      ];
      const upstreamNano = nano(CENT);
      const gone = {
        op: "void",
        hold: failed,
        reason: "a miss",
        keyFate: "free",
        upstreamNano,
        origin: failed,
      } as const;
      for (let told = 0; told < 2; told++) {
        await tell(postRequest(ref("paid", 3), { upstreamNano }), paid);
        await tellStore(ledger, gone);
      }
      expect(await sums(to)).toEqual([3 * CENT, CENT, 2 * CENT]);
      await clean();
    });

    test("counts for the day on which its hold was placed", async () => {
      const to = await expired(5);
      await ledger.patchKey(to.accountId, to.placed.keyId, { ceilingNano: nano(5 * CENT), ceilingPeriod: "day" });
      store.clock.advance(24 * 3_600_000);
      await to.end();
      expect(await tell(postRequest(to.hold("call", 5)), to.placed)).toMatchObject({ chargedNano: 5 * CENT });
      expect(await ledger.keys(to.accountId)).toMatchObject([{ periodSpentNano: 0 }]);
      await clean();
    });

    const idempotency = { key: "order 7", fingerprint: "body", keepMs: 24 * 3_600_000 };

    test("answers its idempotency key from then on, a write's as well", async () => {
      const to = await expired(5, { effect: "write", idempotency });
      await to.end();
      const again = () => ledger.reserve(holdRequest(to.hold("again", 1), { effect: "write", idempotency }));
      expect(await again()).toMatchObject({ outcome: "idempotency_unknown" });
      await tell(postRequest(to.hold("call", 3)), to.placed);
      expect(await again()).toEqual({ outcome: "idempotency_done", holdId: to.placed.holdId });
      store.clock.advance(idempotency.keepMs);
      expect(await again()).toEqual({ outcome: "held" });
      await clean();
    });

    test("leaves its idempotency key to the call that has run under it since", async () => {
      const to = await expired(5, { idempotency });
      await to.end();
      const again = (id: string) => ledger.reserve(holdRequest(to.hold(id, 1), { idempotency }));
      expect(await again("second")).toEqual({ outcome: "held" });
      expect(await tell(postRequest(to.hold("call", 3)), to.placed)).toMatchObject({ chargedNano: 3 * CENT });
      expect(await again("third")).toEqual({ outcome: "idempotency_in_progress", holdId: to.hold("second").holdId });
      await ledger.post(postRequest(to.hold("second", 1)));
      expect(await again("third")).toEqual({ outcome: "idempotency_done", holdId: to.hold("second").holdId });
      await clean();
    });

    describe("where the sweep has posted what had been noted as used", () => {
      const job = { onExpire: "post-accrued", owner: "job:1" } as const;

      test("is made for the rest, once, beside the sweep's posting, which stays as it is", async () => {
        const to = await expired(5, job);
        await ledger.extend(to.hold("call"), nano(5 * CENT), nano(CENT + 1), LEASE_MS);
        await to.end();
        const request = postRequest(to.hold("call", 4));
        expect(await ledger.post(request)).toMatchObject({ repeat: true, chargedNano: CENT + 1 });
        expect(await tell(request, null)).toMatchObject({ repeat: true, chargedNano: CENT + 1 });
        const charged = { outcome: "posted", chargedNano: 4 * CENT, chargedCents: 4, absorbedNano: 0 };
        const told = await Promise.all([1, 2].map(() => tell(request, to.placed)));
        expect(told).toMatchObject([charged, charged]);
        expect(told.filter((one) => "repeat" in one && !one.repeat)).toHaveLength(1);
        const read = (id: string) => ledger.transaction(to.accountId, id);
        expect(await read(request.holdId)).toMatchObject({ amountNano: CENT + 1, reason: "its lease ended" });
        expect(await read(restId(request.holdId))).toMatchObject({
          ...{ kind: "charge", amountNano: 3 * CENT - 1, reason: "late", parentId: request.holdId, upstreamNano: 7 },
          requestId: to.placed.requestId,
        });
        expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 4 * CENT, absorbedNano: 0 });
        await clean();
      });

      test("counts what the call cost against both charges", async () => {
        const to = await expired(5, { ...job, windows: WINDOWS });
        await ledger.extend(to.hold("call"), nano(4 * CENT), nano(2 * CENT), LEASE_MS);
        await to.end();
        const request = postRequest(to.hold("call", 4), { upstreamNano: nano(3 * CENT) });
        for (let told = 0; told < 2; told++) await tell(request, to.placed);
        expect(await sums(to)).toEqual([4 * CENT, 0, CENT]);
        await clean();
      });

      test("takes no more than was held and is free; what the call cost beyond is absorbed, to the nano", async () => {
        const to = await expired(5, job, 6);
        await ledger.extend(to.hold("call"), nano(5 * CENT), nano(2 * CENT), LEASE_MS);
        await to.end();
        const whole = { chargedNano: 5 * CENT, absorbedNano: 2 * CENT };
        expect(await tell(postRequest(to.hold("call", 7)), to.placed)).toMatchObject(whole);
        const poor = await expired(5, job, 6);
        await ledger.extend(poor.hold("call"), nano(5 * CENT), nano(2 * CENT), LEASE_MS);
        await poor.end();
        await ledger.reserve(holdRequest(poor.hold("other", 3)));
        const part = { chargedNano: 3 * CENT, absorbedNano: 4 * CENT };
        expect(await tell(postRequest(poor.hold("call", 7)), poor.placed)).toMatchObject(part);
        expect(await ledger.account(poor.accountId)).toMatchObject({ spentNano: 3 * CENT, absorbedNano: 4 * CENT });
        await clean();
      });

      test("is not made where that was all", async () => {
        const to = await expired(5, job);
        await ledger.extend(to.hold("call"), nano(5 * CENT), nano(3 * CENT), LEASE_MS);
        await to.end();
        const request = postRequest(to.hold("call", 3));
        expect(await tell(request, to.placed)).toMatchObject({ repeat: true, chargedNano: 3 * CENT });
        expect(await ledger.transaction(to.accountId, restId(request.holdId))).toBeNull();
        await clean();
      });
    });
  });
}
