// A disk that syncs slowly: durable writes wait for it, and writes that a crash may lose do not.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { folderForFile } from "../support/for-file.ts";
import { frailDisk } from "../support/frail-disk.ts";
import { spawnGateway } from "../support/gateway-process.ts";
import { PATIENT_MS } from "../support/patience.ts";
import { removeFolder } from "../support/remove-folder.ts";

const folder = folderForFile("tollgate-slow-");

/** Longer than a call takes on a busy machine. */
const SYNC_MS = 4_000;

test("a call's first token does not wait for a sync that runs, and a change does", {
  timeout: INSTALLED_MS_MAX,
}, async () => {
  const disk = await frailDisk(0);
  const gateway = await spawnGateway({ DATA_DIR: folder, LOG_LEVEL: "error", ...disk.environment });
  onTestFinished(async () => {
    await gateway.kill();
    disk.dispose();
  });
  const newAccount = { name: "a", kind: "sandbox", credit_cents: 1_000 };
  const { api_key: key, account_id: id } = await gateway.admin("POST", "/admin/v1/accounts", newAccount);
  const call = () =>
    fetch(`${gateway.url}/api/llm/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/ok", stream: true, messages: [{ role: "user", content: "hello" }] }),
    });
  expect(await (await call()).text()).toContain("[DONE]");

  disk.slow(SYNC_MS);
  const log = join(folder, "tollgate.db-wal");
  const before = statSync(log).mtimeMs;
  const order: string[] = [];
  const change = gateway.admin("PATCH", `/admin/v1/accounts/${id}`, { name: "b" }).then(() => order.push("change"));
  // The write has been issued; its sync is pending.
  await vi.waitFor(() => expect(statSync(log).mtimeMs).toBeGreaterThan(before), { timeout: PATIENT_MS, interval: 5 });
  const answer = await call();
  const reader = answer.body?.getReader();
  let text = "";
  while (!text.includes('"content":"')) text += new TextDecoder().decode((await reader?.read())?.value);
  order.push("first token");
  disk.slow(0);
  await change;
  expect(order).toEqual(["first token", "change"]);
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    text += new TextDecoder().decode(part.value);
  }
  expect(text).toContain("[DONE]");
});

/** The first processor that this process may use. */
function firstCore(): string {
  return /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
}

test.runIf(process.platform === "linux")(
  "on one core, over a disk whose syncs take 20 ms, calls and streams end whole, and each is charged once",
  { timeout: INSTALLED_MS_MAX },
  async () => {
    const place = mkdtempSync(join(tmpdir(), "tollgate-one-core-"));
    const disk = await frailDisk(20);
    const gateway = await spawnGateway({ DATA_DIR: place, LOG_LEVEL: "error", ...disk.environment });
    onTestFinished(async () => {
      await gateway.kill();
      disk.dispose();
      removeFolder(place);
    });
    // Pins all its threads, and so also the threads that they start.
    await promisify(execFile)("taskset", ["-a", "-p", "-c", firstCore(), String(gateway.pid)]);
    const newAccount = { name: "a", kind: "sandbox", credit_cents: 1_000 };
    const { api_key: key } = await gateway.admin("POST", "/admin/v1/accounts", newAccount);
    const call = async (stream: boolean) => {
      const answer = await fetch(`${gateway.url}/api/llm/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "sandbox/ok",
          stream,
          ...(stream ? { stream_options: { include_usage: true } } : {}),
          messages: [{ role: "user", content: "hello" }],
        }),
      });
      const text = await answer.text();
      if (stream && !text.includes("[DONE]")) throw new Error(`a stream broke off: ${text.slice(-200)}`);
      return Math.round(Number(/"cost":([\d.e-]+)/.exec(text)?.[1]) * 1e9);
    };
    const told: number[] = [];
    const caller = async (_: unknown, at: number) => {
      for (let calls = 0; calls < 3; calls++) told.push(await call((at + calls) % 2 === 0));
    };
    await Promise.all(Array.from({ length: 16 }, caller));
    const headers = { authorization: `Bearer ${key}` };
    const list = await (await fetch(`${gateway.url}/api/v1/transactions?limit=1000`, { headers })).json();
    const rows = (list as { transactions: { kind: string; charged_nano_usd: number }[] }).transactions;
    const charged = rows.filter(({ kind }) => kind === "charge").map((row) => row.charged_nano_usd);
    expect(told).toHaveLength(48);
    expect(charged.toSorted()).toEqual(told.toSorted());
    expect(await gateway.admin("GET", "/admin/v1/doctor")).toMatchObject({ holds: 0, findings: [] });
  },
);
