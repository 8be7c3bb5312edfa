// A failing disk under the ledger's file: the process exits rather than guess, and the next one finds everything acknowledged.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import { openLedgerThread } from "../money/ledger/store.ts";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { callChat } from "../support/chat-call.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { folderForFile } from "../support/for-file.ts";
import { frailDisk } from "../support/frail-disk.ts";
import { doctorOffline, spawnGateway } from "../support/gateway-process.ts";

const CHILD = fileURLToPath(new URL("../money/ledger/sqlite/kill-child.ts", import.meta.url));
const folder = folderForFile("tollgate-io-");

const possible = spawnSync("prlimit", ["--version"]).status === 0;
if (!possible) console.log("skipped: there is no prlimit here to make writes fail with");

test.skipIf(!possible)("after a failed write the store gives up, and what was acknowledged is there", async () => {
  const file = join(folder, "tollgate.db");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, file, "run"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithTests(child);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let said = "";
  child.stderr.on("data", (text) => {
    said += text;
  });
  const acked: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acked.push(line.split(" ")[0] ?? "");
    // From now on a write beyond this size fails, which SQLite cannot tell from a broken disk.
    if (acked.length === 200) spawnSync("prlimit", ["--pid", String(child.pid), "--fsize=65536"]);
  }
  expect(await ended).toBe(1);
  expect(said).toMatch(/the store broke:.*disk I\/O error/s);

  const ledger = sqliteLedger(await openLedgerThread(file, systemClock));
  for (const holdId of acked) expect(await ledger.transaction(null, holdId)).not.toBeNull();
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  await ledger.close();
});

test("after a failed sync the gateway ends, and the next one has every charge that callers were told of", {
  timeout: INSTALLED_MS_MAX,
}, async () => {
  const disk = await frailDisk(0);
  const dataDir = join(folder, "gateway");
  const environment = { DATA_DIR: dataDir, LOG_LEVEL: "error" };
  const gateway = await spawnGateway({ ...environment, ...disk.environment });
  onTestFinished(async () => {
    await gateway.kill();
    disk.dispose();
  });
  const newAccount = { name: "a", kind: "sandbox", credit_cents: 1_000 };
  const { api_key: key, account_id: accountId } = await gateway.admin("POST", "/admin/v1/accounts", newAccount);
  const body = { model: "sandbox/ok", max_tokens: 20, messages: [{ role: "user", content: "hello" }] };
  const call = () => callChat(body, { url: gateway.url, key: String(key) });
  const told = await Promise.all([call(), call(), call()]);
  expect(told.map(({ acknowledged }) => acknowledged)).toEqual([true, true, true]);
  const says = gateway.says(/disk I\/O error/);
  disk.fail();
  expect((await call()).acknowledged).toBe(false);
  expect(await says).toMatch(/disk I\/O error/);
  expect(await gateway.exited).toEqual({ code: 1, signal: null });

  const next = await spawnGateway(environment);
  onTestFinished(next.kill);
  const account = await next.admin("GET", `/admin/v1/accounts/${accountId}`);
  expect(account).toMatchObject({ held_cents: 0 });
  const rows = await fetch(`${next.url}/api/v1/transactions`, { headers: { authorization: `Bearer ${key}` } });
  const { transactions } = (await rows.json()) as { transactions: { kind: string; request_id: string }[] };
  const charged = transactions.filter(({ kind }) => kind === "charge").map(({ request_id }) => request_id);
  const acknowledged = told.map(({ requestId }) => requestId);
  expect(charged).toEqual(expect.arrayContaining(acknowledged));
  // Nothing is written before a call, so the vendor answered the last call; its posting was written, and may exist although its sync
  // failed.
  expect(charged.length - acknowledged.length).toBeOneOf([0, 1]);
  await next.terminate();
  expect(await doctorOffline(dataDir)).toMatchObject({ code: 0, report: { findings: [] } });
});
