// Calls that end while their process's own disk is full: the spool reports them from memory, and writes them once there is room.
import { expect, it } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import type { Spool } from "../../../../src/money/ledger/spool/file.ts";
import { eventually } from "../../../support/gateway.ts";
import { CENT } from "../requests.ts";
import { AWAY, ada, CREDIT_CENTS, cost, request, startWithReplica } from "./spooled.ts";

/** A spool on a disk that can fill up. */
function filling() {
  const disk = { full: false, written: 0 };
  const wrapSpool = (spool: Spool): Spool => ({
    ...spool,
    async append(intent) {
      if (disk.full) throw new GatewayError("ledger_unavailable");
      const stored = await spool.append(intent);
      disk.written += 1;
      return stored;
    },
  });
  return { disk, wrapSpool };
}

it("a charge that only the store was told of is made again where the store forgets it", async () => {
  const { disk, wrapSpool } = filling();
  const { ledger, hold, cutOff, takeOver } = await startWithReplica({ wrapSpool });
  await cutOff();
  expect(await hold("tx_1", 7)).toEqual({ outcome: "held" });
  disk.full = true;
  expect(await ledger.post(cost("tx_1", 4))).toMatchObject({ outcome: "posted", repeat: false });
  await takeOver();
  await eventually(async () => (await ledger.transaction("ada", "tx_1").catch(() => null)) ?? undefined, "a replay");
  expect(await ledger.account("ada")).toMatchObject({ heldNano: 0, spentNano: 4 * CENT });
  disk.full = false;
  await eventually(() => (disk.written > 0 ? true : undefined), "the end to be written down");
  expect((await ledger.doctor()).findings).toEqual([]);
});

it("a write that neither disk nor store could be told of costs nothing, and is not run again", async () => {
  const { disk, wrapSpool } = filling();
  const { ledger, cutOff, takeOver, redis, replica } = await startWithReplica({ wrapSpool });
  await cutOff();
  const idempotency = { key: "order-1", fingerprint: "same", keepMs: 60_000 };
  const write = { ...request("tx_write", 5), effect: "write" as const, idempotency };
  expect(await ledger.reserve(write)).toEqual({ outcome: "held" });
  disk.full = true;
  await redis.kill();
  await expect(ledger.post(cost("tx_write", 3))).rejects.toEqual(AWAY);
  await takeOver();
  const ended = async () => (await replica.send("GET", "{a:ada}:c:tx_write")) === "voided";
  await eventually(async () => ((await ended()) ? true : undefined), "a void");
  const again = { ...write, ...ada("tx_again"), nowMs: systemClock.epochMs() };
  disk.full = false;
  expect(await ledger.reserve(again)).toEqual({ outcome: "idempotency_unknown", holdId: "tx_write" });
  expect(await ledger.account("ada")).toMatchObject({ heldNano: 0, spentNano: 0, grantedNano: CREDIT_CENTS * CENT });
});

it("what the disk did not take is written down when the ledger closes, if there is room by then", async () => {
  const { disk, wrapSpool } = filling();
  const { ledger, hold, cutOff, takeOver, reopen } = await startWithReplica({ wrapSpool });
  await cutOff();
  await hold("tx_1", 7);
  disk.full = true;
  await ledger.post(cost("tx_1", 4));
  disk.full = false;
  const next = await reopen();
  await takeOver();
  await eventually(
    async () => (await next.ledger.transaction("ada", "tx_1").catch(() => null)) ?? undefined,
    "a replay",
  );
});
