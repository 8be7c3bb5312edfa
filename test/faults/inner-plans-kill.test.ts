// A gateway that is killed while a call's inner calls run at a slow vendor: its hold ends at the next start, and nothing is charged.

import { mkdtempSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor } from "../support/vendor-server.ts";

const CHILD = fileURLToPath(new URL("./composite-child.ts", import.meta.url));
const OVERLAY = fileURLToPath(new URL("../fixtures/acme-overlay", import.meta.url));
const KILLS = 3;
const CALLS = 4;
const INNER_CALLS = 3;
const CREDIT = 100;

it("a gateway killed while inner calls run voids their parent's hold at its start, and a late answer charges nobody", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-inner-kill-"));
  const vendor = await startVendor();
  onTestFinished(async () => {
    await vendor.close();
    removeFolder(folder);
  });
  const environment = {
    DATA_DIR: folder,
    OVERLAY_DIR: OVERLAY,
    ACME_API_KEY: "acme-key",
    ACME_BASE_URL: `${vendor.url}/v1`,
    BULK_API_KEY: "bulk-key",
    BULK_BASE_URL: vendor.url,
    RESTING_BASE_URL: `${vendor.url}/resting`,
    WORKSHOP_API_KEY: "key-of-ours",
    WORKSHOP_BASE_URL: `${vendor.url}/v1`,
  };
  const start = () => spawnGateway(environment, undefined, [CHILD]);
  const run = ({ url }: GatewayProcess) =>
    fetch(`${url}/api/run/core/composed`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: "{}",
    });
  const account = async ({ url }: GatewayProcess) => {
    const response = await fetch(`${url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
    const { balance_cents: balance, held_cents: held } = (await response.json()) as Record<string, number>;
    return { balance, held };
  };

  let gateway = await start();
  const made = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "ada",
    kind: "personal",
    credit_cents: CREDIT,
  });
  const key = String(made.api_key);
  for (let kill = 0; kill < KILLS; kill++) {
    const waiting: ServerResponse[] = [];
    vendor.answers((response) => {
      response.on("error", () => {});
      waiting.push(response);
    });
    const calls = Array.from({ length: CALLS }, () => run(gateway).catch(() => "died"));
    await eventually(() => (waiting.length === CALLS * INNER_CALLS ? true : undefined), "the vendor to be asked");
    // The inner calls have no holds of their own.
    expect(await account(gateway)).toEqual({ balance: CREDIT, held: 3 * CALLS });
    await gateway.kill();
    expect(await Promise.all(calls)).toEqual(Array(CALLS).fill("died"));
    gateway = await start();
    expect(await account(gateway)).toEqual({ balance: CREDIT, held: 0 });
    for (const response of waiting) response.end('{"results":["late"]}');
    await sleep(200);
    expect(await account(gateway)).toEqual({ balance: CREDIT, held: 0 });
  }
  vendor.answers({ body: { results: ["a"] } });
  expect(await (await run(gateway)).json()).toMatchObject({ data: INNER_CALLS, charged_cents: 3 });
  expect(await account(gateway)).toEqual({ balance: CREDIT - 3, held: 0 });
  await gateway.kill();
  const { code, report } = await doctorOffline(folder);
  expect([code, report.findings]).toEqual([0, []]);
  expect(report.postings).toBe(2);
});
