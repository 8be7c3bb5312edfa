// SIGTERM: running answers finish and are charged, new calls are refused, and no money stays held.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "undici";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PostingRow } from "../../src/core/account-rows.ts";
import { openStores } from "../../src/gateway/stores.ts";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { readConfig } from "../../src/platform/config.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { callChat } from "../support/chat-call.ts";
import { eventually } from "../support/gateway.ts";
import { type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { removeFolder } from "../support/remove-folder.ts";

onlyAProcessShows("SIGTERM drains");

let sandbox: Sandbox;
let dataDir: string;
let gateway: GatewayProcess;
let accountId: string;
let key: string;
let begun = 0;

beforeEach(async () => {
  sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  dataDir = mkdtempSync(join(tmpdir(), "tollgate-drain-"));
});

afterEach(async () => {
  await gateway.kill();
  await sandbox.close();
  removeFolder(dataDir);
});

async function start(drainSeconds: string): Promise<void> {
  begun = 0;
  const environment = { DATA_DIR: dataDir, SANDBOX_URL: sandbox.url, DRAIN_SECONDS: drainSeconds };
  gateway = await spawnGateway(environment);
}

async function openAccount(): Promise<void> {
  const made = await gateway.admin("POST", "/admin/v1/accounts", { name: "ada", kind: "sandbox", credit_cents: 1_000 });
  accountId = String(made.account_id);
  key = String(made.api_key);
}

function stream(words: number, perSecond: number, leaveAfter?: number) {
  const content = `hello [[words: ${words}]]`;
  const body = {
    model: `sandbox/ok-at-${perSecond}`,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content }],
  };
  const onContent = () => void begun++;
  return callChat(body, { url: gateway.url, key, onContent, ...(leaveAfter === undefined ? {} : { leaveAfter }) });
}

/** Waits until the callers of `count` answers have seen content. */
function running(count: number): Promise<true> {
  return eventually(() => begun === count || undefined, `${count} running answers`);
}

/** Checks the stopped gateway's folder for holds and errors, and returns its charges. */
async function chargesLeft(): Promise<readonly PostingRow[]> {
  const { ledger } = await openStores(readConfig({ DATA_DIR: dataDir }), {
    onFatal(error) {
      throw error;
    },
  });
  try {
    expect(await ledger.doctor()).toMatchObject({ holds: 0, findings: [] });
    const { rows } = await ledger.transactions({ accountId, keyId: null, limit: 1_000, cursor: null });
    return rows.filter(({ kind }) => kind === "charge");
  } finally {
    await ledger.close();
  }
}

describe("a gateway that is asked to end", () => {
  it("finishes what runs, turns away what comes, and exits with 0", async () => {
    await start("20");
    await openAccount();
    const authorization = `Bearer ${key}`;
    const connection = new Client(gateway.url);
    const before = await connection.request({ method: "GET", path: "/api/v1/account", headers: { authorization } });
    await before.body.dump();
    const answers = Array.from({ length: 8 }, () => stream(200, 40));
    await running(8);

    const exited = gateway.terminate();
    await gateway.drains;
    const late = await connection.request({
      method: "POST",
      path: "/api/llm/v1/chat/completions",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/ok", messages: [{ role: "user", content: "late" }] }),
    });
    expect(await late.body.json()).toMatchObject({ error: { code: "draining" } });
    expect([late.statusCode, late.headers["retry-after"], late.headers["x-should-retry"]]).toEqual([503, "1", "true"]);
    expect(late.headers.connection).toBe("close");
    expect(await stream(1, 100)).toMatchObject({ status: 0, broken: true });

    for (const seen of await Promise.all(answers)) {
      expect([seen.acknowledged, seen.chunks]).toEqual([true, 200]);
    }
    expect(await exited).toEqual({ code: 0, signal: null });
    await connection.close();
    expect(await chargesLeft()).toHaveLength(8);
  });

  it("cuts what runs for too long, charges what was delivered, and leaves no hold", async () => {
    await start("0.3");
    await openAccount();
    const answers = Array.from({ length: 8 }, () => stream(400, 40));
    await running(8);
    expect(await gateway.terminate()).toEqual({ code: 0, signal: null });
    for (const seen of await Promise.all(answers)) expect([seen.acknowledged, seen.broken]).toEqual([false, true]);
    const rows = await chargesLeft();
    expect(rows).toHaveLength(8);
    for (const { usage, requestId } of rows) {
      const written = sandbox.books().requests.find((row) => row.requestId === requestId)?.tokensOut;
      expect(usage?.outputTokens).toBeLessThanOrEqual(Number(written));
      expect(usage?.outputTokens).toBeGreaterThan(0);
    }
  });

  it("settles the calls whose clients have just left", async () => {
    await start("20");
    await openAccount();
    const left = Array.from({ length: 8 }, () => stream(400, 200, 10));
    await Promise.all(left);
    expect(await gateway.terminate()).toEqual({ code: 0, signal: null });
    expect(await chargesLeft()).toHaveLength(8);
  });
});
