// A gateway that is killed in the middle of realtime sessions: what a client saw done is charged once, and no money stays held.
import { expect, it, onTestFinished } from "vitest";
import { SOCKET_STAND_INS, STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { openRealtime, said } from "../support/realtime.ts";

const KILLS = 3;
const SESSIONS = 4;
const DONE_EACH = 10;

it("a killed gateway loses and doubles no charge of a session", async () => {
  const folder = folderForTest("tollgate-realtime-kill-");
  const sandbox = await startSandbox({ dialects: STAND_INS, sockets: SOCKET_STAND_INS, host: "127.0.0.1", port: 0 });
  onTestFinished(() => sandbox.close());
  const start = () => spawnGateway({ DATA_DIR: folder, SANDBOX_URL: sandbox.url });
  let gateway: GatewayProcess = await start();
  const body = { name: "ada", kind: "sandbox", credit_cents: 1_000_000 };
  const made = await gateway.admin("POST", "/admin/v1/accounts", body);
  const accountId = String(made.account_id);
  const rate_limit = { requests_per_minute: 1_000_000, in_flight: 1_000 };
  await gateway.admin("PATCH", `/admin/v1/accounts/${accountId}`, { rate_limit, inference_cap_cents: 1_000_000 });
  const key = String(made.api_key);
  let doneNano = 0;
  let done = 0;

  async function talk(): Promise<void> {
    const session = await openRealtime({ url: gateway.url, key });
    for (;;) {
      session.send(said("[[say: one two three]] [[wait: 20]]"));
      session.send({ type: "response.create" });
      const { response } = (await session.next("response.done")) as { response: { usage: { cost: number } } };
      doneNano += Math.round(response.usage.cost * 1e9);
      done += 1;
    }
  }

  for (let kill = 0; kill < KILLS; kill++) {
    const before = done;
    const ends: string[] = [];
    const talks = Array.from({ length: SESSIONS }, () => talk().catch((error) => ends.push(String(error))));
    await eventually(
      () => (done >= before + DONE_EACH || ends.length === SESSIONS ? true : undefined),
      "responses before the kill",
    );
    expect(ends).toEqual([]);
    await gateway.kill();
    await Promise.all(talks);
    gateway = await start();
    const account = await gateway.admin("GET", `/admin/v1/accounts/${accountId}`);
    expect(account.held_cents ?? 0).toBe(0);
  }
  const headers = { authorization: `Bearer ${key}` };
  const charges: { transaction_id: string; charged_nano_usd: number }[] = [];
  for (let cursor = ""; ; ) {
    const answer = await fetch(`${gateway.url}/api/v1/transactions?limit=100${cursor}`, { headers });
    const page = (await answer.json()) as { transactions: (typeof charges)[number][]; next_cursor?: string | null };
    charges.push(...page.transactions.filter(({ charged_nano_usd }) => charged_nano_usd > 0));
    if (page.next_cursor == null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(done).toBeGreaterThan(SESSIONS);
  // A charge that was committed right before a kill may not have reached its client: at most one of each session.
  expect(charges.length).toBeGreaterThanOrEqual(done);
  expect(charges.length).toBeLessThanOrEqual(done + KILLS * SESSIONS);
  expect(new Set(charges.map(({ transaction_id }) => transaction_id)).size).toBe(charges.length);
  const each = doneNano / done;
  const chargedNano = charges.reduce((sum, { charged_nano_usd }) => sum + charged_nano_usd, 0);
  expect(chargedNano).toBeGreaterThanOrEqual(doneNano);
  expect(chargedNano).toBeLessThanOrEqual(doneNano + KILLS * SESSIONS * each * 20);
  await gateway.terminate();
  const { code, report } = await doctorOffline(folder);
  expect([code, report.findings, report.holds]).toEqual([0, [], 0]);
}, 120_000);
