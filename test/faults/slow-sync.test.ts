// A disk that is slow to sync: what must be on it waits, and what a crash may forget does not.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { frailDisk } from "../support/frail-disk.ts";
import { spawnGateway } from "../support/gateway-process.ts";
import { PATIENT_MS } from "../support/patience.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-slow-"));
afterAll(() => rmSync(folder, { recursive: true }));

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
  // It is written, and on its way to the disk.
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
