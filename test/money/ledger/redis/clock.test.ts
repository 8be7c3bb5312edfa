// A Redis whose clock differs from the gateways': a jump, or the failover to a replica with a wrong clock, moves no money and no window.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import { PostingExport } from "../../../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import { DAY_MS } from "../../../../src/money/ledger/model/windows.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import type { LedgerLink } from "../../../../src/money/ledger/redis/script.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { anyRedis, openLink, REDIS_MS_MAX } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../requests.ts";
import { START_MS } from "../store.ts";

const LEASE_MS = 60_000;
const HOUR_MS = 3_600_000;
const TIMELESS = ["write_key", "delete_key", "first_end", "exporter"];

/** A gateway and a server with separate clocks, and the account `ada` with a ceiling of eight cents for `period`. */
async function startApart(period: "day" | "month") {
  const server = await anyRedis();
  const link = await openLink(server.url);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-clock-"));
  const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock: systemClock, onFatal() {} });
  onTestFinished(async () => {
    await archive.close();
    await link.close();
    await server.dispose();
    removeFolder(folder);
  });
  const clock = manualClock(START_MS);
  let aheadMs = 0;
  const apart: LedgerLink = {
    ...link,
    uptimeMs: () => Promise.resolve(LEASE_MS),
    script(name, lua, library) {
      const script = link.script(name, lua, library);
      if (TIMELESS.includes(name)) return script;
      return {
        run: (keys, [now = "", leapt = "", given = "", ...args]) =>
          script.run(keys, [now, leapt, String(Number(given) + aheadMs), ...args]),
      };
    },
  };
  const ledger = redisLedger({ link: apart, clock, clockIsServers: true, leaseMs: LEASE_MS, archive });
  const key = { ...newAccount("ada", 1_000).primaryKey, ceilingNano: nano(8 * CENT), ceilingPeriod: period };
  await ledger.openAccount(newAccount("ada", 1_000, { primaryKey: key }));
  return {
    ...{ ledger, clock },
    leap(ms: number) {
      aheadMs = ms;
    },
    hold: (holdId: string, cents: number) =>
      ledger.reserve(holdRequest({ accountId: "ada", holdId, cents, nowMs: clock.epochMs() })),
    post: (holdId: string, cents: number) => ledger.post(postRequest({ accountId: "ada", holdId, cents })),
    async archive() {
      const mover = new PostingExport({
        link: apart,
        archive,
        clock,
        clockIsServers: true,
        onBroken() {},
        every: () => () => {},
      });
      return mover.flush(
        (async function* () {
          yield "ada";
        })(),
      );
    },
  };
}

test(
  "a server's clock that leaps ahead ends no hold of a call that runs; one of the dead ends when the clocks agree again",
  async () => {
    const { ledger, clock, leap, hold, post } = await startApart("day");
    await hold("runs", 2);
    await hold("dead", 2);
    leap(HOUR_MS);
    expect(await ledger.sweep(10)).toEqual([]);
    expect(await hold("new", 1)).toEqual({ outcome: "clock_skew" });
    expect(await post("runs", 2)).toMatchObject({ outcome: "posted", chargedNano: 2 * CENT });
    leap(0);
    clock.advance(LEASE_MS + 1);
    expect(await ledger.sweep(10)).toEqual(["dead"]);
    expect((await ledger.doctor()).findings).toEqual([]);
  },
  REDIS_MS_MAX,
);

test(
  "a server's clock that is set right after it was behind ends no hold of a call that runs: its lease is of the wrong time",
  async () => {
    const { ledger, clock, leap, hold, post } = await startApart("day");
    for (const holdId of ["runs", "dead"]) await hold(holdId, 2);
    const renew = () => ledger.renew([{ accountId: "ada", holdId: "runs" }], LEASE_MS);
    leap(-HOUR_MS);
    clock.advance(LEASE_MS / 4);
    await renew();
    expect(await ledger.sweep(10)).toEqual([]);
    leap(0);
    clock.advance(1_000);
    expect(await ledger.sweep(10)).toEqual([]);
    await renew();
    clock.advance(LEASE_MS - 2_000);
    await renew();
    expect(await ledger.sweep(10)).toEqual([]);
    clock.advance(2_000);
    expect(await ledger.sweep(10)).toEqual(["dead"]);
    expect(await post("runs", 2)).toMatchObject({ outcome: "posted", chargedNano: 2 * CENT });
    expect((await ledger.doctor()).findings).toEqual([]);
  },
  REDIS_MS_MAX,
);

test(
  "what ends while the server's clock is ahead takes no account along: its days come and go by the true time",
  async () => {
    const { ledger, clock, leap, hold, post } = await startApart("day");
    await hold("a", 5);
    leap(40 * DAY_MS);
    expect(await post("a", 5)).toMatchObject({ outcome: "posted" });
    await ledger.topUp("ada", "more", nano(CENT), "invoice");
    leap(0);
    expect(await hold("b", 5)).toMatchObject({ outcome: "ceiling", spentNano: 5 * CENT });
    clock.advance(DAY_MS);
    expect(await hold("c", 5)).toEqual({ outcome: "held" });
    await post("c", 5);
    clock.advance(DAY_MS);
    expect(await hold("d", 5)).toEqual({ outcome: "held" });
  },
  REDIS_MS_MAX,
);

test(
  "what moves to the archive while the server's clock is ahead leaves the sums of the month that runs",
  async () => {
    const { leap, hold, post, archive } = await startApart("month");
    await hold("a", 5);
    await post("a", 5);
    leap(100 * DAY_MS);
    expect(await archive()).toBe(2);
    leap(0);
    expect(await hold("b", 5)).toMatchObject({ outcome: "ceiling", spentNano: 5 * CENT });
  },
  REDIS_MS_MAX,
);
