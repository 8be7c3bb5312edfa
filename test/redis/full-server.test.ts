// A full Redis: new calls are refused before any vendor call, running ones are still charged.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { PostingExport } from "../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../src/money/ledger/archive/sqlite.ts";
import { redisLedger } from "../../src/money/ledger/redis/ledger.ts";
import { lastNumber } from "../money/ledger/archive/numbers.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../money/ledger/requests.ts";
import { forFile } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openLink, startRedis } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const redis = forFile(await startRedis());
const link = forFile(await openLink(redis.url));
afterEach(() => redis.send("CONFIG", "SET", "maxmemory", "0"));

it("refuses new holds; those that are there are posted, voided and swept", async () => {
  const ledger = redisLedger({ link, clock: systemClock, leaseMs: 60_000 });
  await ledger.openAccount(newAccount("ada", 100));
  const hold = (id: string, cents: number) => ({ accountId: "ada", holdId: id, cents, nowMs: systemClock.epochMs() });
  for (const id of ["one", "two"]) await ledger.reserve(holdRequest(hold(id, 3)));
  await redis.send("CONFIG", "SET", "maxmemory", "1");
  await expect(ledger.reserve(holdRequest(hold("three", 3)))).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect(await ledger.post(postRequest(hold("one", 2)))).toMatchObject({ outcome: "posted", chargedNano: 2 * CENT });
  expect(await ledger.void(hold("two", 0), "failed")).toEqual({ outcome: "voided" });
  await redis.send("CONFIG", "SET", "maxmemory", "0");
  expect(await ledger.account("ada")).toMatchObject({ spentNano: 2 * CENT, heldNano: 0 });
  expect((await ledger.doctor()).findings).toEqual([]);
});

it("keeps the holds of calls that run, and ends what it has lost of them", async () => {
  const ledger = redisLedger({ link, clock: systemClock, leaseMs: 60_000, archive: await newArchive() });
  await ledger.openAccount(newAccount("bob", 100));
  const hold = (id: string) => ({ accountId: "bob", holdId: id, cents: 3, nowMs: systemClock.epochMs() });
  await ledger.reserve(holdRequest(hold("runs")));
  await redis.send("CONFIG", "SET", "maxmemory", "1");
  // Another process, which has not recently reported a hold.
  const other = redisLedger({ link, clock: systemClock, leaseMs: 60_000, archive: await newArchive() });
  expect(await other.renew([hold("runs")], 60_000)).toEqual([]);
  const origin = holdRequest(hold("lost"));
  expect(await other.settleOrphan(postRequest(hold("lost")), origin, "orphan")).toMatchObject({ outcome: "posted" });
});

it("is emptied by the archive", () => expectEmptied("eve"));

it("is emptied by the archive where a replica has to have what moves", async () => {
  await startReplica();
  await expectEmptied("zoe");
});

async function expectEmptied(name: string): Promise<void> {
  const archive = await newArchive();
  const clock = manualClock(systemClock.epochMs());
  const own = await openLink(redis.url);
  onTestFinished(() => own.close());
  const timed = { link: own, clock, clockIsServers: true, archive };
  const ledger = redisLedger({ ...timed, leaseMs: 60_000 });
  // A replica, where there is one, must have the account, which can take a moment.
  const open = () =>
    ledger.openAccount(newAccount(name, 100)).then(
      () => true,
      () => undefined,
    );
  await eventually(open, "the account to be opened");
  clock.advance(60_000);
  await redis.send("CONFIG", "SET", "maxmemory", "1");
  const errors: unknown[] = [];
  let tick = () => {};
  const moving = new PostingExport({
    ...timed,
    onBroken: (error) => errors.push(error),
    every(_, run) {
      tick = run;
      return () => {};
    },
  });
  onTestFinished(() => moving.stop());
  const moved = async () => {
    tick();
    return (await lastNumber(archive, name)) === 1 && (await link.call("ZCARD", `{a:${name}}:x`)) === 0
      ? true
      : undefined;
  };
  await eventually(moved, "the opening credit to move");
  expect(errors).toEqual([]);
}

/** A replica of the server; it ends with the test. */
async function startReplica() {
  const replica = await startRedis({ replicaof: `127.0.0.1 ${redis.port}` });
  onTestFinished(() => replica.dispose());
  const follows = async () => (await redis.send("WAIT", "1", "100")) === 1 || undefined;
  await eventually(follows, "the replica to follow");
}

/** A new archive in its own folder; both end with the test. */
async function newArchive() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-full-"));
  const onFatal = (error: unknown) => console.error(error);
  const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock: systemClock, onFatal });
  onTestFinished(async () => {
    await archive.close();
    removeFolder(folder);
  });
  return archive;
}
