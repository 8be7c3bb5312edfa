// Callers without an account: the cost of their challenge, and the time of a call that is paid on chain.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Asked, PAY_TO, TestChain } from "../../test/edge/x402/chain.ts";
import { askedBy, keyWallet } from "../../test/edge/x402/wallet.ts";
import { spawnGateway } from "../../test/support/gateway-process.ts";
import { startVendor } from "../../test/support/vendor-server.ts";
import { atLeast, atMost, type Bench, type Row, startClient, told } from "../bench.ts";
import { cpuMs, median, quantile } from "../measure.ts";

const NAME = "payments (x402)";
const PATH = "/api/run/acme/search";
const BODY = '{"q":"tea"}';
const DOLLAR = 1_000_000;
const MANY = "10000000";
/** Long enough to optimize the code. */
const WARM_MS = 8_000;
const HEAD = { "content-type": "application/json" };
const PLAY = { ...HEAD, "x-tollgate-sandbox": "1" };
const UNPAID =
  `POST ${PATH} HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n` +
  `content-length: ${BODY.length}\r\n\r\n${BODY}`;

export async function payments(bench: Bench): Promise<Row[]> {
  const [vendor, chain] = [await startVendor(), new TestChain()];
  await chain.listen();
  vendor.answers({ body: { results: ["found"] } });
  const folder = join(bench.folder, "payments");
  mkdirSync(folder, { recursive: true });
  const gateway = await spawnGateway({
    DATA_DIR: folder,
    LOG_LEVEL: "error",
    OVERLAY_DIR: fileURLToPath(new URL("../../test/fixtures/acme-overlay", import.meta.url)),
    ACME_API_KEY: "acme-key",
    ACME_BASE_URL: `${vendor.url}/v1`,
    X402_PAY_TO: PAY_TO,
    X402_FACILITATOR_URL: chain.url,
    X402_RPC_URL: `${chain.url}/rpc`,
    X402_SANDBOX: "1",
    ADDRESS_REQUESTS_PER_MINUTE: MANY,
  });
  try {
    const client = await startClient(bench);
    const port = Number(new URL(gateway.url).port);
    const asked = { kind: "closed", port, request: UNPAID } as const;
    const ms = bench.quick ? 1_000 : 4_000;
    await client.run({ ...asked, connections: 64, ms: WARM_MS });
    const alone = await client.run({ ...asked, connections: 1, ms });
    const before = cpuMs(gateway.pid);
    const flood = await client.run({ ...asked, connections: 64, ms });
    const eachUs = ((cpuMs(gateway.pid) - before) * 1_000) / (flood.statuses[402] ?? 0);
    const paid = await paidOverFacilitator(bench, gateway.url, chain);
    const play = await paidWithPlayMoney(bench, gateway.url);
    return [
      atMost(NAME, "challenge, p50", alone.wholeCall?.p50 ?? Number.NaN, 1, " ms"),
      atLeast(NAME, "challenges a second of one core", 1_000_000 / eachUs, 10_000, ""),
      atMost(NAME, "a call that is paid, p50", median(paid.wholeMs), 80, " ms"),
      told(NAME, "of which chain and facilitator", `${paid.chainMs.toFixed(2)} ms`),
      told(NAME, "a call that is paid, p99", `${quantile(paid.wholeMs, 0.99).toFixed(1)} ms`),
      atMost(NAME, "with play money, whose signature is looked at here, p50", median(play), 80, " ms"),
    ];
  } finally {
    await gateway.kill();
    await Promise.all([vendor.close(), chain.close()]);
  }
}

const post = (url: string, headers: Record<string, string>) =>
  fetch(url + PATH, { method: "POST", headers, body: BODY });

async function timed(url: string, headers: Record<string, string>): Promise<number> {
  const beganMs = performance.now();
  const response = await post(url, headers);
  await response.text();
  if (response.status !== 200) throw new Error(`a call that is paid was answered ${response.status}`);
  return performance.now() - beganMs;
}

async function paidOverFacilitator({ quick }: Bench, url: string, chain: TestChain) {
  const challenge = String((await post(url, HEAD)).headers.get("payment-required"));
  const [accepts] = JSON.parse(Buffer.from(challenge, "base64").toString("utf8")).accepts as [Asked];
  const wholeMs: number[] = [];
  const calls = quick ? 50 : 300;
  for (let call = -calls / 5; call < calls; call++) {
    if (call === 0) chain.answeringMs = 0;
    const ms = await timed(url, { ...HEAD, "payment-signature": chain.wallet(DOLLAR).pay(accepts) });
    if (call >= 0) wholeMs.push(ms);
  }
  return { wholeMs, chainMs: chain.answeringMs / calls };
}

async function paidWithPlayMoney({ quick }: Bench, url: string): Promise<readonly number[]> {
  const accepts = askedBy(await post(url, PLAY));
  const wholeMs: number[] = [];
  const calls = quick ? 50 : 300;
  for (let call = -calls / 5; call < calls; call++) {
    const ms = await timed(url, { ...PLAY, "payment-signature": keyWallet().pay(accepts) });
    if (call >= 0) wholeMs.push(ms);
  }
  return wholeMs;
}
