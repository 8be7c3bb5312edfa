// No vendor cost is ever forgotten, whatever the vendor sells: images, sound, ranks, completions, embeddings, actions and composite
// searches. A vendor answers each of them in every possible way, over either store: our books hold all that it charged, and one window
// holds all that stayed unpaid.

import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import type { TestAccount } from "../support/gateway.ts";
import { anyRedis, type LentRedis, REDIS_MS_MAX } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../support/vendor-server.ts";

const CALLS = 300;
const UNPAID_CENTS = 12;
const NANO_A_CENT = 10_000_000;
const OUTCOMES = ["ok", "zeros", "untold", "empty", "malformed", "half", "refused"] as const;
type Outcome = (typeof OUTCOMES)[number];
/** A broken answer is retried after a while, so only few answers break off. */
const ROLLED: readonly Outcome[] = [...OUTCOMES, ...OUTCOMES, ...OUTCOMES].filter(
  (one, at) => one !== "half" || at < 7,
);

/** A vendor that sells one of everything sold by units, at round prices. */
const ADAPTER = `// Lab: what paints, hears, speaks, ranks and goes on.
import { bearer, defineAdapter } from "#adapter";
const since = "2026-01-01";
const tokens = [{ since, textIn: "1", imageIn: "1", textOut: "2", imageOut: "2" }];
export default defineAdapter({
  name: "Lab",
  docs: "docs/guides/add-a-provider.md",
  origin: "https://lab.invalid/v1",
  auth: bearer,
  embeddings: { models: { embeds: { slug: "lab/embeds", contextTokens: 8192, prices: [{ since, input: "1", output: "0" }] } } },
  unitModels: {
    paints: { slug: "lab/paints", kind: "images", dialect: "openai-images", imageTokens: { "1024x1024": { low: 100 } }, imageInTokensMax: 10, prices: tokens },
    draws: { slug: "lab/draws", kind: "images", dialect: "openai-images", formats: ["url", "b64_json"], prices: [{ since, images: { "1024x1024 standard": "0.004" } }] },
    hears: { slug: "lab/hears", kind: "transcription", dialect: "openai-audio", formats: ["json"], prices: [{ since, hours: "0.36" }] },
    speaks: { slug: "lab/speaks", kind: "speech", dialect: "openai-voice", prices: [{ since, characters: "15" }] },
    ranks: { slug: "lab/ranks", kind: "rerank", dialect: "data-rerank", prices: [{ since, textIn: "1" }] },
    searches: { slug: "lab/searches", kind: "rerank", dialect: "cohere-rerank", prices: [{ since, searches: "2" }] },
    completes: { slug: "lab/completes", kind: "completion", dialect: "openai-completion", outputTokensMax: 100, prices: [{ since, textIn: "1", cachedIn: "1", textOut: "2" }] },
  },
});
`;

/** The vendor's charge for one request; `exact`: the vendor reported it. */
interface Took {
  readonly nano: number;
  readonly exact: boolean;
}
interface Script {
  readonly outcome: Outcome;
  readonly ins: number;
  readonly outs: number;
}
/** One product: how to request it, and the vendor's answer and charge. */
interface Sold {
  readonly path: string;
  body(): object | FormData;
  /** A good answer without its usage. */
  readonly good: object | Buffer;
  readonly empty: object | Buffer;
  usage(ins: number, outs: number): object;
  /** Null where the usage that the vendor reports does not contain the cost. */
  readonly nano: ((ins: number, outs: number) => number) | null;
}

const perToken = (ins: number, outs: number) => ins * 1_000 + outs * 2_000;
const usage = (names: readonly [string, string]) => (ins: number, outs: number) => ({
  usage: { [names[0]]: ins, [names[1]]: outs },
});
const image = { created: 1, data: [{ b64_json: "aaaa" }] };
const ranked = { results: [{ index: 0, relevance_score: 0.5 }] };
const ask = { query: "x", documents: ["y"] };
function sound(): FormData {
  const form = new FormData();
  form.set("model", "lab/hears");
  form.set("file", new Blob([Buffer.alloc(4_000, 1)]), "a.mp3");
  return form;
}

const SOLD: Readonly<Record<string, Sold>> = {
  paints: {
    path: "/v1/images/generations",
    body: () => ({ model: "lab/paints", prompt: "x", size: "1024x1024", quality: "low" }),
    ...{ good: image, empty: { created: 1, data: [] } },
    usage: usage(["input_tokens", "output_tokens"]),
    nano: perToken,
  },
  draws: {
    path: "/v1/images/generations",
    body: () => ({ model: "lab/draws", prompt: "x" }),
    ...{ good: image, empty: { created: 1, data: [] }, usage: () => ({}), nano: null },
  },
  hears: {
    path: "/v1/audio/transcriptions",
    body: sound,
    ...{ good: { text: "calm" }, empty: { words: [] } },
    usage: (ins) => ({ duration: ins }),
    nano: (ins) => ins * 100_000,
  },
  speaks: {
    path: "/v1/audio/speech",
    body: () => ({ model: "lab/speaks", voice: "x", input: "calm" }),
    ...{ good: Buffer.from("sound"), empty: Buffer.alloc(0), usage: () => ({}), nano: null },
  },
  ranks: {
    path: "/v1/rerank",
    body: () => ({ model: "lab/ranks", ...ask }),
    ...{ good: ranked, empty: { results: [] } },
    usage: (ins) => ({ usage: { total_tokens: ins } }),
    nano: (ins) => ins * 1_000,
  },
  searches: {
    path: "/v1/rerank",
    body: () => ({ model: "lab/searches", ...ask }),
    ...{ good: ranked, empty: { results: [] } },
    usage: (ins) => ({ meta: { billed_units: { search_units: ins % 3 } } }),
    nano: (ins) => Math.max(1, ins % 3) * 2_000_000,
  },
  completes: {
    path: "/v1/completions",
    body: () => ({ model: "lab/completes", prompt: "x", max_tokens: 50 }),
    ...{ good: { choices: [{ text: "calm", finish_reason: "stop" }] }, empty: { choices: [] } },
    usage: usage(["prompt_tokens", "completion_tokens"]),
    nano: perToken,
  },
  embeds: {
    path: "/v1/embeddings",
    body: () => ({ model: "lab/embeds", input: "calm" }),
    ...{ good: { object: "list", data: [{ index: 0, embedding: [1, 0] }] }, empty: { object: "list", data: [] } },
    usage: (ins) => ({ usage: { prompt_tokens: ins, total_tokens: ins } }),
    nano: (ins) => ins * 1_000,
  },
  "acme/search": {
    path: "/api/run/acme/search",
    body: () => ({ q: "tea" }),
    ...{ good: { results: ["a"] }, empty: { results: [] }, usage: () => ({}), nano: () => 5_000_000 },
  },
  "acme/buy": {
    path: "/api/run/acme/buy",
    body: () => ({ sku: "x" }),
    ...{ good: { order: "o" }, empty: {}, usage: () => ({}), nano: null },
  },
  "core/onesearch": {
    path: "/api/run/core/onesearch",
    body: () => ({ query: "tea", facets: ["web"] }),
    ...{ good: { results: [{ url: "https://a.example/1", title: "A", highlights: ["x"] }] }, empty: { results: [] } },
    ...{ usage: () => ({}), nano: null },
  },
};
const NAMES = Object.keys(SOLD);

/** The same numbers on every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe.each(["SQLite", "Redis"])("over %s", (store) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-costs-"));
  let vendor: VendorServer;
  let redis: LentRedis | null = null;
  let gateway: AcmeGateway;
  let account: TestAccount;
  let current: { readonly sold: Sold; readonly scripts: Script[] } = { sold: SOLD.paints as Sold, scripts: [] };
  let took: Took[] = [];

  beforeAll(async () => {
    cpSync(fileURLToPath(new URL("../fixtures/acme-overlay", import.meta.url)), folder, { recursive: true });
    writeFileSync(join(folder, "adapters", "lab.ts"), ADAPTER);
    vendor = await startVendor();
    vendor.answers((response, request) => answer(response, request));
    redis = store === "Redis" ? await anyRedis() : null;
    gateway = await startAcmeGateway({
      ...{ OVERLAY_DIR: folder, LAB_API_KEY: "key", LAB_BASE_URL: vendor.url, ACME_BASE_URL: vendor.url },
      ...{ EXA_API_KEY: "key", EXA_BASE_URL: vendor.url, DIRECT_FETCH: "0" },
      UNPAID_COST_CENTS: String(UNPAID_CENTS),
      ...(redis === null ? {} : { REDIS_URL: redis.url }),
    });
    account = await gateway.live({
      ...{ creditCents: 1_000_000, requestsPerMinute: 100_000, inferenceCapCents: 1_000_000 },
    });
  }, REDIS_MS_MAX);
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    await redis?.dispose();
    await vendor.close();
    removeFolder(folder);
    expect(findings).toEqual([]);
  });

  function answer(response: ServerResponse, _: VendorRequest): void {
    const { sold, scripts } = current;
    const { outcome, ins, outs } = scripts.shift() ?? { outcome: "refused", ins: 0, outs: 0 };
    if (outcome === "refused") return void response.writeHead(400).end('{"error":{"message":"no","type":"invalid"}}');
    const isTold = (outcome === "ok" || outcome === "empty") && sold.nano !== null;
    took.push(isTold ? { nano: sold.nano?.(ins, outs) ?? 0, exact: true } : { nano: 1, exact: false });
    const said = outcome === "empty" ? sold.empty : sold.good;
    if (Buffer.isBuffer(said)) {
      response.writeHead(200, { "content-type": "audio/mpeg", "content-length": said.length });
      return void (outcome === "half"
        ? response.write(said.subarray(0, 1), () => response.destroy())
        : response.end(said));
    }
    const told = { ok: [ins, outs], empty: [ins, outs], zeros: [0, 0] } as Partial<Record<Outcome, [number, number]>>;
    const counts = told[outcome];
    const text = JSON.stringify({ ...said, ...(counts === undefined ? {} : sold.usage(...counts)) });
    response.writeHead(200, { "content-type": "application/json" });
    if (outcome === "half") return void response.write(text.slice(0, text.length / 2), () => response.destroy());
    response.end(outcome === "malformed" ? "<html>Certainly.</html>" : text);
  }

  async function make(sold: Sold, scripts: Script[]) {
    current = { sold, scripts };
    took = [];
    const body = sold.body();
    const isForm = body instanceof FormData;
    const response = await fetch(`${gateway.url}${sold.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, ...(isForm ? {} : { "content-type": "application/json" }) },
      body: isForm ? body : JSON.stringify(body),
    });
    // A sound that breaks off closes the connection.
    await response.arrayBuffer().catch(() => {});
    const record = await gateway.record(response.headers.get("x-request-id"));
    const nano = (name: string) => Number(record[name] ?? 0);
    return {
      ...{ status: response.status, charged: nano("charged_nano_usd"), upstream: nano("upstream_nano_usd") },
      took: [...took],
    };
  }

  it(`after ${CALLS} calls our legs hold all that the vendor took, and one window what is unpaid of it`, async () => {
    const random = numbers(store.length);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    let unpaid = 0;
    let dearest = 0;
    async function next(name: string, scripts: Script[]) {
      const seen = await make(SOLD[name] as Sold, scripts);
      unpaid += Math.max(0, seen.upstream - seen.charged);
      dearest = Math.max(dearest, seen.upstream);
      return seen;
    }
    for (let at = 0; at < CALLS; at++) {
      const name = pick(NAMES);
      const scripts = Array.from({ length: 9 }, (): Script => {
        return { outcome: pick(ROLLED), ins: 1 + random(900), outs: random(100) };
      });
      const what = { at, name, outcomes: scripts.map(({ outcome }) => outcome).join() };
      const seen = await next(name, scripts);
      const sum = seen.took.reduce((all, { nano }) => all + nano, 0);
      const isExact = seen.took.every(({ exact }) => exact) && seen.took.length > 0;
      if (isExact) expect([what, seen.upstream]).toEqual([what, sum]);
      else expect([what, seen.upstream >= sum]).toEqual([what, true]);
    }
    const window = async () => {
      const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
      return json.unpaid as { today_nano_usd: number; margin_nano_usd: number };
    };
    expect((await window()).today_nano_usd).toBe(unpaid);
    // Failures alone bring it to its bound, and no further.
    let last = 200;
    for (let at = 0; at < CALLS && last === 200; at++)
      last = (await next("acme/search", [{ outcome: "empty", ins: 0, outs: 0 }])).status;
    expect(last).toBe(429);
    const { today_nano_usd, margin_nano_usd } = await window();
    expect(today_nano_usd).toBe(unpaid);
    expect(unpaid).toBeLessThanOrEqual(UNPAID_CENTS * NANO_A_CENT + margin_nano_usd + dearest);
  }, 600_000);
});
