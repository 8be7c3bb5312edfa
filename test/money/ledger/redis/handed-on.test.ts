// Holds and postings of the previous release, which knew no windows but a key's and the inference cap, beside those of this one.
import { expect, onTestFinished, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";
import { holdLines, postingLines } from "../../../../src/money/ledger/redis/lines.ts";
import { openArchiveStage } from "../archive/stage.ts";
import { CENT, holdRequest, postRequest } from "../requests.ts";

const UNPAID: Window = { scope: "unpaid", period: "day", max: nano(CENT), code: "unpaid_costs", counts: "unpaid" };
const META = ["parentId", "requestId", "operation", "asked"];

test("what a hold has brought stands where that release hands it on unread, and its postings tell none", async () => {
  const stage = await openArchiveStage();
  onTestFinished(stage.dispose);
  const { ledger, link, clock } = stage;
  const accountId = await stage.account();
  const hold = (id: string, cents: number) => ({
    accountId,
    holdId: `${accountId}.${id}`,
    cents,
    nowMs: clock.epochMs(),
  });
  const place = (id: string) => `{a:${accountId}}:c:${accountId}.${id}`;
  const text = async (id: string) => String(await link.call("GET", place(id)));

  // Its own holds end here as before.
  await ledger.reserve(holdRequest(hold("old", 2)));
  expect(Object.keys(JSON.parse(holdLines(await text("old"))?.meta ?? ""))).toEqual(META);
  expect(await ledger.void(hold("old", 0), "test", { upstreamNano: nano(9 * CENT) })).toEqual({ outcome: "voided" });
  expect(await ledger.spentToday(accountId, ["unpaid"])).toEqual([0]);

  // It reads ten lines of a hold; the last is the meta, which it copies into its posting.
  await ledger.reserve(holdRequest(hold("new", 2), { windows: [UNPAID] }));
  expect((await text("new")).split("\n")).toHaveLength(11);
  expect(JSON.parse(holdLines(await text("new"))?.meta ?? "")).toMatchObject({
    windows: "-unpaid,day,10000000,unpaid_costs",
  });
  await ledger.post(postRequest(hold("new", 2), { upstreamNano: nano(3 * CENT) }));
  // Of a posting it reads everything before the new line, which is the last.
  const posted = await text("new");
  expect(posted.split("\n").at(-1)).toBe("-unpaid");
  expect(Object.keys(JSON.parse(postingLines(posted)?.meta ?? ""))).toEqual(META);

  // As it posts: with the hold's meta, and without the last line. The doctor does not count what the posting does not state.
  await ledger.reserve(holdRequest(hold("mixed", 2), { windows: [{ ...UNPAID, max: null }] }));
  const { meta = "" } = holdLines(await text("mixed")) ?? {};
  await ledger.post(postRequest(hold("mixed", 2), { upstreamNano: nano(2 * CENT) }));
  const lines = (await text("mixed")).split("\n").slice(0, -1);
  const at = lines.findIndex((line) => line.startsWith("{"));
  await link.call("SET", place("mixed"), lines.with(at, meta).join("\n"));
  expect(await ledger.transaction(accountId, `${accountId}.mixed`)).toMatchObject({
    requestId: `request of ${accountId}.mixed`,
  });
  expect(await stage.findings()).toEqual([]);
  await link.call("HINCRBY", `{a:${accountId}}:b`, `unpaid:${Math.floor(clock.epochMs() / 86_400_000)}s`, "-1");
  expect(await stage.findings()).toEqual([
    {
      invariant: "I15",
      accountId,
      detail: expect.stringMatching(/says 9999999, its postings alone add up to 10000000/),
    },
  ]);
});
