import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { openDatabase } from "../../../../src/platform/storage/open-database.ts";
import { folderForTest } from "../../../support/for-file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { onlyAProcessShows } from "../../../support/process-fact.ts";
import { charge, holdRequest, newAccount, newKey, postRequest } from "../requests.ts";
import { NO_BOUNDS, openLedgerThread, START_MS } from "../store.ts";

onlyAProcessShows("a second process on one file");

let folder: string;
beforeEach(() => {
  folder = folderForTest("tollgate-storage-");
});

const clock = manualClock(START_MS);
const hold = (holdId: string, cents: number) => ({ accountId: "a", holdId, cents, nowMs: clock.epochMs() });

test("a second process is refused at once, with a sentence that says what to do", async () => {
  const file = join(folder, "tollgate.db");
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  const source = `
    import { openLedgerThread } from ${JSON.stringify(new URL("../store.ts", import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL("../../../../src/core/clock.ts", import.meta.url).href)};
    await openLedgerThread(${JSON.stringify(file)}, systemClock).catch((error) => console.log(error.message));`;
  const second = spawnSync(process.execPath, ["--input-type=module", "-e", source], { encoding: "utf8" });
  expect(second.stdout).toMatch(/tollgate\.db is in use by another process; stop it, or choose another DATA_DIR/);
  await ledger.close();
  await expect(openLedgerThread(file, systemClock).then((thread) => thread.close())).resolves.toBeUndefined();
});

test("a release that locked the file itself and one that locks beside it keep each other out", async () => {
  const file = join(folder, "tollgate.db");
  const inUse = /tollgate\.db is in use by another process/;
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  expect(() => openDatabase(file)).toThrow(inUse);
  await ledger.close();
  const earlier = openDatabase(file);
  await expect(openLedgerThread(file, clock)).rejects.toThrow(inUse);
  earlier.close();
  await (await openLedgerThread(file, clock)).close();
});

test("the file is for its owner alone", async () => {
  const file = join(folder, "tollgate.db");
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  await ledger.openAccount(newAccount("a", 1));
  for (const path of [file, `${file}-wal`, `${file}-shm`, `${file}-lock`])
    expect(statSync(path).mode & 0o777).toBe(0o600);
  await ledger.close();
});

test("an operation that fails is rejected alone; the others of its batch are committed, once", async () => {
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), clock));
  await ledger.openAccount(newAccount("a", 100));
  const good = [1, 2, 3].map((at) => ledger.reserve(holdRequest(hold(`before-${at}`, 1))));
  const bad = ledger.createKey("a", newKey("a.key"));
  const later = [1, 2, 3].map((at) => charge(ledger, hold(`after-${at}`, 1)));
  await expect(bad).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect((await Promise.all(good)).map(({ outcome }) => outcome)).toEqual(["held", "held", "held"]);
  await Promise.all(later);
  expect(await ledger.account("a")).toMatchObject({ spentNano: 3e7, heldNano: 3e7 });
  expect((await ledger.doctor()).findings).toEqual([]);
  await ledger.close();
});

test("a hold that need not outlive its process writes nothing, and is gone with it; any other is there again", async () => {
  const file = join(folder, "tollgate.db");
  let ledger = sqliteLedger(await openLedgerThread(file, clock));
  await ledger.openAccount(newAccount("a", 100));
  await charge(ledger, hold("first", 1));
  const written = () => statSync(`${file}-wal`).size;
  const before = written();
  const unwritten = { unwritten: true };
  for (const id of ["one", "two", "three"]) await ledger.reserve(holdRequest(hold(id, 2), unwritten));
  expect(await ledger.renew([hold("one", 2)], 60_000)).toEqual([]);
  expect(written()).toBe(before);
  expect(await ledger.account("a")).toMatchObject({ spentNano: 1e7, heldNano: 6e7 });
  expect(await ledger.post(postRequest(hold("one", 2)))).toMatchObject({ outcome: "posted", chargedNano: 2e7 });
  expect(await ledger.void(hold("two", 2), "test")).toEqual({ outcome: "voided" });
  expect(await ledger.reserve(holdRequest(hold("two", 2), unwritten))).toEqual({ outcome: "exists", state: "voided" });
  const idempotency = { key: "k", fingerprint: "body", keepMs: 86_400_000 };
  await ledger.reserve(holdRequest(hold("keyed", 3), { ...unwritten, idempotency }));
  await ledger.reserve(holdRequest(hold("accrues", 4), { ...unwritten, onExpire: "post-accrued" }));
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  await ledger.close();
  ledger = sqliteLedger(await openLedgerThread(file, clock));
  expect(await ledger.account("a")).toMatchObject({ spentNano: 3e7, heldNano: 7e7 });
  expect(await ledger.post(postRequest(hold("three", 2)))).toEqual({ outcome: "missing" });
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  await ledger.close();
});

test("holds without a row are as the last commit left them when a batch is rolled back", async () => {
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), clock));
  await ledger.openAccount(newAccount("a", 100));
  const reserve = (id: string) => ledger.reserve(holdRequest(hold(id, 5), { unwritten: true }));
  for (const id of ["posted", "voided", "grows", "stays"]) await reserve(id);
  // One batch: its first try is rolled back as a whole, and each operation then runs alone.
  const [fresh, posted, voided, grown, brief] = await Promise.all([
    reserve("fresh"),
    ledger.post(postRequest(hold("posted", 5))),
    ledger.void(hold("voided", 5), "test"),
    ledger.extend(hold("grows", 5), nano(9e7), nano(0), 60_000),
    reserve("brief").then(() => ledger.void(hold("brief", 5), "test")),
    expect(ledger.createKey("a", newKey("a.key"))).rejects.toMatchObject({ code: "ledger_unavailable" }),
  ]);
  expect([fresh.outcome, posted.outcome, voided.outcome, brief.outcome]).toEqual([
    "held",
    "posted",
    "voided",
    "voided",
  ]);
  expect(grown).toEqual({ outcome: "extended", amountNano: 9e7 });
  expect(await ledger.account("a")).toMatchObject({ spentNano: 5e7, heldNano: 19e7 });
  expect(await ledger.totals()).toMatchObject({ holdsOpen: 3, heldNano: 19e7 });
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  for (const id of ["fresh", "grows", "stays"]) await ledger.post(postRequest(hold(id, 5)));
  expect(await ledger.account("a")).toMatchObject({ spentNano: 20e7, heldNano: 0 });
  await ledger.close();
});

test("a sweep ends many holds a few at a time, and forgets their ends likewise: calls go between", async () => {
  const time = manualClock(START_MS);
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), time));
  await ledger.openAccount(newAccount("a", 1_000));
  const ids = Array.from({ length: 100 }, (_, at) => `hold ${at}`);
  await Promise.all(ids.map((id) => ledger.reserve(holdRequest(hold(id, 1)))));
  time.advance(61_000);
  const messages = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => messages.mockRestore());
  expect((await ledger.sweep(90)).length).toBe(90);
  // 32, 32 and 26 holds, and one search for rows to forget.
  expect(messages).toHaveBeenCalledTimes(4);
  expect((await ledger.sweep(90)).length).toBe(10);
  // Ends of holds are forgotten a day later, 64 rows at once.
  time.advance(86_400_000 * 2);
  messages.mockClear();
  expect(await ledger.sweep(90)).toEqual([]);
  expect(messages).toHaveBeenCalledTimes(1 + 2);
  await ledger.close();
});

test("a day later nothing is left of idempotency keys in the file, whatever became of their calls", async () => {
  const file = join(folder, "tollgate.db");
  const time = manualClock(START_MS);
  const ledger = sqliteLedger(await openLedgerThread(file, time));
  await ledger.openAccount(newAccount("a", 100));
  for (const end of ["free", "answered", "unknown", "posted", "expired"] as const) {
    const idempotency = { key: end, fingerprint: "body", keepMs: 86_400_000 };
    await ledger.reserve(holdRequest(hold(end, 1), { idempotency, effect: "write" }));
    if (end === "posted") await ledger.post(postRequest(hold(end, 1)));
    else if (end !== "expired") await ledger.void(hold(end, 1), "test", { keyFate: end });
  }
  const keysInFile = () => {
    const database = openDatabase(file);
    const rows = database.prepare("SELECT idempotency_key AS key, state FROM idempotency ORDER BY key").all();
    database.close();
    return rows.map(({ key, state }) => `${key}: ${state}`);
  };
  time.advance(86_400_000 - 1);
  await ledger.sweep(100);
  await ledger.close();
  const kept = ["answered: answered", "expired: expired", "posted: posted", "unknown: unknown"];
  expect(keysInFile()).toEqual(kept);
  time.advance(1);
  const again = sqliteLedger(await openLedgerThread(file, time));
  await again.sweep(100);
  await again.close();
  expect(keysInFile()).toEqual([]);
});

test("closing answers what was under way and refuses what comes after", async () => {
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), clock));
  await ledger.openAccount(newAccount("a", 100));
  const running = Array.from({ length: 600 }, (_, at) => ledger.reserve(holdRequest(hold(`h${at}`, 0))));
  const closed = ledger.close();
  await expect(ledger.account("a")).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect(new Set((await Promise.all(running)).map(({ outcome }) => outcome))).toEqual(new Set(["held"]));
  await closed;
  await ledger.close();
});

test("with little room on the disk no new hold is taken on, and running ones are posted", async () => {
  const file = join(folder, "tollgate.db");
  const roomy = sqliteLedger(await openLedgerThread(file, clock));
  await roomy.openAccount(newAccount("a", 100));
  await roomy.reserve(holdRequest(hold("running", 2)));
  await roomy.close();
  const bounds = { ...NO_BOUNDS, freeBytesMin: Number.MAX_SAFE_INTEGER };
  const tight = sqliteLedger(await openLedgerThread(file, clock, bounds));
  await expect(tight.reserve(holdRequest(hold("new", 2)))).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect(await tight.post(postRequest(hold("running", 1)))).toMatchObject({ outcome: "posted" });
  await tight.close();
});

test("more than can wait is refused, new work first", async () => {
  const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), clock));
  await ledger.openAccount(newAccount("a", 100));
  await ledger.reserve(holdRequest(hold("running", 2)));
  const flood = Array.from({ length: 17_000 }, (_, at) => ledger.reserve(holdRequest(hold(`h${at}`, 0))));
  const post = ledger.post(postRequest(hold("running", 1)));
  const refused = (await Promise.allSettled(flood)).filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(17_000 - 16_384);
  expect(await post).toMatchObject({ outcome: "posted" });
  await ledger.close();
});
