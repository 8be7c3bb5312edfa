// Payments whose settlement is unknown, as the operator sees them: listed, counted, and resolved on demand.
import { describe, expect, it } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { eventually } from "../../support/gateway.ts";
import type { Asked } from "./chain.ts";
import { startPaidGateway } from "./paid-gateway.ts";

const { chain, gateway } = await startPaidGateway();
gateway.vendor.answers({ body: { results: ["found"] } });

const proven = async () => {
  const { json } = await gateway.admin("GET", "/admin/v1/doctor");
  return { payments: json.payments, findings: json.findings as Record<string, unknown>[] };
};

async function call(headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.url}/api/run/acme/search`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"q":"tea"}',
  });
}

/** Runs the operator's command `tollgate x402 ... --json`. */
async function tollgate(word: "pending" | "reconcile") {
  const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
  const out: string[] = [];
  const code = await run(["x402", word, "--json"], { environment, out: (line) => out.push(line), err() {} });
  return { code, json: JSON.parse(out.join("\n")) as Record<string, unknown> };
}

describe("a payment in doubt", () => {
  it("is listed with its payer, told by the metrics, and booked when it is found out", async () => {
    const wallet = chain.wallet(1_000_000);
    const challenge = String((await call()).headers.get("payment-required"));
    const [asked] = JSON.parse(Buffer.from(challenge, "base64").toString("utf8")).accepts as [Asked];
    chain.mood = "moves and is not heard";
    chain.isNodeAway = true;
    // Some wallets sign without an expiry, with a number that is no valid date.
    const payment = wallet.pay(asked, { validBefore: "9".repeat(78) });
    expect((await call({ "payment-signature": payment })).status).toBe(503);
    const known = { payer: wallet.address, amount_usd: "0.01", account_id: null, lapses_at: null };
    const pending = await tollgate("pending");
    expect([pending.code, pending.json.payments]).toMatchObject([1, [known]]);
    chain.mood = "well";
    chain.isNodeAway = false;
    const found = await eventually(async () => {
      const said = await tollgate("reconcile");
      return said.json.settled === 1 ? said : undefined;
    }, "the payment");
    expect(found).toEqual({ code: 0, json: { settled: 1, refused: 0, payments: [] } });
    expect(await tollgate("pending")).toEqual({ code: 0, json: { payments: [] } });
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/^tollgate_x402_settlements_total\{outcome="open"\} 1$/m);
    expect(metrics).toMatch(/^tollgate_x402_payments_open 0$/m);
    const { json: house } = await gateway.admin("GET", "/admin/v1/accounts/x402");
    expect(house.balance_cents).toBe(0);
  });
});

describe("doctor", () => {
  it("holds what was paid against the chain, and names what is not there", async () => {
    const challenge = String((await call()).headers.get("payment-required"));
    const [asked] = JSON.parse(Buffer.from(challenge, "base64").toString("utf8")).accepts as [Asked];
    expect((await call({ "payment-signature": chain.wallet(1_000_000).pay(asked) })).status).toBe(200);
    const before = await proven();
    expect(before).toEqual({ payments: [{ of: "payments of callers", proved: 2, unknown: 0 }], findings: [] });
    const [last] = [...chain.moved].slice(-1);
    if (last === undefined) throw new Error("nothing has moved");
    const [transaction, authorization] = last;
    chain.moved.set(transaction, { ...authorization, value: "9999" });
    const short = await proven();
    chain.moved.delete(transaction);
    // A node that dropped the transaction, or lags, does not prove that it was not paid.
    const dropped = await proven();
    expect(dropped).toEqual({ payments: [{ of: "payments of callers", proved: 1, unknown: 1 }], findings: [] });
    const use = `${authorization.from} ${authorization.nonce}`;
    chain.used.delete(use);
    chain.nowS = () => Math.floor(Date.now() / 1_000) - 60;
    expect(await proven()).toEqual(dropped);
    chain.nowS = () => Math.floor(Date.now() / 1_000) + 7_200;
    const missing = await proven();
    chain.moved.set(transaction, authorization);
    chain.used.set(use, transaction);
    for (const { payments, findings } of [short, missing]) {
      expect(payments).toEqual([{ of: "payments of callers", proved: 1, unknown: 0 }]);
      expect(findings).toMatchObject([{ invariant: "x402", accountId: "x402" }]);
      expect(findings[0]?.detail).toContain(transaction);
    }
    chain.isNodeAway = true;
    expect(await proven()).toEqual({ payments: [{ of: "payments of callers", proved: 0, unknown: 2 }], findings: [] });
    chain.isNodeAway = false;
  });
});
