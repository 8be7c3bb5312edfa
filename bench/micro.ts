// Microbenchmarks of work per chunk, per call, and per commit; in its own process, so that nothing else is on its heap.
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { createParser } from "eventsource-parser";
import { compilePrice, costOfUsage } from "../src/catalog/price.ts";
import { systemClock } from "../src/core/clock.ts";
import { GatewayError } from "../src/core/errors.ts";
import { accessTokenReader } from "../src/edge/oauth/access-tokens.ts";
import { signingKeys } from "../src/edge/oauth/signing-keys.ts";
import { SseScanner } from "../src/upstream/sse-scanner.ts";
import { atMost, type Row, told } from "./bench.ts";
import { ledgerBench } from "./ledger.bench.ts";
import { median } from "./measure.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 3 : 7;
const ROUND_MS = quick ? 100 : 300;
const EVENTS = 2_000;

/** Results of all contestants, printed at the end, so that no work is optimized away. */
let seen = 0;

/** Runs the contestants in turn, round by round; returns the median nanoseconds per unit of work. */
function race(contestants: Readonly<Record<string, () => void>>, unitsPerRun: number): Map<string, number> {
  const found = new Map<string, number[]>(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      const startedAt = performance.now();
      let runs = 0;
      let tookMs = 0;
      for (; tookMs < ROUND_MS; tookMs = performance.now() - startedAt) {
        run();
        runs += 1;
      }
      // Round 0 warms up the compiler.
      if (round > 0) found.get(name)?.push((tookMs * 1e6) / (runs * unitsPerRun));
    }
  }
  return new Map([...found].map(([name, values]) => [name, median(values)]));
}

function streamText(): string {
  const events = Array.from({ length: EVENTS }, (_, n) => {
    const content = ` word${"s".repeat(n % 12)}`;
    const choices = [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }];
    const head = {
      id: "chatcmpl-Bench000000000000000000000001",
      object: "chat.completion.chunk",
      created: 1_790_000_000,
    };
    return `data: ${JSON.stringify({ ...head, model: "gpt-4o-mini-2024-07-18", system_fingerprint: "fp_bench", choices })}\n\n`;
  });
  return `${events.join("")}data: [DONE]\n\n`;
}

/** The stream cut as a socket would: one event per piece, or segments of 1,448 bytes. */
function pieces(text: string, by: "event" | "segment"): Buffer[] {
  if (by === "event") return text.split(/(?<=\n\n)/).map((event) => Buffer.from(event));
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 1448) }, (_, n) => bytes.subarray(n * 1448, (n + 1) * 1448));
}

function sse(by: "event" | "segment"): Row[] {
  const input = pieces(streamText(), by);
  const costs = race(
    {
      "our scanner": () => {
        const scanner = new SseScanner((_bytes, start, end) => {
          seen += end - start;
        }, 1 << 20);
        for (const piece of input) scanner.push(piece);
        scanner.end();
      },
      "eventsource-parser": () => {
        const decoder = new TextDecoder();
        const parser = createParser({
          onEvent: (event) => {
            seen += event.data.length;
          },
        });
        for (const piece of input) parser.feed(decoder.decode(piece, { stream: true }));
      },
      "split + JSON.parse": () => {
        const decoder = new TextDecoder();
        let rest = "";
        for (const piece of input) {
          const events = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
          rest = events.pop() ?? "";
          for (const event of events) {
            const data = event.slice("data: ".length);
            if (data !== "[DONE]") seen += JSON.parse(data).choices[0].delta.content.length;
          }
        }
      },
    },
    EVENTS,
  );
  const ours = costs.get("our scanner") ?? Number.NaN;
  return [...costs].map(([name, ns]) =>
    told("micro: SSE", `${name}, one ${by} a piece`, `${ns.toFixed(0)} ns an event (${(ns / ours).toFixed(1)}x)`),
  );
}

function cost(): Row[] {
  const steps = [{ promptTokens: 200_000, input: "2.5", output: "15", cacheRead: "0.25" }];
  const price = compilePrice({ since: "2026-01-01", input: "1.25", output: "10", cacheRead: "0.125", steps }, "bench");
  const usages = Array.from({ length: 1024 }, (_, n) => ({
    inputTokens: 200 + n * 331,
    cacheReadTokens: n * 7,
    cacheWriteTokens: 0,
    outputTokens: 16 + n,
    reasoningTokens: n % 16,
  }));
  const run = () => {
    for (const usage of usages) seen += costOfUsage(price, usage);
  };
  const ns = race({ cost: run }, usages.length).get("cost") ?? Number.NaN;
  return [told("micro: cost", "costOfUsage, stepped price", `${ns.toFixed(0)} ns`)];
}

/** The cost of reading a new access token: nearly all of it is its signature. */
function accessToken(): Row[] {
  const base = "https://tollgate.example";
  const keys = signingKeys(["a secret of the bench, which is long"], systemClock);
  const [jwk] = keys().all;
  if (jwk === undefined) throw new Error("there is no key");
  const key = createPrivateKey({ key: { ...jwk }, format: "jwk" });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(systemClock.epochMs() / 1_000) + 3_600;
  const tokens = Array.from({ length: 500 }, (_, n) => {
    const claims = { iss: base, aud: base, sub: "acct_1", grant: "key_1", scope: "svc:pay", exp, jti: String(n) };
    const signed = `${part({ alg: "ES256", typ: "at+jwt", kid: jwk.kid })}.${part(claims)}`;
    return `${signed}.${sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  });
  const read = () => {
    const reader = { read: accessTokenReader(keys, () => base, systemClock) };
    for (const token of tokens) if (reader.read(token) instanceof GatewayError) throw new Error("a token is not good");
    seen += tokens.length;
  };
  const parts = tokens.map((token) => {
    const end = token.lastIndexOf(".");
    return [Buffer.from(token.slice(0, end)), Buffer.from(token.slice(end + 1), "base64url")] as const;
  });
  const publicKey = createPublicKey(key);
  const signature = () => {
    for (const [text, mark] of parts)
      seen += Number(verify("sha256", text, { key: publicKey, dsaEncoding: "ieee-p1363" }, mark));
  };
  const found = race({ read, signature }, tokens.length);
  const us = (name: string) => (found.get(name) ?? Number.NaN) / 1_000;
  return [
    told("micro: access token", "the signature alone, as OpenSSL checks it", `${us("signature").toFixed(1)} us`),
    atMost("micro: access token", "first check", us("read"), 60, " us"),
  ];
}

async function ledger(): Promise<Row[]> {
  const rows = await ledgerBench({ secondsPerRun: quick ? 1 : 2 });
  return rows.map(({ inFlight, opsPerSecond, p50Ms, p99Ms, cpuUsPerPair }) =>
    told(
      "micro: ledger",
      `${inFlight} in flight`,
      `${opsPerSecond} ops/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms, ${cpuUsPerPair.toFixed(0)} us CPU for hold + post`,
    ),
  );
}

const rows = [...sse("event"), ...sse("segment"), ...cost(), ...accessToken(), ...(await ledger())];
if (seen === 0) throw new Error("nothing was measured");
process.send?.({ port: 0, rows });
process.disconnect?.();
