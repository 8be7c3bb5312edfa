// The spool remembers what a replica lacks for as long as necessary, and tells the replica that takes over.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import { PostingExport } from "../../../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import { leasesWith } from "../../../../src/money/ledger/redis/account-index.ts";
import { keptUntilCopied } from "../../../../src/money/ledger/spool/copies.ts";
import { KEEP_MS, openSpool, type Spool } from "../../../../src/money/ledger/spool/file.ts";
import type { SpoolPage } from "../../../../src/money/ledger/spool/unit.ts";
import { eventually } from "../../../support/gateway.ts";
import { onlyAProcessShows } from "../../../support/process-fact.ts";
import { startRedis } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { lastNumber } from "../archive/numbers.ts";
import { CENT } from "../requests.ts";
import { NO_BOUNDS } from "../store.ts";
import { CREDIT_CENTS, cost, startReplicated, startSpooled } from "./spooled.ts";

onlyAProcessShows("a Redis that fails over");

const LONG_MS = 3 * KEEP_MS;
const LOOK_MS = 100;

function aheadBy(ms: number): Clock {
  return { ...systemClock, epochMs: () => systemClock.epochMs() + ms };
}

async function idsOf(spool: Spool, which: SpoolPage["which"]): Promise<string[]> {
  const ids: string[] = [];
  await spool.flush();
  for await (const page of spool.pages(which))
    for (const { intent } of page) if (intent.op === "post") ids.push(intent.request.holdId);
  return ids;
}

it("charges that the replica never had are there after it has taken over, once, though that took half an hour", async () => {
  const { ledger, link, hold, redis, proxy, way, replica, clock } = await startReplicated();
  for (const id of ["tx_copied", "tx_held", "tx_lost"]) expect(await hold(id, 5)).toEqual({ outcome: "held" });
  expect(await ledger.post(cost("tx_copied", 1))).toMatchObject({ outcome: "posted", repeat: false });
  // A replica that has just started is busy with its files.
  const isCopied = async () => (await link.waitForReplicas("{a:ada}:b")) || undefined;
  await eventually(isCopied, "the replica to have the first charge");
  way.blackHole();
  expect(await hold("tx_unseen", 5)).toEqual({ outcome: "held" });
  for (const [id, cents] of [
    ["tx_lost", 2],
    ["tx_unseen", 3],
  ] as const)
    expect(await ledger.post(cost(id, cents))).toMatchObject({ outcome: "posted", repeat: false });
  // A look at the spool makes it record on disk what was answered, and when.
  expect((await ledger.doctor()).findings).toEqual([]);
  clock.advance(LONG_MS);
  // The spool forgets old entries when a call ends.
  expect(await ledger.post(cost("tx_held", 4))).toMatchObject({ outcome: "posted", repeat: false });
  expect((await ledger.doctor()).findings).toEqual([]);

  await redis.kill();
  clock.advance(LONG_MS);
  await replica.send("REPLICAOF", "NO", "ONE");
  const calls = (await replica.send("MGET", "{a:ada}:c:tx_copied", "{a:ada}:c:tx_lost")) as (string | null)[];
  expect(calls.map((call) => call?.startsWith("posted") ?? false)).toEqual([true, false]);
  proxy.leadTo(replica.port);
  const all = async () => {
    const { rows } = await ledger.transactions({ accountId: "ada", keyId: null, limit: 10, cursor: null });
    return rows.filter(({ kind }) => kind === "charge").length === 4 ? rows : undefined;
  };
  const rows = await eventually(() => all().catch(() => undefined), "all charges");
  const charges = Object.fromEntries(rows.map(({ transactionId, amountNano }) => [transactionId, amountNano / CENT]));
  expect(charges).toMatchObject({ tx_copied: 1, tx_lost: 2, tx_unseen: 3, tx_held: 4 });
  expect(await ledger.account("ada")).toMatchObject({ spentNano: 10 * CENT, heldNano: 0 });
  expect((await ledger.doctor()).findings).toEqual([]);
});

it("what no replica has stays out of the archive: after a failover no charge is there alone, and none twice", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-copies-"));
  const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock: systemClock, onFatal() {} });
  onTestFinished(async () => {
    await archive.close();
    removeFolder(folder);
  });
  const { ledger, link, hold, redis, proxy, way, replica } = await startReplicated({ archive });
  const rounds: (() => void)[] = [];
  const errors: string[] = [];
  const mover = new PostingExport({
    ...{ link, archive, clock: aheadBy(LONG_MS), clockIsServers: true, ageMs: 0 },
    onBroken: (error) => errors.push(String(error)),
    every(_, run) {
      rounds.push(run);
      return () => {};
    },
  });
  onTestFinished(() => mover.stop());
  const moved = async (count: number) => {
    for (const round of rounds) round();
    return (await lastNumber(archive, "ada")) === count || undefined;
  };
  for (const id of ["tx_1", "tx_2"]) expect(await hold(id, 5)).toEqual({ outcome: "held" });
  expect(await ledger.post(cost("tx_1", 1))).toMatchObject({ outcome: "posted" });
  await eventually(() => moved(2), "the opening credit and the first charge to move");

  way.blackHole();
  expect(await hold("tx_3", 5)).toEqual({ outcome: "held" });
  for (const id of ["tx_3", "tx_2"]) expect(await ledger.post(cost(id, 2))).toMatchObject({ outcome: "posted" });
  await link.call("ZADD", `${leasesWith("ada")}:archive`, "1", "ada");
  await eventually(async () => (await moved(4)) ?? (errors.length > 0 || undefined), "a round of the exporter");
  expect([await lastNumber(archive, "ada"), errors]).toEqual([2, [expect.stringContaining("no replica")]]);

  await redis.kill();
  await replica.send("REPLICAOF", "NO", "ONE");
  proxy.leadTo(replica.port);
  const spent = async () => (await ledger.account("ada").catch(() => null))?.spentNano === 5 * CENT || undefined;
  await eventually(spent, "all charges");
  const next = await startRedis({ replicaof: `127.0.0.1 ${replica.port}` });
  onTestFinished(() => next.dispose());
  await link.call("ZADD", `${leasesWith("ada")}:archive`, "1", "ada");
  await eventually(() => moved(4), "all charges to move");
  expect((await ledger.doctor()).findings).toEqual([]);
});

it("ten minutes after a replica has it an intent is forgotten, and not before, however long the replica stood still", async () => {
  const { folder, link, way, clock } = await startReplicated();
  const file = `${folder}/watched.db`;
  const spool = keptUntilCopied(await openSpool({ file, clock, disk: NO_BOUNDS, onFatal() {} }), link, LOOK_MS);
  onTestFinished(() => spool.close());
  const end = async (id: string) => {
    spool.end(await spool.append({ op: "post", request: cost(id, 1), origin: null }), "posted");
    await spool.flush();
  };
  const noneAlone = async () => (await idsOf(spool, "alone")).length === 0 || undefined;
  await end("tx_copied");
  await eventually(noneAlone, "the replica");
  way.blackHole();
  clock.advance(KEEP_MS + 1);
  await end("tx_alone");
  clock.advance(LONG_MS);
  await end("tx_late");
  expect(await idsOf(spool, "all")).toEqual(["tx_alone", "tx_late"]);
  expect(await idsOf(spool, { endedWithinMs: KEEP_MS })).toEqual(["tx_alone", "tx_late"]);
  expect(spool.state().depth).toBe(0);

  way.pass();
  way.cut();
  await eventually(noneAlone, "the replica to be back");
  clock.advance(KEEP_MS + 1);
  await end("tx_last");
  expect(await idsOf(spool, "all")).toEqual(["tx_last"]);
});

it("without replicas nothing is waited for", async () => {
  const { folder, link } = await startSpooled();
  const file = await openSpool({ file: `${folder}/watched.db`, clock: systemClock, disk: NO_BOUNDS, onFatal() {} });
  const waits: string[] = [];
  const spool = keptUntilCopied(file, {
    ...link,
    waitForReplicas(key) {
      waits.push(key);
      return link.waitForReplicas(key);
    },
  });
  onTestFinished(() => spool.close());
  spool.end(await spool.append({ op: "post", request: cost("tx_1", 1), origin: null }), "posted");
  expect(await idsOf(spool, { endedWithinMs: KEEP_MS })).toEqual(["tx_1"]);
  expect([await idsOf(spool, "alone"), waits]).toEqual([[], []]);
});

it("a top-up is acknowledged when a replica has it, and counts once however often it is asked for meanwhile", async () => {
  const { ledger, way, other } = await startReplicated();
  const topUp = (id: string) => ledger.topUp("ada", id, nano(5 * CENT), "invoice 7");
  way.blackHole();
  await expect(topUp("tx_first")).rejects.toMatchObject({ code: "ledger_unavailable" });
  way.pass();
  way.cut();
  const told = await eventually(() => topUp("tx_second").catch(() => undefined), "the replica to follow again");
  expect(told.outcome).toBe("exists");
  expect((await other.account("ada"))?.grantedNano).toBe((CREDIT_CENTS + 5) * CENT);
});
