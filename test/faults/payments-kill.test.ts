// A gateway killed at every step of on-chain payments, those from callers and those to merchants, over both stores: no payer pays twice,
// every paid call is answered, every payment to a merchant is in the books, and nothing stays held.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { type Asked, PAY_TO, TestChain } from "../edge/x402/chain.ts";
import { Merchant } from "../money/wallet/merchant.ts";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "../support/gateway-process.ts";
import { startRedis } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor } from "../support/vendor-server.ts";

/**
 * When a kill strikes: as a payment is verified, served, settled, has moved, is looked up on the node; as a merchant asks, and has taken.
 */
const STEPS = ["verify", "vendor", "settle", "moved", "node", "ask", "taken"] as const;
type Step = (typeof STEPS)[number];
/**
 * Every start takes seconds, so over Redis a kill strikes only where it leaves a claim, a receipt and a booking.
 * test/edge/x402/crash.test.ts and test/money/wallet/crash.test.ts test what each operation leaves there.
 */
const STEPS_OVER = { SQLite: STEPS, Redis: ["vendor", "moved", "taken"] as const };
/** Concurrent payers in a round. */
const PAYERS = 4;
const BUYERS = 2;
const DOLLAR = 1_000_000;
const CENT = 10_000;
const MERCHANT_CENTS = 3;
const JSON_HEAD = { "content-type": "application/json" };
/** Over Redis a dead process's holds end with their leases, after a minute. */
const LEASES_MS = 150_000;
/** The pause between two tries of a caller that must retry. */
const AGAIN_MS = 500;

/** A gateway, with a vendor, a chain with a facilitator, and a merchant that outlive it. */
async function world(store: "SQLite" | "Redis") {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-payments-kill-"));
  const redis = store === "Redis" ? await startRedis() : null;
  const [vendor, chain, merchant] = [await startVendor(), new TestChain(), new Merchant("mpp")];
  await Promise.all([chain.listen(), merchant.listen()]);
  const settings = {
    DATA_DIR: folder,
    LOG_LEVEL: "error",
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    OVERLAY_DIR: fileURLToPath(new URL("../fixtures/acme-overlay", import.meta.url)),
    ACME_API_KEY: "acme-key",
    ACME_BASE_URL: `${vendor.url}/v1`,
    X402_PAY_TO: PAY_TO,
    X402_FACILITATOR_URL: chain.url,
    X402_RPC_URL: `${chain.url}/rpc`,
    MPP_WALLET_PRIVATE_KEY: `0x${"11".repeat(32)}`,
    MPP_RPC_URL: `${merchant.url}/rpc`,
    GOVLAWS_BASE_URL: merchant.url,
    ADDRESS_REQUESTS_PER_MINUTE: "1000000",
  };
  const started: { gateway: GatewayProcess } = { gateway: await spawnGateway(settings) };
  const steps: { wanted: Step | null; left: number; killed: PromiseWithResolvers<void> } = {
    wanted: null,
    left: 0,
    killed: Promise.withResolvers<void>(),
  };
  const came = (step: Step) => {
    if (step !== steps.wanted || --steps.left > 0) return;
    steps.wanted = null;
    // The signal is sent before this returns, and so before the step is answered.
    void started.gateway.kill().then(steps.killed.resolve);
  };
  chain.onStep = came;
  merchant.onAsk = () => came("ask");
  merchant.onTaken = () => came("taken");
  merchant.answer = () => ({ body: { results: [{ citation: "12 CFR 1026.43" }] } });
  vendor.answers((response) => {
    came("vendor");
    response.on("error", () => {});
    response.writeHead(200, JSON_HEAD).end('{"results":["found"]}');
  });
  onTestFinished(async () => {
    await started.gateway.kill();
    await Promise.all([vendor.close(), chain.close(), merchant.close(), redis?.dispose()]);
    removeFolder(folder);
  });
  return {
    chain,
    merchant,
    vendor,
    folder,
    started,
    /** Runs a round's calls, kills the gateway at a step's second occurrence, and starts it again. */
    async killedAt(step: Step, calls: () => readonly Promise<unknown>[]): Promise<void> {
      Object.assign(steps, { wanted: step, left: 2, killed: Promise.withResolvers<void>() });
      const made = Promise.allSettled(calls());
      await steps.killed.promise;
      await made;
      started.gateway = await spawnGateway(settings);
    },
  };
}

async function killedAtEveryStep(store: "SQLite" | "Redis"): Promise<void> {
  const steps = STEPS_OVER[store];
  const { chain, merchant, vendor, folder, started, killedAt } = await world(store);
  const { gateway: first } = started;
  const made = await first.admin("POST", "/admin/v1/accounts", { name: "a", kind: "personal", credit_cents: 10_000 });
  const accountId = String(made.account_id);
  const rate_limit = { requests_per_minute: 1_000_000, in_flight: 1_000 };
  await first.admin("PATCH", `/admin/v1/accounts/${accountId}`, { rate_limit });

  const run = (action: string, headers: Record<string, string>, body: object) =>
    fetch(`${started.gateway.url}/api/run/${action}`, {
      method: "POST",
      headers: { ...JSON_HEAD, ...headers },
      body: JSON.stringify(body),
    });
  const challenge = (await run("acme/search", {}, { q: "tea" })).headers.get("payment-required");
  const [asked] = JSON.parse(Buffer.from(String(challenge), "base64").toString("utf8")).accepts as [Asked];
  const payers = Array.from({ length: steps.length * PAYERS }, () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = wallet.pay(asked);
    return { wallet, ask: () => run("acme/search", { "payment-signature": payment }, { q: "tea" }) };
  });
  const buyers = Array.from({ length: steps.length * BUYERS }, (_, at) => {
    const headers = { authorization: `Bearer ${made.api_key}`, "idempotency-key": `"order-${at}"` };
    return { ask: () => run("govlaws/search", headers, { query: `tides ${at}` }) };
  });

  for (const [at, step] of steps.entries()) {
    const round = [...payers.slice(at * PAYERS, (at + 1) * PAYERS), ...buyers.slice(at * BUYERS, (at + 1) * BUYERS)];
    await killedAt(step, () => round.map(({ ask }) => ask()));
  }

  // Each is sent again unchanged until it is answered.
  const answered = async ({ ask }: { ask(): Promise<Response> }) => {
    const { status } = await eventually(
      async () => {
        const response = await ask();
        await response.text();
        if (response.status !== 200) await new Promise((again) => setTimeout(again, AGAIN_MS));
        return response.status === 200 ? response : undefined;
      },
      `an answer over ${store}`,
      LEASES_MS,
    );
    return status;
  };
  const statuses = await Promise.all([...payers, ...buyers].map(answered));
  expect(statuses.every((status) => status === 200)).toBe(true);

  // Each payer has paid once, and the books show exactly that.
  const paid = payers.map(({ wallet }) => DOLLAR - chain.balance(wallet.address));
  expect(paid).toEqual(payers.map(() => CENT));
  expect(chain.balance(PAY_TO)).toBe(payers.length * CENT);
  const { gateway } = started;
  await gateway.admin("POST", "/admin/v1/payments/reconcile");
  await eventually(async () => {
    const { payments } = await gateway.admin("GET", "/admin/v1/payments");
    return (payments as unknown[]).length === 0 ? true : undefined;
  }, "the last payment in doubt");
  const house = await gateway.admin("GET", "/admin/v1/accounts/x402");
  expect(house).toMatchObject({ balance_cents: 0, held_cents: 0 });
  // Served but unpaid calls are at most those that ran at a kill.
  expect(vendor.asked.length).toBeLessThanOrEqual(payers.length * 2);

  // The account has paid for each of its calls once, and the books contain everything that merchants took.
  const account = await eventually(
    async () => {
      const row = await gateway.admin("GET", `/admin/v1/accounts/${accountId}`);
      return row.held_cents === 0 ? row : undefined;
    },
    `the end of the last hold over ${store}`,
    LEASES_MS,
  );
  expect(account.balance_cents).toBe(10_000 - buyers.length * MERCHANT_CENTS);
  await gateway.admin("POST", "/admin/v1/wallet/reconcile");
  const wallet = await gateway.admin("GET", "/admin/v1/wallet");
  const known = [...(wallet.last as { transaction: string | null }[]), ...(wallet.in_doubt as [])];
  const seen = new Set(known.flatMap(({ transaction }) => transaction ?? []));
  expect(merchant.taken.filter(({ transactionHash }) => !seen.has(transactionHash))).toEqual([]);
  expect(Number(wallet.spent_today_usd)).toBeGreaterThanOrEqual((merchant.taken.length * MERCHANT_CENTS) / 100);
  expect(merchant.taken.length).toBeLessThanOrEqual(buyers.length * 2);
  const report = await eventually(
    async () => {
      const told = await gateway.admin("GET", "/admin/v1/doctor");
      return told.holds === 0 ? told : undefined;
    },
    `no hold over ${store}`,
    LEASES_MS,
  );
  expect(report.findings).toEqual([]);
  await gateway.terminate();
  if (store === "SQLite") expect((await doctorOffline(folder)).report).toMatchObject({ holds: 0, findings: [] });
}

it("kills at every step of both directions, over both stores side by side", async () => {
  const [first, second] = await Promise.allSettled([killedAtEveryStep("SQLite"), killedAtEveryStep("Redis")]);
  for (const ended of [first, second]) if (ended.status === "rejected") throw ended.reason;
}, 400_000);
