// Our books record what a vendor charged for the pages of deep jobs, whatever the vendor answered: for each job, the cost beyond its charge
// equals the growth of the account's unpaid cost in the window.
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { nanoFromCents } from "../../../src/core/money.ts";
import { forFile } from "../../support/for-file.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { startVendor, type VendorRequest } from "../../support/vendor-server.ts";
import { startPagesGateway, TEXT } from "./deep-pages.ts";

const JOBS = 30;
const OUTCOMES = ["ok", "ok", "wall", "empty", "malformed", "half", "refused", "down"] as const;
const catalog = await shippedCatalog({});
/** What the vendor charges for an answer, according to the adapter. */
function takenFor(action: string): number {
  const cents = catalog.action(`firecrawl/${action}`, { sandbox: false })?.offers[0]?.spec.upstreamCents;
  if (typeof cents !== "number") throw new Error(`${action} has no price of its own`);
  return nanoFromCents(cents);
}

let took = 0;
let state = 7;
/** The same numbers on every run. */
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

function answer(response: ServerResponse, { body }: VendorRequest): void {
  const outcome = OUTCOMES[random(OUTCOMES.length)] ?? "ok";
  if (outcome === "refused") return void response.writeHead(400).end('{"success":false,"error":"no"}');
  if (outcome === "down") return void response.writeHead(503).end("{}");
  const isHard = (body as { proxy?: string }).proxy !== undefined;
  took += takenFor(isHard ? "unblock" : "scrape");
  const markdown = outcome === "ok" ? TEXT : outcome === "wall" ? "Access denied" : "";
  const text = JSON.stringify({ success: true, data: { markdown, metadata: { url: "https://a.example/" } } });
  response.writeHead(200, { "content-type": "application/json" });
  if (outcome === "half") return void response.write(text.slice(0, 20), () => response.destroy());
  response.end(outcome === "malformed" ? "<html>Certainly.</html>" : text);
}

const vendor = forFile(await startVendor());
vendor.answers(answer);
const gateway = forFile(
  await startPagesGateway({
    ...{ DIRECT_FETCH: "0", FIRECRAWL_API_KEY: "k", FIRECRAWL_BASE_URL: vendor.url, UNPAID_COST_CENTS: "1000" },
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 10_000 });

async function unpaidNano(): Promise<number> {
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  return (json.unpaid as { today_nano_usd: number }).today_nano_usd;
}

it("each job's, whatever came of its pages", async () => {
  for (let at = 0; at < JOBS; at++) {
    took = 0;
    const before = await unpaidNano();
    const urls = Array.from({ length: 1 + random(6) }, (_, n) => `https://a.example/${at}/${n}`);
    const { chargedCents, result } = await gateway.ended(
      await gateway.launch(account, { urls, budgetCents: 10 + random(20) }),
    );
    expect([at, chargedCents]).toEqual([at, result.spent_cents]);
    const unpaid = Math.max(0, took - chargedCents * 1e7);
    await expect.poll(async () => [at, (await unpaidNano()) - before]).toEqual([at, unpaid]);
  }
  expect(await unpaidNano()).toBeGreaterThan(0);
  expect(await gateway.money(account)).toMatchObject({ held_cents: 0 });
}, 600_000);
