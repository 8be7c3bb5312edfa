// ContactOut behind a gateway: how its fixed-size pages are mapped, and what a caller pays for the people it finds.
import { expect, it } from "vitest";
import { startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { forFile } from "../support/for-file.ts";
import { startVendor } from "../support/vendor-server.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(await startAcmeGateway({ CONTACTOUT_API_KEY: "key", CONTACTOUT_BASE_URL: `${vendor.url}/v1` }));
const ada = await gateway.live({ creditCents: 2_000 });

const LINKEDIN = "https://www.linkedin.com/in/ada";

/** A vendor that knows this many people, 25 per page. */
function knows(total: number): void {
  vendor.answers((response, { body }) => {
    const { page } = body as { page: number };
    const numbers = Array.from({ length: Math.max(0, Math.min(25, total - (page - 1) * 25)) }, (_, at) => at);
    const profiles = numbers.map((at) => [`https://linkedin.com/in/p${(page - 1) * 25 + at + 1}`, { title: "T" }]);
    const metadata = { page, page_size: 25, total_results: total };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ status_code: 200, metadata, profiles: total ? Object.fromEntries(profiles) : [] }));
  });
}

it.each([
  { page: 1, page_size: 3, total: 60, first: 1, last: 3, asked: [1] },
  { page: 3, page_size: 10, total: 60, first: 21, last: 30, asked: [1, 2] },
  { page: 2, page_size: 25, total: 60, first: 26, last: 50, asked: [2] },
  { page: 3, page_size: 10, total: 22, first: 21, last: 22, asked: [1] },
])(
  "page $page of $page_size is profiles $first to $last of $total",
  async ({ page, page_size, total, first, last, asked }) => {
    knows(total);
    const before = await gateway.balanceCents(ada);
    const { json } = await gateway.run(ada, "contactout/people-search", { job_title: "Engineer", page, page_size });
    const wanted = Array.from({ length: last - first + 1 }, (_, at) => `https://linkedin.com/in/p${first + at}`);
    const { profiles, metadata } = json.data as { profiles: object; metadata: object };
    expect(Object.keys(profiles)).toEqual(wanted);
    expect(metadata).toEqual({ page, page_size, total_results: total });
    expect(json.charged_cents).toBe(page_size);
    expect(await gateway.balanceCents(ada)).toBe(before - page_size);
    const bodies = asked.map((at) => ({ page: at, job_title: ["Engineer"], reveal_info: false }));
    expect(vendor.asked.map(({ body }) => body)).toEqual(bodies);
  },
);

it.each([
  ["finds two numbers", { include_phone: true }, { email: ["a@b.example"], phone: ["+441", "+442"] }, 40],
  ["finds no number", { include_phone: true }, { email: ["a@b.example"], phone: [] }, 10],
  ["is not asked for numbers", {}, { email: ["a@b.example"], phone: ["+441"] }, 10],
  ["finds nothing", { include_phone: true }, { email: [], phone: [] }, 0],
])("profile-contacts that %s", async (_, more, found, cents) => {
  vendor.answers({ body: { status_code: 200, profile: { url: LINKEDIN, ...found } } });
  const { json } = await gateway.run(ada, "contactout/profile-contacts", { profile: LINKEDIN, ...more });
  expect([json.ok, json.charged_cents]).toEqual([true, cents]);
});

it("an address that it does not know is free", async () => {
  vendor.answers({ status: 404, body: { status_code: 404, message: "Not Found" } });
  const { json } = await gateway.run(ada, "contactout/person-from-email", { email: "eve@example.com" });
  expect([json.ok, json.charged_cents]).toEqual([true, 0]);
});

it("says 401 to what a caller has asked wrongly, who is told 400, and 400 to our key, which is our matter", async () => {
  vendor.answers({ status: 401, body: { status_code: 401, message: "The seniority is not known." } });
  const refused = await gateway.run(ada, "contactout/people-search", { seniority: "cxo" });
  expect([refused.status, refused.json.error, refused.json.charged_cents]).toEqual([400, "upstream_rejected", 0]);
  expect(refused.text).toContain("The seniority is not known.");
  vendor.answers({ status: 400, body: { status_code: 400, message: "Bad credentials or invalid headers" } });
  const ours = await gateway.run(ada, "contactout/email-verify", { email: "ada@example.com" });
  expect([ours.status, ours.json.error]).toEqual([503, "upstream_not_configured"]);
});
