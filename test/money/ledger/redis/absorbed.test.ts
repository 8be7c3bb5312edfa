// A Redis of the previous release, which counted calls' cost above their holds in no window: it opens and works.
import { expect, onTestFinished, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import { only, openArchiveStage } from "../archive/stage.ts";
import { CENT, holdRequest, postRequest } from "../requests.ts";

test("what is absorbed counts in the days, in Redis and in the archive, from the first that this release has posted", async () => {
  const stage = await openArchiveStage();
  onTestFinished(stage.dispose);
  const { ledger, link, clock, exporter } = stage;
  const accountId = await stage.account();
  const base = `{a:${accountId}}`;
  const overrun = async (id: string, held: number, cost: number) => {
    const hold = { accountId, holdId: `${accountId}.${id}`, cents: held, nowMs: clock.epochMs() };
    expect(await ledger.reserve(holdRequest(hold))).toEqual({ outcome: "held" });
    await ledger.post(postRequest({ ...hold, cents: cost }));
  };
  await overrun("before", 1, 4);
  // As left by a release without such windows.
  const days = ((await link.call("HKEYS", `${base}:b`)) as string[]).filter((name) => /:\d+a$/.test(name));
  expect(days).toHaveLength(2);
  await link.call("HDEL", `${base}:b`, "absorbed_from", ...days);
  const key = `${accountId}.key`;
  await link.call("HSET", `${base}:k`, `${key}:past`, "20513 20524 0 0");
  expect(await stage.findings()).toEqual([]);
  await ledger.patchKey(accountId, key, { ceilingNano: nano(10 * CENT), ceilingPeriod: "month" });
  await overrun("after", 2, 4);
  await overrun("again", 1, 2);
  const short = { outcome: "ceiling", spentNano: 4 * CENT, absorbedNano: 3 * CENT };
  const ask = () => ledger.reserve(holdRequest({ accountId, holdId: "more", cents: 4, nowMs: clock.epochMs() }));
  expect(await ask()).toMatchObject(short);
  expect(await stage.findings()).toEqual([]);
  expect(await exporter().flush(only(accountId))).toBe(4);
  expect(await stage.findings()).toEqual([]);
  clock.advance(24 * 3_600_000);
  expect(await ask()).toMatchObject(short);
  expect(await stage.findings()).toEqual([]);
  await link.call("HINCRBY", `${base}:b`, days[0] ?? "", "1");
  expect(await stage.findings()).toContainEqual(
    expect.objectContaining({ invariant: "I4", detail: expect.stringMatching(/is absorbed, its postings add up to/) }),
  );
});
