// An older copy of Redis that catches up with its archive: later charges count once, and a repeat does not charge again.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import type { Archive } from "../../../../src/money/ledger/archive/archive.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import { archiveAll, replayArchive } from "../../../../src/money/ledger/redis/books.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import { dumpRedis, restoreRedis } from "../../../../src/platform/storage/redis-dump.ts";
import type { RedisLink } from "../../../../src/platform/storage/redis-link.ts";
import { anyRedis, openLink, REDIS_MS_MAX } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../requests.ts";

const LEASE_MS = 60_000;

/** Sends every command to Redis twice, as happens where an answer is lost. */
function twice(link: RedisLink): RedisLink {
  return {
    ...link,
    async call(command, ...args) {
      await link.call(command, ...args);
      return link.call(command, ...args);
    },
  };
}

test(
  "sums are added once though commands are sent twice, and a key whose call was charged since is not free again",
  async () => {
    const server = await anyRedis();
    const link = await openLink(server.url);
    const folder = mkdtempSync(join(tmpdir(), "tollgate-books-"));
    const clock = systemClock;
    const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock, onFatal() {} });
    onTestFinished(async () => {
      await archive.close();
      await link.close();
      await server.dispose();
      removeFolder(folder);
    });
    const ledger = redisLedger({ link, clock, leaseMs: LEASE_MS, archive });
    const books = { link, archive, clock, leaseMs: LEASE_MS };
    const idempotency = { key: "order 7", fingerprint: "f", keepMs: 3_600_000 };
    const hold = (holdId: string) => ({ accountId: "ada", holdId, cents: 3, nowMs: clock.epochMs() });
    await ledger.openAccount(newAccount("ada", 100));
    expect(await ledger.reserve(holdRequest(hold("open"), { idempotency }))).toEqual({ outcome: "held" });
    await archiveAll(books);
    const copy = join(folder, "copy");
    await dumpRedis(link, copy, { nowMs: clock.epochMs(), note: "", without: [] });
    await ledger.post(postRequest({ ...hold("open"), cents: 8 }));
    await ledger.topUp("ada", "more", nano(7 * CENT), "invoice 8");
    await archiveAll(books);

    const replay = async (over: Partial<typeof books>) => {
      await server.send("FLUSHALL");
      await restoreRedis(link, copy, { nowMs: clock.epochMs(), without: [] });
      return replayArchive({ ...books, ...over });
    };
    // What is missing makes nothing else count twice.
    const after: Archive["after"] = async (...asked) => (await archive.after(...asked)).filter((one) => one.number > 2);
    expect(await replay({ archive: { ...archive, after } })).toBe(1);
    expect(await ledger.account("ada")).toMatchObject({ grantedNano: 107 * CENT, spentNano: 0 });
    expect(await replay({ link: twice(link) })).toBe(2);
    expect(await ledger.account("ada")).toMatchObject({ grantedNano: 107 * CENT, spentNano: 3 * CENT, heldNano: 0 });
    // Its cost above the hold takes room again.
    await ledger.patchAccount("ada", { inferenceCapNano: nano(9 * CENT) });
    expect(await ledger.reserve(holdRequest(hold("more")))).toMatchObject({
      ...{ outcome: "inference_cap", spentNano: 3 * CENT, absorbedNano: 5 * CENT },
    });
    expect(await ledger.post(postRequest(hold("open")))).toMatchObject({ outcome: "posted", repeat: true });
    expect(await ledger.reserve(holdRequest(hold("again"), { idempotency }))).toEqual({
      ...{ outcome: "idempotency_done", holdId: "open" },
    });
    expect((await ledger.doctor()).findings).toEqual([]);
  },
  REDIS_MS_MAX,
);
