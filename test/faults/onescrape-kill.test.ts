// A gateway that is killed again and again while it reads pages: every job ends, no page is paid twice, and nothing is held.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { startVendor } from "../support/vendor-server.ts";

const KILLS = 4;
const KILL_MS_MAX = 400;
const JOBS = 2;
const PAGES = 30;
const ROWS_AT_ONCE = 8;
const PAGE_CENTS = 1;
const ANSWER_MS_MAX = 150;
const CREDIT = 100_000;
const TEXT = "All that is paid at the gate is written down, and whoever asks is told what is left of it. ".repeat(15);

it("four kills while two jobs of thirty pages run", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-onescrape-kill-"));
  const vendor = await startVendor();
  onTestFinished(async () => {
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  });
  vendor.answers((response, { body }) => {
    response.on("error", () => {});
    const { url } = body as { url: string };
    const data = { markdown: `${url} ${TEXT}`, metadata: { title: "The gate", url, statusCode: 200 } };
    setTimeout(
      () =>
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ success: true, data })),
      Math.random() * ANSWER_MS_MAX,
    );
  });
  const environment = {
    DATA_DIR: folder,
    DIRECT_FETCH: "0",
    FIRECRAWL_API_KEY: "key",
    FIRECRAWL_BASE_URL: vendor.url,
  };
  const start = () => spawnGateway(environment);
  let gateway = await start();
  const made = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "ada",
    kind: "personal",
    credit_cents: CREDIT,
  });
  const headers = { authorization: `Bearer ${made.api_key}`, "content-type": "application/json" };
  const run = async ({ url }: GatewayProcess, action: string, params: object) => {
    const response = await fetch(`${url}/api/run/${action}`, { method: "POST", headers, body: JSON.stringify(params) });
    return (await response.json()) as { data: Record<string, unknown> };
  };
  const pages = (job: number) => Array.from({ length: PAGES }, (_, at) => `https://gate.example/${job}/${at}`);
  const ids: string[] = [];
  for (let job = 0; job < JOBS; job++) {
    const { data } = await run(gateway, "core/onescrape-deep", { urls: pages(job) });
    ids.push(String(data.job_id));
  }

  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * KILL_MS_MAX));
    await gateway.kill();
    gateway = await start();
  }

  for (const [job, id] of ids.entries()) {
    const { data } = await eventually(async () => {
      const answer = await run(gateway, "core/result", { job_id: id });
      return answer.data.status === "succeeded" || answer.data.status === "failed" ? answer : undefined;
    }, "the job's end");
    expect(data).toMatchObject({
      status: "succeeded",
      charged_cents: PAGES * PAGE_CENTS,
      result: { read_count: PAGES, spent_cents: PAGES * PAGE_CENTS },
    });
    const { rows } = data.result as { rows: Record<string, unknown>[] };
    expect(rows.map(({ url, provider, charged_cents }) => [url, provider, charged_cents])).toEqual(
      pages(job).map((url) => [url, "firecrawl", PAGE_CENTS]),
    );
    for (const { url, content } of rows) expect(content).toContain(`${url} `);
  }
  // What was under way at a kill is read again, and nothing else.
  expect(vendor.asked.length).toBeGreaterThanOrEqual(JOBS * PAGES);
  expect(vendor.asked.length).toBeLessThanOrEqual(JOBS * PAGES + KILLS * JOBS * ROWS_AT_ONCE);
  const account = await (await fetch(`${gateway.url}/api/v1/account`, { headers })).json();
  expect(account).toMatchObject({ balance_cents: CREDIT - JOBS * PAGES * PAGE_CENTS, held_cents: 0 });
  await gateway.terminate();
  const { report } = await doctorOffline(folder);
  expect(report).toMatchObject({ holds: 0, findings: [] });
});
