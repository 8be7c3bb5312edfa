// The cache replays a whole answer as a stream, and a stream as a whole answer, in every wire: the content, the model, and the id.
import { describe, expect, it } from "vitest";
import { ResponseRecorder } from "../../../src/models/chat/response-recorder.ts";
import { MODEL_WIRES } from "../../../src/models/formats/model-wires.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

type Json = Record<string, unknown>;

interface Form {
  readonly path: string;
  readonly body: Json;
}
interface Asked {
  readonly whole: Form;
  readonly streams: readonly Form[];
}

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

const MODEL = "core/cheap";
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const body = (body: Json, stream: Json = { stream: true }) => ({ body, streamed: { ...body, ...stream } });

/** A request in each wire, for text or for a tool call. */
const ASKED: Readonly<Record<string, (prompt: string, calls: boolean) => Asked>> = {
  "chat-completions"(prompt, calls) {
    const tools = [{ type: "function", function: { name: "weather", parameters: SCHEMA } }];
    const whole = {
      model: MODEL,
      max_tokens: 60,
      messages: [{ role: "user", content: prompt }],
      ...(calls ? { tools } : {}),
    };
    const path = "/v1/chat/completions";
    const options = [undefined, { include_usage: true }];
    return {
      whole: { path, body: whole },
      streams: options.map((stream_options) => ({ path, body: { ...whole, stream: true, stream_options } })),
    };
  },
  messages(prompt, calls) {
    const tools = [{ name: "weather", input_schema: SCHEMA }];
    const whole = {
      model: MODEL,
      max_tokens: 60,
      messages: [{ role: "user", content: prompt }],
      ...(calls ? { tools } : {}),
    };
    const path = "/v1/messages";
    return { whole: { path, body: whole }, streams: [{ path, body: body(whole).streamed }] };
  },
  responses(prompt, calls) {
    const tools = [{ type: "function", name: "weather", parameters: SCHEMA }];
    const whole = { model: MODEL, max_output_tokens: 60, input: prompt, ...(calls ? { tools } : {}) };
    const path = "/v1/responses";
    return { whole: { path, body: whole }, streams: [{ path, body: body(whole).streamed }] };
  },
  "generate-content"(prompt, calls) {
    const tools = [{ functionDeclarations: [{ name: "weather", parameters: SCHEMA }] }];
    const contents = [{ role: "user", parts: [{ text: prompt }] }];
    const whole = { contents, generationConfig: { maxOutputTokens: 60 }, ...(calls ? { tools } : {}) };
    const at = (verb: string) => ({ path: `/v1beta/models/${MODEL}:${verb}`, body: whole });
    return {
      whole: at("generateContent"),
      streams: [at("streamGenerateContent?alt=sse"), at("streamGenerateContent")],
    };
  },
};

async function ask({ path, body }: Form, headers: Record<string, string>) {
  const response = await postAs(account.key, `${gateway.url}${path}`, body, headers);
  const { status } = response;
  return {
    status,
    headers: response.headers,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

function saidIn(wire: string, { type, text }: { readonly type: string; readonly text: string }) {
  const told = ResponseRecorder.of(wire);
  told?.take(Buffer.from(text), type);
  const id = (/"responseId":"([^"]+)"/.exec(text) ?? /"id":"([^"]+)"/.exec(text))?.[1];
  return { choices: told?.choices(), id };
}

const charges = async () => {
  const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}&limit=1000`);
  return (json.transactions as Json[]).filter(({ kind }) => kind === "charge").length;
};

it("has a form of every wire", () => {
  expect(Object.keys(ASKED).sort()).toEqual(MODEL_WIRES.map(({ name }) => name).sort());
});

const SAYS = [
  ["words", "[[say: one two three]]", false],
  ["a call", '[[call: weather {"city":"Zug"}]]', true],
  ["words and a call", '[[say: one two]] [[call: weather {"city":"Zug","id":12345678901234567890}]]', true],
] as const;
let question = 0;

describe.each(Object.entries(ASKED))("in the wire %s", (wire, asked) => {
  it.each(SAYS)(
    "%s: an answer under an Idempotency-Key, made whole, is streamed to who repeats with a stream",
    async (_, prompt, calls) => {
      const { whole, streams } = asked(prompt, calls);
      for (const stream of streams) {
        question += 1;
        const headers = { "idempotency-key": `key-${question}` };
        const alone = await ask(stream, headers);
        expect(alone.status).toBe(400);
        const first = await ask(whole, headers);
        expect(first.status).toBe(200);
        const before = await charges();
        const again = await ask(stream, headers);
        expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
        expect(again.type.startsWith("text/event-stream")).toBe(!stream.path.endsWith("streamGenerateContent"));
        expect(saidIn(wire, again)).toEqual(saidIn(wire, first));
        const digits = /\d{20}/.exec(first.text)?.[0];
        if (digits !== undefined) expect(again.text).toContain(digits);
        // A call's index is its position among the calls.
        const places = [...again.text.matchAll(/"tool_calls":\[\{"index":(\d+)/g)].map(([, place]) => place);
        expect(places.every((place) => place === "0")).toBe(true);
        expect((await ask(whole, headers)).text).toBe(first.text);
        expect((await ask({ ...stream, body: { ...stream.body, temperature: 0.1 } }, headers)).status).not.toBe(200);
        expect(await charges()).toBe(before);
      }
    },
  );

  it.each(SAYS)("%s: an answer of the cache is told in either form, at no charge", async (_, prompt, calls) => {
    const numbered = () => {
      question += 1;
      return asked(`${prompt} Question ${question}`, calls);
    };
    const pairs = numbered().streams.flatMap((_stream, at) => {
      const [one, other] = [numbered(), numbered()];
      return [
        [one.whole, one.streams[at]],
        [other.streams[at], other.whole],
      ] as const;
    });
    for (const [made, wanted] of pairs) {
      if (made === undefined || wanted === undefined) throw new Error("no form");
      const first = await ask(made, { "x-tollgate-cache": "60" });
      expect([first.status, first.headers.get("x-tollgate-cache")]).toEqual([200, "miss"]);
      const before = await charges();
      const again = await ask(wanted, { "x-tollgate-cache": "60" });
      expect([again.status, again.headers.get("x-tollgate-cache")]).toEqual([200, "hit"]);
      expect(saidIn(wire, again)).toEqual(saidIn(wire, first));
      expect(await charges()).toBe(before);
    }
  });
});
