// A gateway that is killed again and again while it looks people up: every job ends, no row is paid twice, and nothing is held.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { startVendor } from "../support/vendor-server.ts";

const KILLS = 10;
const KILL_MS_MAX = 400;
const JOBS = 3;
const ROWS = 40;
const ROWS_AT_ONCE = 8;
const ROW_CENTS = 10;
const ANSWER_MS_MAX = 150;
const CREDIT = 100_000;

it("ten kills while three jobs of forty rows run", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-onefind-kill-"));
  const vendor = await startVendor();
  onTestFinished(async () => {
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  });
  vendor.answers((response, { url }) => {
    response.on("error", () => {});
    const email = new URL(url, "http://vendor").searchParams.get("email");
    const body = JSON.stringify({ status_code: 200, profile: { fullName: email } });
    setTimeout(
      () => response.writeHead(200, { "content-type": "application/json" }).end(body),
      Math.random() * ANSWER_MS_MAX,
    );
  });
  const environment = { DATA_DIR: folder, CONTACTOUT_API_KEY: "key", CONTACTOUT_BASE_URL: vendor.url };
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
  const emails = (job: number) => Array.from({ length: ROWS }, (_, at) => `p${at}x${job}@gmail.com`);
  const ids: string[] = [];
  for (let job = 0; job < JOBS; job++) {
    const { data } = await run(gateway, "core/onefind-deep", { rows: emails(job) });
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
      return answer.data.status === "succeeded" ? answer : undefined;
    }, "the job's end");
    expect(data.charged_cents).toBe(ROWS * ROW_CENTS);
    const { rows, spent_cents: spent } = data.result as { rows: Record<string, unknown>[]; spent_cents: number };
    expect(spent).toBe(ROWS * ROW_CENTS);
    expect(rows.map(({ input, name, charged_cents }) => [input, name, charged_cents])).toEqual(
      emails(job).map((email) => [email, email, ROW_CENTS]),
    );
  }
  // What was under way at a kill is looked up again, and nothing else.
  expect(vendor.asked.length).toBeGreaterThanOrEqual(JOBS * ROWS);
  expect(vendor.asked.length).toBeLessThanOrEqual(JOBS * ROWS + KILLS * JOBS * ROWS_AT_ONCE);
  const account = await (await fetch(`${gateway.url}/api/v1/account`, { headers })).json();
  expect(account).toMatchObject({ balance_cents: CREDIT - JOBS * ROWS * ROW_CENTS, held_cents: 0 });
  await gateway.terminate();
  const { report } = await doctorOffline(folder);
  expect(report).toMatchObject({ holds: 0, findings: [] });
});
