// A deep job that runs into walls: our cost is limited in addition to the payer's budget, and rows stopped by that limit do not count as
// walls.
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { say } from "../../upstream/outside.ts";
import { HTML, startPagesGateway, WALL } from "./deep-pages.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startPagesGateway({ SCRAPINGANT_API_KEY: "k", SCRAPINGANT_BASE_URL: vendor.url, UNPAID_COST_CENTS: "5" }),
);
gateway.play = (socket) => say(socket, HTML, WALL);
vendor.answers((response, { url }) => {
  if (!url.includes("/markdown")) return void response.setHeader("content-type", "text/html").end(WALL);
  response.setHeader("content-type", "application/json").end(JSON.stringify({ url, markdown: "Access denied" }));
});
const account = await gateway.account({ kind: "personal", creditCents: 100 });

it("ends rows that would cost us more than they may, and says that it is not for walls", async () => {
  const urls = Array.from({ length: 20 }, (_, n) => gateway.at(`/${n}`));
  const { status, chargedCents, rows, result } = await gateway.ended(
    await gateway.launch(account, { urls, budgetCents: 10 }),
  );
  expect([status, chargedCents]).toEqual(["failed", 0]);
  const cut = rows.filter(({ error }) => error === "unpaid_costs");
  expect(cut.length).toBeGreaterThan(0);
  for (const { hops } of cut) expect(hops.at(-1)).toMatchObject({ ok: false, skipped: "cost_bound" });
  for (const { hops } of rows.filter(({ error }) => error === "blocked"))
    expect(hops.map(({ skipped }) => skipped)).not.toContain("cost_bound");
  expect(result).toMatchObject({ read_count: 0, skipped_count: cut.length, blocked_count: 20 - cut.length });
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  const { today_nano_usd: unpaid } = json.unpaid as { today_nano_usd: number };
  // Its hold, the limit beyond it, and our own fetches at a hundredth of a cent each.
  expect(unpaid / 1e7).toBeGreaterThan(10);
  expect(unpaid / 1e7).toBeLessThanOrEqual(15 + urls.length / 100);
});
