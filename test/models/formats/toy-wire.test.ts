// An invented wire works over every dialect, whole and streamed: adding a wire touches no other wire's file.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bearer } from "../../../src/catalog/adapter.ts";
import type { Adapter, Offer } from "../../../src/catalog/catalog.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano } from "../../../src/core/money.ts";
import type { Attempt, AttemptFailure, FinalPart, Reading } from "../../../src/core/route.ts";
import { STAND_INS } from "../../../src/models/formats/stand-ins.ts";
import { DIALECTS } from "../../../src/models/formats/vendor-dialects.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";
import type { ModelCandidate } from "../../../src/upstream/model-candidate.ts";
import { createUpstream } from "../../../src/upstream/upstream.ts";
import { type ToyBody, toyCodec, toyWire } from "../../fixtures/toy-wire.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { getAs, postAs } from "../../support/keyed-fetch.ts";
import { COST, openStage } from "../../support/scripted-plan.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { ANSWERS, type DialectName } from "./golden-cases.ts";

const NAMES: readonly DialectName[] = ["chat-completions", "responses", "messages", "generate-content"];
const HEADERS = { "x-api-key": "any", "some-version": "1", "x-goog-api-key": "any" };

const sandbox = forFile(await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 }));
const vendor = forFile(await startVendor());
const upstream = forFile(createUpstream(systemClock, { dialects: DIALECTS }));

function offerOf(dialect: DialectName, origin: string): Offer {
  const auth = bearer;
  const spec = { name: "Vendor", docs: "", origin: "", auth, headers: HEADERS };
  return {
    adapter: { id: "vendor", spec, origin, origins: {}, keys: ["key"], configured: true } as unknown as Adapter,
    upstreamModel: "ok",
    spec: { contextTokens: 1, prices: [] },
    weight: 1,
    cost: {} as never,
    healthKey: "vendor:ok",
    chat: { dialect, models: {}, reasoningFormat: dialect },
    // Its thoughts are shown to callers that its vendor knows.
    wire: { reasoningSummary: "auto" },
  };
}

interface Said {
  /** The caller's bytes before the last part. */
  readonly before: string;
  readonly last: string;
  readonly reading: Reading;
}

const CHARGE = {
  transactionId: "tx_1",
  chargedNano: nano(0),
  chargedCents: 2,
  absorbedNano: nano(0),
  absorbReason: null,
  balanceNano: null,
};

/** The route of one request in the toy wire. */
function routeOf(
  dialect: DialectName,
  body: ToyBody,
  stream: boolean,
  origin = `${sandbox.url}/sandbox`,
): ModelCandidate {
  const clocks = { firstTokenMsMax: 20_000, lastFirstTokenMsMax: 20_000, gapMsMax: 20_000 };
  const head = { id: "toy-1", createdS: 1, model: "maker/ok" };
  const route = upstream.chatCandidate(offerOf(dialect, origin), {
    asked: toyCodec.request(body),
    answers: toyCodec.answers(head),
    requestId: "req_1",
    completionId: head.id,
    createdS: head.createdS,
    stream,
    servedSlug: head.model,
    contextTokens: 1,
    outputTokensMax: 2_000,
    clocks,
  });
  if (typeof route === "string") throw new Error(route);
  return route;
}

/** Sends a request in the toy wire; throws a failure. */
function ask(dialect: DialectName, body: ToyBody, stream: boolean, origin?: string): Promise<Said> {
  const route = routeOf(dialect, body, stream, origin);
  return new Promise((resolve, reject) => {
    let before = "";
    let attempt: Attempt | null = null;
    const sink = {
      content: (bytes: Uint8Array) => {
        before += Buffer.from(bytes).toString();
      },
      done: (final: FinalPart) => {
        const cost = { chargeNano: nano(0), upstreamNano: nano(0), usage: null, estimated: false, priceVersion: "1" };
        const last = Buffer.from(toyCodec.frame.last(final, cost, CHARGE, []) as Uint8Array).toString();
        const reading = attempt?.reading();
        if (reading !== undefined) resolve({ before, last, reading });
      },
      failed: ({ kind, message }: AttemptFailure) => reject(new Error(`${kind}: ${message}`)),
    };
    attempt = route.open(sink, 20_000);
  });
}

type Line = Readonly<Record<string, unknown>>;

/** The lines of an answer, whole or streamed. */
function linesOf({ before, last }: Said): Line[] {
  const lines = `${before}${last}`
    .split("\n")
    .filter(Boolean)
    .map((text) => JSON.parse(text) as Line);
  return lines.flatMap((line) =>
    Array.isArray(line.lines) ? [...(line.lines as Line[]), { bill: line.bill }] : [line],
  );
}

function joined(lines: readonly Line[], key: string): string {
  return lines.map((line) => (typeof line[key] === "string" ? line[key] : "")).join("");
}

const me = (text: string) => ({ from: "me", text }) as const;

describe.each(NAMES)("over the %s dialect", (dialect) => {
  describe.each([
    ["streamed", true],
    ["whole", false],
  ])("%s", (_, stream) => {
    test("text, with usage, and the bill in its last part", async () => {
      const talk = [{ from: "above", text: "Be kind" }, me("[[say: one two three]]")] as const;
      const said = await ask(dialect, { talk, picture: "iVBORw0KGgo=" }, stream);
      const lines = linesOf(said);
      expect(joined(lines, "text")).toBe("one two three");
      expect(lines.slice(-2)).toEqual([{ over: "stop" }, { bill: 2 }]);
      expect(said.last).toContain('"bill":2');
      expect(said.before === "").toBe(!stream);
      expect(said.reading.usage?.outputTokens).toBe(3);
    });

    test("thinking, then a call, then its result", async () => {
      const asked = { talk: [me("[[parallel]] What now?")], tools: ["weather", "clock"] };
      const lines = linesOf(await ask(dialect, { ...asked, think: true }, stream));
      expect(joined(lines, "reasoning")).toMatch(/\w/);
      expect(lines.map(({ tool }) => tool).filter(Boolean)).toEqual(["weather", "clock"]);
      expect(
        JSON.parse(
          joined(
            lines.filter((line) => line.tool === "clock" || line.call === 1),
            "with",
          ),
        ),
      ).toEqual({ city: expect.any(String) });
      expect(lines.at(-2)).toEqual({ over: "tool_calls" });
      const history = asked.tools.map((tool, at) => ({ id: `call_${at}`, tool, says: "fine" }));
      const next = linesOf(await ask(dialect, { ...asked, history }, stream));
      expect(joined(next, "text")).toMatch(/\w/);
      const forced = linesOf(await ask(dialect, { ...asked, history, must: "clock" }, stream));
      expect(forced.map(({ tool }) => tool).filter(Boolean)).toEqual(["clock"]);
    });

    test("whatever its vendors have said, or an error of ours", async () => {
      for (const { name, vendor: text } of ANSWERS.filter(
        (one) => one.dialect === dialect && one.streamed === stream,
      )) {
        const type = stream ? "text/event-stream" : "application/json";
        vendor.answers({ headers: { "content-type": type }, body: text });
        const seen = await ask(dialect, { talk: [me("Hi")] }, stream, vendor.url).then(linesOf, String);
        if (typeof seen === "string") expect(seen, name).toMatch(/^Error: (provider|policy|caller)_\w+: ./);
        else expect(seen.slice(-1), name).toEqual([{ bill: 2 }]);
      }
    });
  });

  // One wire has no stop sequences, and says so.
  test.skipIf(dialect === "responses")("its own stop may leave nothing to say", async () => {
    const lines = linesOf(await ask(dialect, { talk: [me("[[say: stop here]]")], until: "stop" }, true));
    expect(lines).toEqual([{ over: "stop" }, { bill: 2 }]);
  });
});

test("a call in it is held, relayed, charged and ended like any other, and broken like no other", async () => {
  const stage = await openStage();
  for (const dialect of NAMES) {
    for (const streamed of [true, false]) {
      const candidates = [routeOf(dialect, { talk: [me("[[say: one two three]]")] }, streamed)];
      const { reply, over } = stage.begin({ plan: { candidates, streamed, frame: toyCodec.frame } });
      await over;
      expect(stage.moves).toEqual(["reserve", `post ${COST}`]);
      expect([reply.status, reply.headers.get("content-type"), reply.headers.get("served-by")]).toEqual([
        200,
        "application/x-ndjson",
        "maker/ok",
      ]);
      expect(reply.text().trimEnd().split("\n").at(-1)).toMatch(/"bill":\d+\}$/);
    }
  }
  const half = ANSWERS.find(({ name }) => name === "cut after content")?.vendor ?? "";
  vendor.answers({ headers: { "content-type": "text/event-stream" }, body: half });
  const candidates = [routeOf("chat-completions", { talk: [me("Hi")] }, true, vendor.url)];
  const { reply, over } = stage.begin({ plan: { candidates, frame: toyCodec.frame } });
  await over;
  expect(stage.moves).toEqual(["reserve", "void broken"]);
  expect(reply.text()).toMatch(/^\{"text":"a"\}\n\{"sorry":".+","code":"upstream_error"\}\n$/);
  await stage.close();
});

test("what it is told of errors is its own", () => {
  const error = new GatewayError("draining");
  expect(toyWire.errors.body(error)).toEqual({ sorry: error.message, code: "draining" });
  expect(toyCodec.frame.broken(error, [])).toBe(`${JSON.stringify({ sorry: error.message, code: "draining" })}\n`);
});

describe("beside the others on a gateway", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({}, { wires: [toyWire] });
    account = await gateway.account({ creditCents: 100 });
  });
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    expect(findings).toEqual([]);
  });

  const say = (body: unknown, key = account.key) => postAs(key, `${gateway.url}/toy/talk`, body);
  const QUESTION = { whom: "sandbox-messages/ok", talk: [me("[[say: one two three]]")] };

  test.each([true, false])("it is answered in its own words and charged (streamed: %s)", async (live) => {
    const answer = await say({ ...QUESTION, live });
    const lines = linesOf({ before: await answer.text(), last: "", reading: {} as Reading });
    expect(joined(lines, "text")).toBe("one two three");
    expect(lines.at(-1)).toEqual({ bill: expect.any(Number) });
    const spent = await getAs(account.key, `${gateway.url}/api/v1/transactions`);
    const { transactions } = (await spent.json()) as { transactions: { endpoint: string; charged_nano_usd: number }[] };
    expect(transactions[0]).toMatchObject({ endpoint: "toy", usage: { input_tokens: 7, output_tokens: 3 } });
    expect(transactions[0]?.charged_nano_usd).toBeGreaterThan(0);
  });

  test("an unknown field is named, a wrong one is told in its words, and neither is charged", async () => {
    const strange = await say({ ...QUESTION, colour: "red" });
    expect(strange.headers.get("x-tollgate-dropped")).toBe("colour");
    const wrong = await say({ whom: "sandbox-messages/ok" });
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({ sorry: expect.stringContaining("talk"), code: "bad_request" });
    expect((await say(QUESTION, "tg_nothing")).status).toBe(401);
  });
});
