// A demo on an empty machine: a gateway, a sandbox account, the official client, and a visible fallback.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { PLAY_NETWORK } from "../catalog/networks.ts";
import { systemClock } from "../core/clock.ts";
import { type Gateway, startGateway } from "../gateway/gateway.ts";
import { hexOf } from "../money/wallet/hex.ts";
import { keySigner } from "../money/wallet/signer.ts";
import { x402Bills } from "../money/wallet/x402-bills.ts";
import { prepareEnvironment, readConfig } from "../platform/config.ts";

const { values: flags } = parseArgs({
  options: { keep: { type: "boolean", default: false }, x402: { type: "boolean", default: false } },
});

/** The extra field of the last chunk, which the header `x-tollgate-trace` requests. */
interface Trace {
  readonly tollgate?: {
    readonly attempts: readonly {
      provider: string;
      model: string;
      ok: boolean;
      status: number;
      class: string;
      ms: number;
    }[];
    readonly charged_nano_usd: string;
  };
}

const METRICS =
  /^(tollgate_(attempts_total|fallbacks_total|charged_usd_total|holds_open|absorbed_usd_total)|gen_ai_client_token_usage_sum)/;

function say(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

const centsText = (cents: number) => `${cents} ${cents === 1 ? "cent" : "cents"}`;

async function call(gateway: Gateway, path: string, key: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} of ${gateway.url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

/** Streams a completion and prints it as it arrives; returns the trace of the last chunk. */
async function streamOne(client: OpenAI, models: readonly string[], question: string) {
  const body = {
    models,
    messages: [{ role: "user", content: question }],
    stream: true,
    stream_options: { include_usage: true },
  };
  const stream = await client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming, {
    headers: { "x-tollgate-trace": "1" },
  });
  let last: (OpenAI.ChatCompletionChunk & Trace) | null = null;
  process.stdout.write("  ");
  for await (const chunk of stream) {
    process.stdout.write(chunk.choices[0]?.delta.content ?? "");
    last = chunk;
  }
  say();
  return last;
}

/** Finds an action as an agent would, and runs two: one succeeds and is charged, one fails at the vendor and is not. */
async function runActions(gateway: Gateway, key: string): Promise<void> {
  const find = { query: "search the web by meaning" };
  const { data } = await call(gateway, `${gateway.url}/api/run/core/discover`, key, find);
  const [best] = data as { endpoint: string; price_cents: number }[];
  if (best === undefined) throw new Error("nothing was found in the catalog");
  say(
    `An agent searches the catalog for "${find.query}": ${best.endpoint}, ${centsText(best.price_cents)} or less.`,
    "",
  );
  const { href } = new URL(best.endpoint, gateway.url);
  const run = (headers: Record<string, string>) =>
    fetch(href, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ query: "gateways that charge only success", max_cost_cents: 1 }),
    });
  for (const headers of [{}, { "x-tollgate-sandbox-fault": "503" }]) {
    const response = await run(headers);
    const body = (await response.json()) as { charged_cents?: number; transaction_id?: string; error?: string };
    const receipt = body.transaction_id ?? `${body.error}, nothing charged`;
    say(
      `  ${response.ok ? "answered" : "failed  "}  ${best.endpoint}  ${response.status}  ${centsText(body.charged_cents ?? 0)}  ${receipt}`,
    );
  }
  say();
}

/** A chat whose model calls an action itself: one answer and one posting, with a leg per model round and per action call. */
async function actingModel(gateway: Gateway, key: string): Promise<void> {
  const tool = { type: "action", action: "brave/search", max_calls: 2 };
  const question = 'When is high tide in Brest? [[call: brave__search {"q": "high tide brest"}]]';
  const body = {
    model: "core/cheap",
    max_cost_cents: 10,
    messages: [{ role: "user", content: question }],
    tools: [tool],
  };
  const answer = await call(gateway, `${gateway.url}/api/llm/v1/chat/completions`, key, body);
  const { actions, cost } = answer.usage as { actions: { action: string; cents: number; ok: boolean }[]; cost: number };
  const [{ message }] = answer.choices as [{ message: { content: string } }];
  say("A model may call brave/search within its answer: at most twice, for at most ten cents in all.", "");
  say(`  ${message.content.replace(/\s+/g, " ").slice(0, 100)}...`, "");
  const { transactions } = (await call(gateway, `${gateway.url}/api/v1/transactions?limit=1`, key)) as {
    transactions: { transaction_id: string }[];
  };
  const id = transactions[0]?.transaction_id ?? "";
  const { legs } = (await call(gateway, `${gateway.url}/api/v1/transactions/${id}`, key)) as {
    legs: { vendor: string; model: string; ok: boolean; ms: number }[];
  };
  for (const { vendor, model, ok, ms } of legs) say(`  ${ok ? "answered" : "failed  "}  ${vendor} ${model}  ${ms} ms`);
  say();
  const ran = actions.map(({ action, cents }) => `${action} for ${centsText(cents)}`).join(", ");
  say(
    `Cost       ${cost.toFixed(9)} USD in one charge: ${ran}, and ${legs.length - actions.length} rounds of the model`,
    "",
  );
}

interface Job {
  readonly status: string;
  readonly charged_cents: number;
  readonly result?: {
    readonly budget_cents: number;
    readonly rows: readonly {
      url: string;
      provider: string | null;
      chars: number;
      charged_cents: number;
      error?: string;
    }[];
  };
}

const PAGES = ["https://example.com/", "https://example.com/about", "https://example.com/document"];
const POLL_MS = 100;
const POLLS_MAX = 300;

/** Launches a job that reads pages, and polls it until it ends; only the pages that it could read are charged. */
async function runJob(gateway: Gateway, key: string): Promise<void> {
  const run = async (action: string, params: object) => {
    const { data } = await call(gateway, `${gateway.url}/api/run/${action}`, key, params);
    return data;
  };
  const { job_id } = (await run("core/onescrape-deep", { urls: PAGES, budgetCents: 30 })) as { job_id: string };
  say(`A job reads ${PAGES.length} pages, with 30 cents held. Polling it is free.`, "");
  let job: Job = { status: "queued", charged_cents: 0 };
  for (let polls = 0; job.status !== "succeeded" && polls < POLLS_MAX; polls++) {
    job = (await run("core/result", { job_id })) as Job;
    if (job.status === "failed") break;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  if (job.status !== "succeeded" || job.result === undefined) throw new Error(`the job ${job_id} is ${job.status}`);
  for (const { url, provider, chars, charged_cents, error } of job.result.rows) {
    const what = error === undefined ? `by ${provider}, ${chars} characters` : error;
    say(`  ${error === undefined ? "read    " : "not read"}  ${url}  ${centsText(charged_cents)}  ${what}`);
  }
  say(
    "",
    `Job        ${job.status}: ${job.charged_cents} of the ${job.result.budget_cents} cents spent, the rest released`,
    "",
  );
}

/** A call without a key, paid by a new wallet on the sandbox's chain: x402 without real money. */
async function payWithoutAccount(gateway: Gateway): Promise<void> {
  const path = "/api/run/brave/search";
  const ask = (headers: Record<string, string>) =>
    fetch(gateway.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-tollgate-sandbox": "1", ...headers },
      body: JSON.stringify({ q: "gateways that charge only success" }),
    });
  say(`A caller without a key calls ${path}, with the header x-tollgate-sandbox: 1.`, "");
  const unpaid = await ask({});
  const [bill] = x402Bills({ headers: Object.fromEntries(unpaid.headers) }, PLAY_NETWORK).bills;
  if (bill === undefined) throw new Error("the challenge asks for nothing that can be paid");
  say(`  unpaid     ${unpaid.status} ${((await unpaid.json()) as { error: string }).error}`);
  say(`  challenge  ${bill.units} millionths of a dollar in ${PLAY_NETWORK.domain.name}, on ${bill.network}`);
  const signer = keySigner(hexOf(randomBytes(32)));
  const ready = bill.ready(signer.address, systemClock.epochMs());
  const payment = ready.headers(await signer.sign(ready.signing));
  say(`  signed     by ${signer.address}, a wallet that is new and has ten play dollars`);
  const failed = await ask({ ...payment, "x-tollgate-sandbox-fault": "503" });
  say(`  failed     ${failed.status}: the vendor is down, so nothing was paid and the signature is still good`);
  const paid = await ask(payment);
  const { data, charged_cents, transaction_id } = (await paid.json()) as Record<string, unknown>;
  if (!paid.ok) throw new Error(`the paid call was answered ${paid.status}`);
  say(`  answered   ${paid.status}  ${centsText(Number(charged_cents))}  ${transaction_id}`);
  say(`             ${JSON.stringify(data).slice(0, 100)}...`);
  say(`  receipt    ${Buffer.from(paid.headers.get("payment-response") ?? "", "base64")}`);
  const again = await ask(payment);
  say(`  again      ${again.status}: the same payment gets the same answer, and moves nothing`, "");
  say("With real money it works the same, without that header: see docs/guides/payments.md.");
  if (!flags.keep) return;
  say(
    "",
    `Left running. Try: curl -i ${gateway.url}${path} -H 'x-tollgate-sandbox: 1' -H 'content-type: application/json' \\`,
  );
  say(`    -d '{"q":"hello"}'`);
}

async function tour(gateway: Gateway): Promise<void> {
  const made = await call(gateway, `${gateway.adminUrl}/admin/v1/accounts`, gateway.adminToken, {
    name: "demo",
    kind: "sandbox",
    credit_cents: 100,
  });
  const key = String(made.api_key);
  say(
    `A gateway runs at ${gateway.url}. Its first account has 100 cents of play money and the key ${key.slice(0, 12)}...`,
    "",
  );
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/api/llm/v1` });
  const models = ["sandbox/503", "core/cheap"];
  say(`The official openai client asks for ${models.join(", then ")}. The first is down.`, "");
  const last = await streamOne(
    client,
    models,
    "Why does a gateway earn trust only when a provider misbehaves? [[pace: 60]]",
  );
  if (last?.usage == null || last.tollgate === undefined) throw new Error("the stream ended without usage and trace");
  say();
  for (const { provider, model, ok, status, class: kind, ms } of last.tollgate.attempts) {
    say(`  ${ok ? "answered" : "failed  "}  ${provider} ${model}  ${status}${ok ? "" : ` ${kind}`}  ${ms} ms`);
  }
  const { prompt_tokens, completion_tokens } = last.usage;
  say("", `Served by  ${last.model}`);
  say(`Tokens     ${prompt_tokens} in, ${completion_tokens} out`);
  say(`Cost       ${(Number(last.tollgate.charged_nano_usd) / 1e9).toFixed(9)} USD, charged once`, "");
  await runActions(gateway, key);
  await actingModel(gateway, key);
  await runJob(gateway, key);
  const account = await call(gateway, `${gateway.url}/api/v1/account`, key);
  say(`Balance    ${account.balance_cents} cents left, ${account.held_cents} held`, "");
  say("What the operator sees on /metrics:");
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  for (const line of metrics.split("\n").filter((text) => METRICS.test(text))) say(`  ${line}`);
  if (!flags.keep) return;
  say("", "Left running. Try:");
  say(`  curl -N ${gateway.url}/api/llm/v1/chat/completions -H 'authorization: Bearer ${key}' \\`);
  say(
    `    -H 'content-type: application/json' -d '{"model":"core/cheap","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`,
  );
  say(`  curl ${gateway.adminUrl}/metrics`);
}

const dataDir = mkdtempSync(join(tmpdir(), "tollgate-demo-"));
prepareEnvironment();
const gateway = await startGateway({
  config: readConfig({ DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0", X402_SANDBOX: "1" }),
  logStream: new Writable({ write: (_chunk, _encoding, done) => done() }),
  onFatal: (error) => {
    throw error;
  },
});

async function leave(): Promise<void> {
  await gateway.drain();
  rmSync(dataDir, { recursive: true, force: true });
}

if (flags.keep)
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => leave().then(() => process.exit(0)));
try {
  await (flags.x402 ? payWithoutAccount : tour)(gateway);
} finally {
  if (!flags.keep) await leave();
}
