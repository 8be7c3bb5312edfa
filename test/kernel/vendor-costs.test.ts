// No vendor cost is ever forgotten: a vendor answers in every possible way, in all its wires, to callers of all of ours; after five hundred
// calls our books hold all that it charged.
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../support/vendor-server.ts";

const DIALECTS = ["chat-completions", "responses", "messages", "generate-content"] as const;
type DialectName = (typeof DIALECTS)[number];
const WIRES = ["chat/completions", "messages", "responses", "responses/compact"] as const;
const OUTCOMES = ["ok", "refusal", "empty", "usage alone", "huge", "malformed", "half", "error"] as const;
type Outcome = (typeof OUTCOMES)[number];

const CALLS = 500;
/** The default of `UNPAID_COST_CENTS`. */
const UNPAID_NANO = 200 * 10_000_000;
/** Prices of the overlay's models, in nanos per token. */
const [IN_NANO, OUT_NANO] = [1_000, 2_000];

interface Script {
  readonly outcome: Outcome;
  readonly inTokens: number;
  readonly outTokens: number;
}

/** The vendor's charge for one request; `exact`: it reported its usage. */
interface Took {
  readonly nano: number;
  readonly exact: boolean;
}

let vendor: VendorServer;
let gateway: TestGateway;
/**
 * The account of the random calls, apart from that of calls with a known outcome: what the former leave unpaid does not block the latter.
 */
let wild: TestAccount;
let calm: TestAccount;
let scripts: Script[] = [];
let took: Took[] = [];

beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startTestGateway({
    OVERLAY_DIR: new URL("../fixtures/wires-overlay", import.meta.url).pathname,
    ...Object.fromEntries(
      DIALECTS.map((dialect) => [`VIA_${dialect.toUpperCase().replace("-", "_")}_BASE_URL`, `${vendor.url}/v1`]),
    ),
  });
  const rich = {
    kind: "personal",
    creditCents: 1_000_000,
    requestsPerMinute: 100_000,
    inferenceCapCents: 1_000_000,
  } as const;
  wild = await gateway.account(rich);
  calm = await gateway.account(rich);
  vendor.answers((response, request) => answer(response, request));
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  await vendor.close();
  expect(findings).toEqual([]);
});

/** The same numbers on every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const SAID: Readonly<Record<Outcome, string>> = {
  ok: "Certainly.",
  refusal: "",
  empty: "",
  "usage alone": "",
  huge: "Certainly.",
  malformed: "",
  half: "Certainly.",
  error: "",
};

/** A good answer's body, or its events, which `half` cuts short. */
const WRITERS: Readonly<Record<DialectName, (script: Script) => { whole: object; events: readonly object[] }>> = {
  "chat-completions": ({ outcome, inTokens, outTokens }) => {
    const finish_reason = outcome === "refusal" ? "content_filter" : "stop";
    const content = SAID[outcome];
    const usage = { prompt_tokens: inTokens, completion_tokens: outTokens };
    const events = [
      { choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
      { choices: [], usage },
    ];
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason }];
    return { whole: outcome === "usage alone" ? { usage } : { choices, usage }, events };
  },
  messages: ({ outcome, inTokens, outTokens }) => {
    const stop_reason = outcome === "refusal" ? "refusal" : "end_turn";
    const text = SAID[outcome];
    const usage = { input_tokens: inTokens, output_tokens: outTokens };
    const begun = { usage: { input_tokens: inTokens, output_tokens: 0 } };
    const content = text === "" ? [] : [{ type: "text", text }];
    const said = [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
    ];
    const events = [
      { type: "message_start", message: { type: "message", role: "assistant", content: [], ...begun } },
      ...(text === "" ? [] : said),
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: outTokens } },
      { type: "message_stop" },
    ];
    const whole = { type: "message", role: "assistant", content, stop_reason, usage };
    return { whole: outcome === "usage alone" ? { usage } : whole, events };
  },
  responses: ({ outcome, inTokens, outTokens }) => {
    const isRefused = outcome === "refusal";
    const text = SAID[outcome];
    const output =
      text === "" ? [] : [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }];
    const end = isRefused
      ? { status: "incomplete", incomplete_details: { reason: "content_filter" } }
      : { status: "completed" };
    const usage = { input_tokens: inTokens, output_tokens: outTokens };
    const response = { id: "resp_1", object: "response", output, ...end, usage };
    const delta = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: text };
    const events = [
      { type: "response.created", response: { id: "resp_1", object: "response", status: "in_progress", output: [] } },
      ...(text === "" ? [] : [delta]),
      { type: isRefused ? "response.incomplete" : "response.completed", response },
    ];
    return { whole: outcome === "usage alone" ? { usage } : response, events };
  },
  "generate-content": ({ outcome, inTokens, outTokens }) => {
    const usageMetadata = { promptTokenCount: inTokens, candidatesTokenCount: outTokens };
    const finishReason = outcome === "refusal" ? "SAFETY" : "STOP";
    const parts = SAID[outcome] === "" ? [] : [{ text: SAID[outcome] }];
    const whole = { candidates: [{ content: { parts }, finishReason }], usageMetadata };
    const events = [{ candidates: [{ content: { parts } }] }, whole];
    return { whole: outcome === "usage alone" ? { usageMetadata } : whole, events };
  },
};

function dialectOf({ url }: VendorRequest): DialectName {
  if (url.includes("/chat/completions")) return "chat-completions";
  if (url.includes("/messages")) return "messages";
  return url.includes("/responses") ? "responses" : "generate-content";
}

function isStreamed({ url, body }: VendorRequest): boolean {
  return url.includes("stream") || (body as { stream?: boolean }).stream === true;
}

function answer(response: ServerResponse, request: VendorRequest): void {
  const script = scripts.shift() ?? { outcome: "error", inTokens: 0, outTokens: 0 };
  const { outcome, inTokens, outTokens } = script;
  if (outcome === "error") return void response.writeHead(400).end('{"error":{"message":"no","type":"invalid"}}');
  const streamed = isStreamed(request);
  const { whole, events } = WRITERS[dialectOf(request)](script);
  const isTold = outcome !== "malformed" && outcome !== "half" && !(streamed && outcome === "usage alone");
  // Whatever usage it reports, a vendor charges its price for the request.
  took.push(isTold ? { nano: inTokens * IN_NANO + outTokens * OUT_NANO, exact: true } : { nano: 1, exact: false });
  response.writeHead(200, { "content-type": streamed ? "text/event-stream" : "application/json" });
  if (outcome === "malformed") return void response.end("<html>Certainly.</html>");
  if (!streamed) {
    const text = JSON.stringify(whole);
    if (outcome !== "half") return void response.end(text);
    return void response.write(text.slice(0, text.length / 2), () => response.destroy());
  }
  const lines = events.map((event) => {
    const name = "type" in event ? `event: ${String(event.type)}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  if (outcome === "half") return void response.write(lines[0] ?? "", () => response.destroy());
  response.end(outcome === "usage alone" ? "" : lines.join(""));
}

interface Call {
  readonly wire: (typeof WIRES)[number];
  readonly models: readonly DialectName[];
  readonly streamed: boolean;
  readonly scripts: readonly Script[];
}

async function make({ wire, models, streamed, scripts: wanted }: Call, account = calm) {
  scripts = [...wanted];
  took = [];
  const [first, ...others] = models.map((dialect) => `via-${dialect}/m`);
  const messages = [{ role: "user", content: "Hi" }];
  const asked = wire.startsWith("responses") ? { input: "Hi", max_output_tokens: 100 } : { messages, max_tokens: 100 };
  const response = await postAs(account.key, `${gateway.url}/api/llm/v1/${wire}`, {
    ...asked,
    ...(others.length > 0 ? { models: [first, ...others] } : { model: first }),
    ...(streamed ? { stream: true } : {}),
  });
  const text = await response.text();
  const record = await gateway.record(response.headers.get("x-request-id"));
  const charged = Number(record.charged_nano_usd);
  const upstream = Number(record.upstream_nano_usd);
  return { status: response.status, text, record, charged, upstream, took: [...took] };
}

function scriptOf(outcome: Outcome, random: (below: number) => number): Script {
  const outTokens = outcome === "huge" ? 1_000_000 : random(500);
  return { outcome, inTokens: 1 + random(2_000), outTokens };
}

it(`after ${CALLS} calls our legs hold all that the vendor took, and what is unpaid of it has a bound`, async () => {
  const random = numbers(20);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const totals = { took: 0, upstream: 0, charged: 0, refused: 0 };
  let dearest = 0;
  for (let at = 0; at < CALLS; at++) {
    const wire = pick(WIRES);
    const models = Array.from({ length: 1 + random(wire === "chat/completions" ? 3 : 1) }, () => pick(DIALECTS));
    const streamed = wire !== "responses/compact" && random(2) === 1;
    const call = { wire, models: [...new Set(models)], streamed };
    const wanted = Array.from({ length: 9 }, () => scriptOf(pick(OUTCOMES), random));
    const seen = await make({ ...call, scripts: wanted }, wild);
    const sum = seen.took.reduce((all, { nano }) => all + nano, 0);
    const what = { at, ...call, status: seen.status, attempts: seen.record.attempts };
    if (seen.took.every(({ exact }) => exact)) expect([what, seen.upstream]).toEqual([what, sum]);
    else expect([what, seen.upstream >= sum]).toEqual([what, true]);
    totals.took += sum;
    totals.upstream += seen.upstream;
    totals.charged += seen.charged;
    totals.refused += Number(seen.status === 429);
    dearest = Math.max(dearest, sum);
  }
  expect(totals.upstream).toBeGreaterThanOrEqual(totals.took);
  expect(totals.took - totals.charged).toBeLessThanOrEqual(UNPAID_NANO + dearest);
  expect(totals.refused).toBeGreaterThan(0);
}, 600_000);

/** How each wire reports a refusal, and an answer without text. */
const TOLD: Readonly<Record<string, Readonly<Record<"refusal" | "empty", RegExp>>>> = {
  "chat/completions": { refusal: /"finish_reason":"content_filter"/, empty: /"finish_reason":"stop"/ },
  messages: { refusal: /"stop_reason":"refusal"/, empty: /"stop_reason":"end_turn"/ },
  responses: { refusal: /"incomplete_details":\{"reason":"content_filter"\}/, empty: /"status":"completed"/ },
};

describe.each(DIALECTS)("an answer of the %s dialect", (dialect) => {
  describe.each(Object.keys(TOLD) as (typeof WIRES)[number][])("to a caller of %s", (wire) => {
    it.each([
      ["refusal", false],
      ["refusal", true],
      ["empty", false],
      ["empty", true],
    ] as const)("that is a %s says so and is charged (streamed: %s)", async (outcome, streamed) => {
      const script = { outcome, inTokens: 40, outTokens: 3 } as const;
      const seen = await make({ wire, models: [dialect], streamed, scripts: [script] });
      expect([seen.status, seen.record.outcome]).toEqual([200, "success"]);
      expect(seen.text).toMatch(TOLD[wire]?.[outcome] ?? /^$/);
      expect([seen.charged, seen.upstream]).toEqual([46_000, 46_000]);
    });
  });
});

describe("an empty answer", () => {
  const empty = (inTokens: number): Script => ({ outcome: "empty", inTokens, outTokens: 0 });
  const call = { wire: "chat/completions", models: ["messages", "chat-completions", "responses"] } as const;

  it.each([true, false])(
    "has one other route asked, whose answer is the one that is paid (streamed: %s)",
    async (streamed) => {
      const scripts = [empty(10), { outcome: "ok", inTokens: 5, outTokens: 1 } as const];
      const seen = await make({ ...call, streamed, scripts });
      expect(seen.text).toContain("Certainly.");
      expect([seen.charged, seen.upstream]).toEqual([7_000, 17_000]);
    },
  );

  it.each([true, false])("has no third asked: the caller gets the last one (streamed: %s)", async (streamed) => {
    const seen = await make({ ...call, streamed, scripts: [empty(10), empty(20), empty(30)] });
    expect([seen.status, seen.took.length]).toEqual([200, 2]);
    expect([seen.charged, seen.upstream]).toEqual([20_000, 30_000]);
  });

  it("is what the caller gets where the other route fails", async () => {
    const error = { outcome: "error", inTokens: 0, outTokens: 0 } as const;
    const seen = await make({
      ...call,
      models: ["messages", "responses"],
      streamed: false,
      scripts: [empty(10), error],
    });
    expect([seen.status, seen.charged, seen.upstream]).toEqual([200, 10_000, 10_000]);
  });

  it("and one that cannot be read are two that were paid: no third is asked", async () => {
    const scripts = Array.from({ length: 3 }, () => ({ outcome: "malformed", inTokens: 9, outTokens: 1 }) as const);
    const seen = await make({ ...call, streamed: false, scripts });
    expect([seen.status, seen.took.length, seen.charged]).toEqual([502, 2, 0]);
    expect(seen.upstream).toBeGreaterThan(0);
  });
});
