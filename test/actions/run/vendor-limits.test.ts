// What callers get if their vendor limits concurrency, or is not configured for a reason other than a key.
import { expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { readAnswer, startAcmeGateway } from "./acme-gateway.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startAcmeGateway({ SCRAPINGANT_API_KEY: "k", SCRAPINGANT_BASE_URL: vendor.url, CONTACT: "" }),
);

const PAGE = { url: "https://example.com" };

test("a vendor that wants calls one after another: 409, when to try again, and how", async () => {
  const account = await gateway.live({ creditCents: 100 });
  vendor.answers({ status: 409, body: { detail: "Concurrent requests limit is reached" } });
  const { status, headers, json } = await gateway.run(account, "scrapingant/residential-scrape", PAGE);
  expect([status, json.error]).toEqual([409, "upstream_busy"]);
  expect([headers.get("retry-after"), headers.get("x-should-retry")]).toEqual(["5", "true"]);
  expect(json.hint).toContain("one after another");
  expect(json).toMatchObject({ charged_cents: 0, balance_remaining_cents: 100 });
  expect(vendor.asked).toHaveLength(1);
  // The vendor is healthy: the next call goes there immediately.
  vendor.answers({ headers: { "content-type": "text/html" }, body: "<h1>A</h1>" });
  expect((await gateway.run(account, "scrapingant/residential-scrape", PAGE)).status).toBe(200);
});

test("a vendor's own Retry-After is passed on", async () => {
  const account = await gateway.live({ creditCents: 100 });
  vendor.answers({ status: 409, headers: { "retry-after": "2" }, body: { detail: "Concurrent requests" } });
  const { headers } = await gateway.run(account, "scrapingant/scrape", PAGE);
  expect(headers.get("retry-after")).toBe("2");
});

test("an action that waits for CONTACT says so, in its descriptor and when it is called", async () => {
  const account = await gateway.live({ creditCents: 100 });
  const called = await gateway.run(account, "sec-edgar/filings", { cik: "320193" });
  expect(called).toMatchObject({ status: 503, json: { error: "upstream_not_configured" } });
  expect(called.json.data).toMatchObject({ reason: expect.stringContaining("CONTACT") });
  const described = await readAnswer(await fetch(`${gateway.url}/api/run/sec-edgar/filings`));
  expect(described.json.data).toMatchObject({
    status: "not_configured",
    status_note: expect.stringContaining("CONTACT"),
  });
  const keyless = await readAnswer(await fetch(`${gateway.url}/api/run/brave/search`));
  expect(keyless.json.data).not.toHaveProperty("status_note");
});
