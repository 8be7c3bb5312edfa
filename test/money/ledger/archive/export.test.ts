// Postings move from Redis to the archive, and readers see no difference.
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import type { PostingPage } from "../../../../src/core/account-rows.ts";
import { nano } from "../../../../src/core/money.ts";
import type { Archive } from "../../../../src/money/ledger/archive/archive.ts";
import { claimArchive } from "../../../../src/money/ledger/archive/export.ts";
import { eventually } from "../../../support/gateway.ts";
import { CENT, holdRequest, newKey, postRequest } from "../requests.ts";
import { lastNumber } from "./numbers.ts";
import { only, openArchiveStage } from "./stage.ts";

const { link, file, archive, clock, ledger, exporter, account, charges, listed, findings, inRedis, dispose } =
  await openArchiveStage();
afterAll(dispose);

test("postings leave after a minute, in order, and what is read of them does not change", async () => {
  const accountId = await account();
  await charges(accountId, 1, 5);
  clock.advance(30_000);
  await charges(accountId, 6, 7);
  const [before, rows] = [await ledger.account(accountId), await listed(accountId)];
  const one = await ledger.transaction(accountId, `${accountId}.2`);
  const mover = exporter();
  mover.tick();
  await mover.stop();
  expect(await inRedis(accountId)).toBe(8);
  clock.advance(30_001);
  const again = exporter();
  await eventually(async () => {
    again.tick();
    return (await inRedis(accountId)) === 2 ? true : undefined;
  }, "the old postings to leave");
  await again.stop();
  expect(await lastNumber(archive, accountId)).toBe(6);
  expect(rows.map((id) => id.replace("open_", ""))).toEqual(["7", "6", "5", "4", "3", "2", "1", accountId]);
  expect(await listed(accountId)).toEqual(rows);
  expect(await ledger.transaction(accountId, `${accountId}.2`)).toEqual(one);
  expect(await ledger.transaction(null, `${accountId}.2`)).toEqual(one);
  expect(await ledger.transaction(null, `${accountId}.7`)).toMatchObject({ kind: "charge" });
  expect(await ledger.account(accountId)).toEqual(before);
  expect(await findings()).toEqual([]);
});

test("a run's charges come oldest first from the archive and from Redis, by page", async () => {
  const accountId = await account();
  const window = { period: "run", max: nano(1_000 * CENT), code: "run_budget_exceeded", counts: "charge" } as const;
  for (let at = 1; at <= 13; at++) {
    if (at === 9) clock.advance(70_000);
    const hold = { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() };
    const windows = at % 3 === 0 ? [] : [{ ...window, scope: at % 3 === 1 ? "run:one" : "run:two" }];
    await ledger.reserve(holdRequest(hold, { windows }));
    await ledger.post(postRequest(hold));
  }
  const mover = exporter();
  await eventually(async () => {
    mover.tick();
    return (await inRedis(accountId)) === 5 ? true : undefined;
  }, "the first eight to leave");
  await mover.stop();
  for (const [runIds, expected] of [
    [["one"], [1, 4, 7, 10, 13]],
    [
      ["one", "two"],
      [1, 2, 4, 5, 7, 8, 10, 11, 13],
    ],
    [["none"], []],
  ] as const) {
    for (const limit of [1, 2, 3, 50]) {
      const ids: number[] = [];
      for (let cursor: string | null = null; ; ) {
        const page: PostingPage = await ledger.runPostings({ accountId, runIds, limit, cursor });
        expect(page.rows.length).toBeLessThanOrEqual(limit);
        ids.push(...page.rows.map(({ transactionId }) => Number(transactionId.replace(`${accountId}.`, ""))));
        if (page.next === null) break;
        cursor = page.next;
      }
      expect([limit, ids]).toEqual([limit, expected]);
    }
  }
});

test("of a busy account no more than its share stays, however young", async () => {
  const accountId = await account();
  await charges(accountId, 1, 20);
  clock.advance(10_001);
  const mover = exporter({ keptMax: 4 });
  await eventually(async () => {
    mover.tick();
    return (await inRedis(accountId)) === 4 ? true : undefined;
  }, "all but four to leave");
  await mover.stop();
  expect(mover.errors).toEqual([]);
  expect((await listed(accountId, `${accountId}.key`, 7)).map(Number)).toEqual(
    Array.from({ length: 20 }, (_, at) => 20 - at),
  );
});

test("of several exporters one is at work, and the next goes on when it stops", async () => {
  const accountId = await account();
  await charges(accountId, 1, 3);
  clock.advance(70_000);
  const [first, second] = [exporter(), exporter()];
  await eventually(async () => {
    first.tick();
    return (await inRedis(accountId)) === 0 ? true : undefined;
  }, "the first exporter to move them");
  await charges(accountId, 4, 6);
  clock.advance(70_000);
  for (let round = 0; round < 20; round++) {
    second.tick();
    await link.call("PING");
  }
  expect([second.behindMs(), await inRedis(accountId)]).toEqual([null, 3]);
  await first.stop();
  await eventually(async () => {
    second.tick();
    return (await inRedis(accountId)) === 0 ? true : undefined;
  }, "the second exporter to move them");
  expect(second.behindMs()).not.toBeNull();
  await second.stop();
});

test("whoever stops ends after the step under way, however much there is to move", async () => {
  const accountId = await account(100_000);
  await Promise.all(Array.from({ length: 401 }, (_, at) => charges(accountId, at + 1, at + 1)));
  clock.advance(70_000);
  let steps = 0;
  const slow: Archive = {
    ...archive,
    async append(postings) {
      steps += 1;
      const kept = await archive.append(postings);
      if (postings[0]?.accountId === accountId) stopping ??= mover.stop();
      return kept;
    },
  };
  let stopping: Promise<void> | undefined;
  const mover = exporter({ archive: slow });
  await eventually(async () => {
    mover.tick();
    return stopping === undefined ? undefined : true;
  }, "the first step");
  await stopping;
  expect([steps, mover.errors]).toEqual([1, []]);
  expect(await inRedis(accountId)).toBe(402 - 200);
  await exporter().flush(only(accountId));
  expect(await findings()).toEqual([]);
});

test("pages go from Redis into the archive without a gap or a double while postings move and are made", async () => {
  const accountId = await account(100_000);
  const second = `${accountId}.second`;
  await ledger.createKey(accountId, newKey(second));
  await charges(accountId, 1, 60);
  let running = true;
  const moving = (async () => {
    for (let at = 61; running; at++) {
      const hold = { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() };
      await ledger.reserve(holdRequest(hold, at % 3 === 0 ? { keyId: second } : {}));
      await ledger.post(postRequest(hold));
      if (at % 7 === 0) await exporter().flush(only(accountId));
    }
  })();
  for (let round = 0; round < 8; round++) {
    const numbers = (await listed(accountId, null, 5)).filter((id) => !id.startsWith("open_")).map(Number);
    expect(numbers).toEqual(Array.from({ length: numbers[0] ?? 0 }, (_, at) => (numbers[0] ?? 0) - at));
    const ofKey = (await listed(accountId, second, 4)).map(Number);
    expect(ofKey).toEqual(Array.from({ length: ofKey.length }, (_, at) => (ofKey[0] ?? 0) - 3 * at));
    expect(ofKey.at(-1) ?? 63).toBe(63);
  }
  running = false;
  await moving;
});

describe("what does not fit is told, and nothing is lost", () => {
  /** Changes the archive's file directly. */
  function edit(sql: string, ...values: string[]): void {
    const database = new DatabaseSync(file, { timeout: 5_000 });
    database.prepare(sql).run(...values);
    database.close();
  }

  test("the doctor names the posting that is missing, changed, or not Redis' own", async () => {
    const accountId = await account();
    await charges(accountId, 1, 5);
    await exporter().flush(only(accountId));
    const seen = async () => (await findings()).map(({ invariant, detail }) => `${invariant} ${detail}`).join("\n");
    edit("UPDATE tollgate_posting SET amount = amount + 1 WHERE transaction_id = ?", `${accountId}.3`);
    expect(await seen()).toMatch(/I10 .*charged of 50000000 .* 50000001[\s\S]*I4 .*key:.* 50000001/);
    edit("UPDATE tollgate_posting SET amount = amount - 1 WHERE transaction_id = ?", `${accountId}.3`);
    expect(await seen()).toBe("");
    edit("UPDATE tollgate_posting SET number = 7 WHERE transaction_id = ?", `${accountId}.5`);
    expect(await seen()).toMatch(
      /I10 6 postings have left Redis, 5 are in the archive[\s\S]*I10 posting 7 is .*nothing/,
    );
    edit("UPDATE tollgate_posting SET number = 6 WHERE transaction_id = ?", `${accountId}.5`);
    expect(await seen()).toBe("");
  });

  test("an account whose postings do not fit stays in Redis and keeps no other from moving", async () => {
    const [lost, sound] = [await account(), await account()];
    await charges(lost, 1, 2);
    await exporter().flush(only(lost));
    const { transactionId: _, ...rest } = (await archive.page({ accountId: lost, keyId: null }, null, 1))[0] ?? {};
    // Redis has come back without its last charges, and has made others since.
    await archive.append([{ ...rest, transactionId: `${lost}.lost`, number: 4 } as never]);
    await charges(lost, 3, 4);
    await charges(sound, 1, 2);
    clock.advance(70_000);
    const mover = exporter();
    await eventually(async () => {
      mover.tick();
      return (await inRedis(sound)) === 0 && mover.errors.length > 0 ? true : undefined;
    }, "the sound account's postings to move");
    await mover.stop();
    expect(String(mover.errors[0])).toMatch(new RegExp(`posting 4 of ${lost} is ${lost}\\.3; .*${lost}\\.lost`));
    expect(await inRedis(lost)).toBe(2);
    expect((await findings()).map(({ accountId }) => accountId)).toContain(lost);
    edit("DELETE FROM tollgate_posting WHERE transaction_id = ?", `${lost}.lost`);
    await exporter().flush(only(lost));
    expect(await findings()).toEqual([]);
  });

  test("a Redis that has given its postings to one archive refuses another", async () => {
    await claimArchive(link, archive);
    await claimArchive(link, archive);
    await expect(claimArchive(link, { ...archive, id: "another" })).rejects.toThrow(/ARCHIVE_URL/);
  });
});

test("an archive that is away is not asked, nor the log told, for every account that waits", async () => {
  const accountIds = await Promise.all(Array.from({ length: 40 }, () => account()));
  clock.advance(70_000);
  let asked = 0;
  const append = () => {
    asked += 1;
    return Promise.reject(new Error("the archive is away"));
  };
  const away = exporter({ archive: { ...archive, append } });
  // Long enough to request each of them.
  for (let round = 0; round < 500; round++) {
    away.tick();
    await link.call("PING");
  }
  await away.stop();
  clock.advance(400_000);
  expect(away.behindMs()).toBeGreaterThanOrEqual(400_000);
  expect(away.errors.length).toBeGreaterThan(0);
  // As many as one batch moves.
  expect(Math.max(asked, away.errors.length)).toBeLessThanOrEqual(4);
  clock.advance(70_000);
  const back = exporter();
  await eventually(async () => {
    back.tick();
    const left = await Promise.all(accountIds.map(inRedis));
    return left.every((count) => count === 0) || undefined;
  }, "all postings to move");
  await back.stop();
});
