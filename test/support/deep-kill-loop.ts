// Deep jobs over a vendor, in a gateway that is killed and restarted repeatedly; at the end, compares each job's result with the ledger.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { eventually } from "./gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "./gateway-process.ts";
import { removeFolder } from "./remove-folder.ts";
import { startVendor, type VendorRequest } from "./vendor-server.ts";

const ANSWER_MS_MAX = 150;
/** Of a job (composites/onefind-deep.ts, onescrape-deep.ts). */
const ROWS_AT_ONCE = 8;
const CREDIT = 100_000;
const JSON_HEAD = { "content-type": "application/json" };

export interface DeepRow extends Record<string, unknown> {
  readonly charged_cents: number;
}

export interface DeepKillPlan {
  readonly kills: number;
  /** The longest time from a start to the next kill. */
  readonly killMsMax: number;
  readonly jobs: number;
  readonly rows: number;
  readonly rowCents: number;
  readonly action: string;
  /** The launch params of a job by its number. */
  params(job: number): object;
  /** The vendor's settings, for its mock at this address. */
  settings(vendor: string): Readonly<Record<string, string>>;
  answer(request: VendorRequest): unknown;
  expectRows(rows: readonly DeepRow[], job: number): void;
}

/** Every job ends with all of its rows, none is paid twice, at most the calls running at a kill are repeated, and nothing stays held. */
export async function deepKillLoop(plan: DeepKillPlan): Promise<void> {
  const { kills, killMsMax, jobs, rows: rowCount, rowCents, action } = plan;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-deep-kill-"));
  const vendor = await startVendor();
  let gateway: GatewayProcess | null = null;
  onTestFinished(async () => {
    await gateway?.kill();
    await vendor.close();
    removeFolder(folder);
  });
  vendor.answers((response, request) => {
    response.on("error", () => {});
    const text = JSON.stringify(plan.answer(request));
    setTimeout(() => response.writeHead(200, JSON_HEAD).end(text), Math.random() * ANSWER_MS_MAX);
  });
  const environment = { DATA_DIR: folder, ...plan.settings(vendor.url) };
  gateway = await spawnGateway(environment);
  const made = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "ada",
    kind: "personal",
    credit_cents: CREDIT,
  });
  const headers = { authorization: `Bearer ${made.api_key}`, ...JSON_HEAD };
  const run = async ({ url }: GatewayProcess, name: string, params: object) => {
    const response = await fetch(`${url}/api/run/${name}`, { method: "POST", headers, body: JSON.stringify(params) });
    return (await response.json()) as { data: Record<string, unknown> };
  };
  const ids: string[] = [];
  for (let job = 0; job < jobs; job++) {
    const { data } = await run(gateway, action, plan.params(job));
    ids.push(String(data.job_id));
  }

  for (let kill = 0; kill < kills; kill++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * killMsMax));
    await gateway.kill();
    gateway = await spawnGateway(environment);
  }

  const last = gateway;
  // The admin's list is not rate limited: polling core/result would hit the account's limit of requests per minute.
  await eventually(async () => {
    const open = (await last.admin("GET", "/admin/v1/jobs")).jobs as unknown[];
    return open.length === 0 ? true : undefined;
  }, "the jobs' end");
  for (const [job, id] of ids.entries()) {
    const { data } = await run(last, "core/result", { job_id: id });
    expect(data).toMatchObject({
      status: "succeeded",
      charged_cents: rowCount * rowCents,
      result: { spent_cents: rowCount * rowCents },
    });
    const { rows } = data.result as { rows: DeepRow[] };
    expect(rows.map(({ charged_cents: cents }) => cents)).toEqual(Array(rowCount).fill(rowCents));
    plan.expectRows(rows, job);
  }
  // Only calls that ran at a kill are repeated.
  expect(vendor.asked.length).toBeGreaterThanOrEqual(jobs * rowCount);
  expect(vendor.asked.length).toBeLessThanOrEqual(jobs * rowCount + kills * jobs * ROWS_AT_ONCE);
  const account = await (await fetch(`${last.url}/api/v1/account`, { headers })).json();
  expect(account).toMatchObject({ balance_cents: CREDIT - jobs * rowCount * rowCents, held_cents: 0 });
  await last.terminate();
  const { report } = await doctorOffline(folder);
  expect(report).toMatchObject({ holds: 0, findings: [] });
}
