// The contract of idempotency keys, for every ledger: a part of `ledgerContract`.
import { describe, expect, test } from "vitest";
import { holdRequest, postRequest } from "../requests.ts";
import type { Stage } from "./stage.ts";

const DAY_MS = 86_400_000;

export function idempotencyContract(stage: Stage): void {
  const { account } = stage;
  describe("idempotency keys", () => {
    const request = (
      hold: Parameters<typeof holdRequest>[0],
      more: Parameters<typeof holdRequest>[1] & { fingerprint?: string } = {},
    ) => {
      const { fingerprint = "body", ...rest } = more;
      return holdRequest(hold, { idempotency: { key: "order 7", fingerprint, keepMs: DAY_MS }, ...rest });
    };

    test("in flight, another body, done, and lapsed", async () => {
      const to = await account(100);
      const { ledger } = stage.store;
      expect(await ledger.reserve(request(to.hold("a", 1)))).toEqual({ outcome: "held" });
      expect(await ledger.reserve(request(to.hold("b", 1)))).toEqual({
        ...{ outcome: "idempotency_in_progress", holdId: to.hold("a", 1).holdId },
      });
      const other = request(to.hold("b", 1), { fingerprint: "another" });
      expect(await ledger.reserve(other)).toEqual({ outcome: "idempotency_mismatch" });
      await ledger.post(postRequest(to.hold("a", 1)));
      const done = { outcome: "idempotency_done", holdId: to.hold("a", 0).holdId };
      expect(await ledger.reserve(request(to.hold("b", 1)))).toEqual(done);
      stage.store.clock.advance(DAY_MS);
      expect(await ledger.reserve(request(to.hold("c", 1)))).toEqual({ outcome: "held" });
    });

    test("what was voided runs again; a read that expired too; a write that expired never", async () => {
      const to = await account(100);
      const { ledger } = stage.store;
      await ledger.reserve(request(to.hold("a", 1)));
      await ledger.void(to.hold("a", 0), "failed");
      const other = request(to.hold("b", 1), { fingerprint: "another" });
      expect(await ledger.reserve(other)).toEqual({ outcome: "held" });
      stage.store.clock.advance(60_000);
      await ledger.sweep(100);
      expect(await ledger.reserve(request(to.hold("c", 1), { effect: "write" }))).toEqual({ outcome: "held" });
      stage.store.clock.advance(60_000);
      await ledger.sweep(100);
      const unknown = { outcome: "idempotency_unknown", holdId: to.hold("c", 0).holdId };
      expect(await ledger.reserve(request(to.hold("d", 1)))).toEqual(unknown);
    });

    test.each([
      ["answered", "idempotency_done"],
      ["unknown", "idempotency_unknown"],
    ] as const)("what was voided as %s is never run again: %s", async (fate, outcome) => {
      const to = await account(100);
      const { ledger } = stage.store;
      await ledger.reserve(request(to.hold("a", 1), { effect: "write" }));
      await ledger.void(to.hold("a", 0), "failed", { keyFate: fate });
      expect(await ledger.account(to.accountId)).toMatchObject({ spentNano: 0, heldNano: 0 });
      const kept = { outcome, holdId: to.hold("a", 0).holdId };
      expect(await ledger.reserve(request(to.hold("b", 1)))).toEqual(kept);
      const other = request(to.hold("b", 1), { fingerprint: "another" });
      expect(await ledger.reserve(other)).toEqual({ outcome: "idempotency_mismatch" });
      expect(await ledger.void(to.hold("a", 0), "again")).toEqual({ outcome: "exists" });
      expect((await ledger.doctor()).findings).toEqual([]);
      const again = await stage.store.reopen();
      expect(await again.reserve(request(to.hold("b", 1)))).toEqual(kept);
    });

    test.each(["answered", "unknown"] as const)(
      "what was voided as %s is free after a day, swept or not",
      async (fate) => {
        const to = await account(100);
        const { ledger, clock } = stage.store;
        await ledger.reserve(request(to.hold("a", 1)));
        await ledger.void(to.hold("a", 0), "failed", { keyFate: fate });
        clock.advance(DAY_MS - 1);
        await ledger.sweep(1_000);
        expect(await ledger.reserve(request(to.hold("b", 1)))).not.toEqual({ outcome: "held" });
        clock.advance(1);
        expect(await ledger.reserve(request(to.hold("b", 1)))).toEqual({ outcome: "held" });
        await ledger.void(to.hold("b", 0), "failed", { keyFate: fate });
        clock.advance(DAY_MS);
        await ledger.sweep(1_000);
        const other = request(to.hold("c", 1), { fingerprint: "another" });
        expect(await ledger.reserve(other)).toEqual({ outcome: "held" });
        expect((await ledger.doctor()).findings).toEqual([]);
      },
    );

    test("a refusal is not remembered", async () => {
      const to = await account(1);
      await stage.store.ledger.reserve(request(to.hold("a", 2)));
      expect(await stage.store.ledger.reserve(request(to.hold("b", 1)))).toEqual({ outcome: "held" });
    });
  });
}
