// Charges after their hold's lease, where the earlier postings have moved to the archive.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import { PostingExport } from "../../../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import { restId, tellStore } from "../../../../src/money/ledger/spool/tell-store.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { anyRedis, openLink } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../requests.ts";
import { START_MS } from "../store.ts";

const LEASE_MS = 60_000;
const RANGE_MS = 120_000;

/** An account, and a step that moves all its postings to the archive and then removes their marks from Redis. */
async function start(accountId: string) {
  const server = await anyRedis();
  const link = await openLink(server.url);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-late-"));
  const onFatal = (error: unknown) => console.error(error);
  const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock: systemClock, onFatal });
  onTestFinished(async () => {
    await archive.close();
    await link.close();
    await server.dispose();
    removeFolder(folder);
  });
  const clock = manualClock(START_MS);
  const settled = { ...link, uptimeMs: () => Promise.resolve(LEASE_MS) };
  const ledger = redisLedger({ link: settled, clock, clockIsServers: true, leaseMs: LEASE_MS, archive });
  await ledger.openAccount(newAccount(accountId, 100));
  const hold = (cents: number) => ({ accountId, holdId: `${accountId}.call`, cents, nowMs: clock.epochMs() });
  return {
    ...{ ledger, hold },
    async end() {
      clock.advance(LEASE_MS);
      expect(await ledger.sweep(100)).toHaveLength(1);
    },
    async archived() {
      clock.advance(2 * LEASE_MS);
      const every = () => () => {};
      const mover = new PostingExport({ link, archive, clock, clockIsServers: true, onBroken: onFatal, every });
      await mover.flush(
        (async function* () {
          yield accountId;
        })(),
      );
      await mover.stop();
      const { holdId } = hold(0);
      for (const id of [holdId, restId(holdId)]) await link.call("DEL", `{a:${accountId}}:c:${id}`);
      expect(await link.call("ZCARD", `{a:${accountId}}:x`)).toBe(0);
    },
  };
}

test("a late charge that the archive alone knows of is not made again", { timeout: RANGE_MS }, async () => {
  const { ledger, hold, end, archived } = await start("late-archived");
  const origin = holdRequest(hold(5));
  await ledger.reserve(origin);
  await end();
  const tell = () => tellStore(ledger, { op: "post", request: postRequest(hold(3)), origin });
  expect(await tell()).toMatchObject({ outcome: "posted", repeat: false, chargedNano: 3 * CENT });
  await archived();
  expect(await tell()).toMatchObject({ outcome: "posted", repeat: true, chargedNano: 3 * CENT });
  expect(await ledger.account("late-archived")).toMatchObject({ spentNano: 3 * CENT });
  expect((await ledger.doctor()).findings).toEqual([]);
});

test("the rest of a posting of the sweep is charged once, wherever both are by then", {
  timeout: RANGE_MS,
}, async () => {
  const { ledger, hold, end, archived } = await start("rest-archived");
  const origin = holdRequest(hold(5), { onExpire: "post-accrued" });
  await ledger.reserve(origin);
  await ledger.extend(hold(0), nano(5 * CENT), nano(CENT), LEASE_MS);
  await end();
  await archived();
  const tell = () => tellStore(ledger, { op: "post", request: postRequest(hold(4)), origin });
  const whole = { outcome: "posted", chargedNano: 4 * CENT, chargedCents: 4, absorbedNano: 0 };
  expect(await tell()).toMatchObject({ ...whole, repeat: false });
  expect(await tell()).toMatchObject({ ...whole, repeat: true });
  await archived();
  expect(await tell()).toMatchObject({ ...whole, repeat: true });
  expect(await ledger.account("rest-archived")).toMatchObject({ spentNano: 4 * CENT, heldNano: 0 });
  expect((await ledger.doctor()).findings).toEqual([]);
});
