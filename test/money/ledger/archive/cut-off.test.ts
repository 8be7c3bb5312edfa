// The move of postings to the archive breaks off: nothing is lost, and nothing is duplicated.
import { afterAll, describe, expect, test } from "vitest";
import type { Archive } from "../../../../src/money/ledger/archive/archive.ts";
import { openPostgresArchive } from "../../../../src/money/ledger/archive/postgres.ts";
import type { LedgerLink } from "../../../../src/money/ledger/redis/script.ts";
import { eventually } from "../../../support/gateway.ts";
import { POSTGRES_MS_MAX, startPostgres } from "../../../support/postgres.ts";
import { CENT, holdRequest, postRequest } from "../requests.ts";
import { sumsOf } from "./numbers.ts";
import { only, openArchiveStage } from "./stage.ts";

const { link, archive, clock, ledger, open, exporter, account, charges, listed, findings, inRedis, dispose } =
  await openArchiveStage();
afterAll(dispose);

describe("a step that is cut off", () => {
  /** The archive or Redis does the work, and its answer is lost. */
  class Cut extends Error {}

  test.each([
    ["after the archive has kept the postings", "append"],
    ["after Redis has let them go", "trim"],
    ["before anything", "archivable"],
  ])("%s changes nothing when it is repeated", async (_, point) => {
    const accountId = await account();
    await charges(accountId, 1, 9);
    const cut = { count: 0 };
    const cutting: LedgerLink = {
      ...link,
      script(name, lua, library) {
        const script = link.script(name, lua, library);
        if (name !== point) return script;
        return {
          async run(keys, args) {
            await script.run(keys, args);
            if (cut.count++ === 0) throw new Cut();
            return script.run(keys, args);
          },
        };
      },
    };
    const forgetful: Archive = {
      ...archive,
      async append(postings) {
        const answer = await archive.append(postings);
        if (point === "append" && cut.count++ === 0) throw new Cut();
        return answer;
      },
    };
    const before = await ledger.account(accountId);
    const broken = exporter({ link: cutting, archive: forgetful });
    await expect(broken.flush(only(accountId))).rejects.toThrow(Cut);
    expect((await listed(accountId)).length).toBe(10);
    expect(await findings()).toEqual([]);
    await charges(accountId, 10, 12);
    await broken.flush(only(accountId));
    await exporter().flush(only(accountId));
    expect(await sumsOf(archive, accountId)).toMatchObject({ count: 13, charged: 12 * CENT });
    expect(await inRedis(accountId)).toBe(0);
    expect((await ledger.account(accountId))?.spentNano).toBe((before?.spentNano ?? 0) + 3 * CENT);
    expect(await findings()).toEqual([]);
  });

  test("two that move the same postings at once move them once", async () => {
    const accountId = await account();
    await charges(accountId, 1, 30);
    const moves = [exporter(), exporter(), exporter()].map((mover) => mover.flush(only(accountId)));
    await Promise.allSettled(moves);
    await exporter().flush(only(accountId));
    expect(await sumsOf(archive, accountId)).toMatchObject({ count: 31, charged: 30 * CENT });
    expect(await findings()).toEqual([]);
  });
});

test("over PostgreSQL, which dies and comes back: every charge of four processes is kept once", {
  timeout: POSTGRES_MS_MAX,
}, async () => {
  const postgres = await startPostgres();
  const archives = await Promise.all([1, 2, 3, 4].map(() => openPostgresArchive(postgres.url)));
  const ledgers = archives.map(open);
  const accountIds = await Promise.all([1, 2, 3].map(() => account(100_000)));
  let running = true;
  const movers = archives.map((to) => exporter({ archive: to, ageMs: 0, keptMax: 0 }));
  const ticking = (async () => {
    while (running) {
      for (const mover of movers) mover.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const call = async (at: number) => {
    const accountId = accountIds[at % 3] ?? "";
    const own = ledgers[at % 4] ?? ledger;
    const hold = { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() };
    await own.reserve(holdRequest(hold));
    await own.post(postRequest(hold));
  };
  for (let at = 0; at < 600; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, more) => call(at + more)));
    clock.advance(11_000);
    if (at === 200) {
      const moved = async () => (await sumsOf(archives[1] ?? archive, accountIds[0] ?? "")).count || undefined;
      await eventually(moved, "postings in the archive");
      await postgres.kill();
    }
    if (at === 400) await postgres.start();
  }
  running = false;
  await ticking;
  const [own] = ledgers;
  await Promise.all(movers.map((mover) => mover.stop()));
  const last = exporter({ archive: archives[0] ?? archive });
  expect(await last.flush(only(...accountIds))).toBeLessThan(600);
  for (const accountId of accountIds) {
    expect(await sumsOf(archives[1] ?? archive, accountId)).toMatchObject({ count: 201, charged: 200 * CENT });
    expect(await inRedis(accountId)).toBe(0);
  }
  const told = (await own?.doctor())?.findings ?? [];
  expect(told.filter(({ accountId }) => accountIds.includes(accountId ?? ""))).toEqual([]);
  await Promise.all(archives.map((one) => one.close()));
  await postgres.dispose();
});
