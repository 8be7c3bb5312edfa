// Streams of every dialect in every wire: where an answer ends, its form, and the compression of its bytes.
import { setTimeout } from "node:timers/promises";
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { DIALECTS } from "../../../src/models/formats/vendor-dialects.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { ask, DIALECT_NAMES, gatewayVia, SPEECHES, WIRE_NAMES } from "./dialect-speech.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(await gatewayVia(vendor.url));
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

const ALL = WIRE_NAMES.flatMap((wire) => DIALECT_NAMES.map((dialect) => [wire, dialect] as const));
const CODINGS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;

const charge = async (requestId: string | null) => (await gateway.record(requestId)).charged_nano_usd;

describe.each(ALL)("on %s, of a vendor that speaks %s", (wire, dialect) => {
  const speech = SPEECHES[dialect];
  const via = { wire, dialect };

  it.each([
    ["on the first piece", ["Hel", "lo"], "first"],
    ["on each piece", ["Hel", "l", "o"], "each"],
    ["on an empty first piece", ["", "Hello"], "first"],
  ] as const)("a reason to finish %s ends nothing", async (_, pieces, marks) => {
    vendor.answers({ headers: { "content-type": speech.type }, body: Buffer.concat(speech.early(pieces, marks)) });
    const { status, said, reason, requestId, text } = await ask(gateway, account, { ...via, stream: true });
    expect([status, said, reason]).toEqual([200, "Hello", "stop"]);
    // A client that stops reading at the finish reason has read everything.
    expect(text.lastIndexOf("o")).toBeGreaterThan(0);
    expect(await charge(requestId)).toBe(5 * 1_000 + 2 * 2_000);
  });

  it("the other form than was asked for is changed into it", async () => {
    vendor.answers({ body: speech.whole("Hello") });
    const streamed = await ask(gateway, account, { ...via, stream: true });
    expect([streamed.status, streamed.said, streamed.reason]).toEqual([200, "Hello", "stop"]);
    expect(streamed.text).toMatch(/^(event|data): /);
    vendor.answers({
      headers: { "content-type": speech.type },
      body: Buffer.concat(speech.early(["Hel", "lo"], "first")),
    });
    const whole = await ask(gateway, account, { ...via, stream: false });
    expect([whole.status, whole.said, whole.reason]).toEqual([200, "Hello", "stop"]);
    expect(JSON.parse(whole.text)).toBeTypeOf("object");
    for (const { requestId } of [streamed, whole]) expect(await charge(requestId)).toBe(5 * 1_000 + 2 * 2_000);
  });
});

/** Longer in total than a complete answer may stay silent, with shorter pauses. */
const SLOW_MS = 7_000;

it("a vendor with a reason to finish on each piece is heard to its end, however long that takes", async () => {
  const answers: Promise<unknown>[] = [];
  for (const dialect of DIALECT_NAMES) {
    const events = SPEECHES[dialect].early([..."abcdefg"], "each");
    vendor.answers(async (response) => {
      response.writeHead(200, { "content-type": SPEECHES[dialect].type });
      for (const [at, event] of events.entries()) {
        if (at > 0) await setTimeout(SLOW_MS / (events.length - 1));
        response.write(event);
      }
      response.end();
    });
    for (const wire of WIRE_NAMES) {
      const answer = ask(gateway, account, { wire, dialect, stream: true });
      answers.push(answer.then(({ said, reason }) => [wire, dialect, said, reason]));
    }
    await eventually(() => vendor.asked.length === WIRE_NAMES.length || undefined, "all of them to be under way");
  }
  const expected = DIALECT_NAMES.flatMap((dialect) => WIRE_NAMES.map((wire) => [wire, dialect, "abcdefg", "stop"]));
  expect(await Promise.all(answers)).toEqual(expected);
});

describe.each(DIALECT_NAMES)("of a vendor that speaks %s", (dialect) => {
  const speech = SPEECHES[dialect];
  const [wire = ""] = WIRE_NAMES;
  const events = Buffer.concat(speech.early(["Hel", "lo"], "first"));
  const whole = Buffer.from(JSON.stringify(speech.whole("Hello")));

  it("a list of events is read where a stream was asked for, unless events are no JSON", async () => {
    if (dialect === "converse") return;
    const list = speech
      .early(["Hel", "lo"], "first")
      .map((event) => /^data: (\{.*)$/m.exec(event.toString())?.[1] ?? "null");
    vendor.answers({ body: `[${list.filter((one) => one !== "null").join(",")}]` });
    const { said, reason } = await ask(gateway, account, { wire, dialect, stream: true });
    expect([said, reason]).toEqual(["Hello", "stop"]);
  });

  it("events that say nothing are a whole answer that says nothing", async () => {
    vendor.answers({ headers: { "content-type": speech.type }, body: Buffer.concat(speech.early([""], "first")) });
    for (const wire of WIRE_NAMES) {
      const { status, said, text } = await ask(gateway, account, { wire, dialect, stream: false });
      expect([wire, status, said, JSON.parse(text)]).toEqual([wire, 200, "", expect.any(Object)]);
    }
  });

  it("JSON with the content type of events is read, streamed and whole", async () => {
    for (const stream of [true, false]) {
      vendor.answers({
        headers: { "content-type": "text/event-stream" },
        body: Buffer.concat([Buffer.from("\n"), whole]),
      });
      const { status, said, reason, requestId } = await ask(gateway, account, { wire, dialect, stream });
      expect([status, said, reason]).toEqual([200, "Hello", "stop"]);
      expect(await charge(requestId)).toBe(5 * 1_000 + 2 * 2_000);
    }
  });

  it("media types are read in any case, with parameters", async () => {
    const type = `${speech.type.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())} ; Charset=UTF-8`;
    vendor.answers({ headers: { "content-type": type }, body: events });
    expect((await ask(gateway, account, { wire, dialect, stream: true })).said).toBe("Hello");
  });

  it.each(Object.entries(CODINGS))("what is compressed by %s is read, streamed and whole", async (coding, compress) => {
    for (const [stream, type, body] of [
      [true, speech.type, events],
      [false, "application/json", whole],
    ] as const) {
      vendor.answers({
        headers: { "content-type": type, "content-encoding": coding.toUpperCase() },
        body: compress(body),
      });
      const good = await ask(gateway, account, { wire, dialect, stream });
      expect([good.status, good.said, good.reason]).toEqual([200, "Hello", "stop"]);
      expect(vendor.asked[0]?.headers["accept-encoding"]).toContain(coding);
      vendor.answers({
        headers: { "content-type": type, "content-encoding": coding },
        body: compress(body).subarray(0, -4),
      });
      const cut = await ask(gateway, account, { wire, dialect, stream });
      const ended = DIALECTS[dialect].end !== null && stream;
      // After the end mark no part of an answer can be missing.
      if (!ended || cut.said !== "Hello")
        expect([cut.said === "Hello" && cut.reason === "stop", await charge(cut.requestId)]).toEqual([false, 0]);
    }
  });

  it("a connection that is cut in the middle of a body is no end of it", async () => {
    const [first = Buffer.alloc(0)] = [Buffer.concat(speech.early(["Hel", "lo"], "first").slice(0, -1))];
    vendor.answers((response) => {
      response.writeHead(200, { "content-type": speech.type });
      response.write(first, () => response.socket?.destroySoon());
    });
    const { said, reason } = await ask(gateway, account, { wire, dialect, stream: true });
    if (DIALECTS[dialect].end === null) expect([said, reason]).toEqual(["Hel", "error"]);
    else expect(said).toBe("Hello");
  });
});

/** A vendor that thinks, signs a call, and sends its events as a list or one by one. */
const THOUGHT = { candidates: [{ index: 0, content: { parts: [{ text: "pondering", thought: true }] } }] };
const CALL = { functionCall: { name: "f", args: {} }, thoughtSignature: "c2lnbmF0dXJl" };
const CALLED = { candidates: [{ index: 0, content: { parts: [CALL] }, finishReason: "STOP" }] };
const DIGITS = "12345678901234567890.10";

it.each(WIRE_NAMES)("numbers in arguments keep their digits in a list of events (%s)", async (wire) => {
  const body = JSON.stringify([THOUGHT, CALLED]).replace('"args":{}', `"args":{"n":${DIGITS}}`);
  vendor.answers({ body });
  const { text } = await ask(gateway, account, { wire, dialect: "generate-content", stream: true });
  expect(text).toContain(DIGITS);
});

it.each(["chat-completions", "responses"])(
  "a signature does not take the place of the thought before it (%s)",
  async (wire) => {
    const body = [THOUGHT, CALLED].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    vendor.answers({ headers: { "content-type": "text/event-stream" }, body });
    const { text } = await ask(gateway, account, { wire, dialect: "generate-content", stream: false });
    expect(text).toContain("pondering");
  },
);

it("a compressed stream goes on event by event, and ends with its body", async () => {
  const gzip = createGzip();
  const pieces: Buffer[] = [];
  gzip.on("data", (piece: Buffer) => pieces.push(piece));
  const heard = Promise.withResolvers<void>();
  vendor.answers(async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    gzip.on("data", (piece: Buffer) => response.write(piece)).on("end", () => response.end());
    const [first, ...rest] = SPEECHES["chat-completions"].early(["Hel", "lo"], "first");
    gzip.write(first);
    gzip.write(Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"l"},"finish_reason":null}]}\n\n'));
    gzip.flush(constants.Z_SYNC_FLUSH);
    await heard.promise;
    gzip.end(Buffer.concat(rest));
  });
  const answer = await postAs(account.key, `${gateway.url}/v1/chat/completions`, {
    model: "via-chat-completions/m",
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  });
  let text = "";
  for await (const piece of answer.body ?? []) {
    text += Buffer.from(piece).toString();
    if (text.includes('"content":"l"')) heard.resolve();
  }
  expect(text.trimEnd().endsWith("[DONE]")).toBe(true);
});

it("what a small body unpacks to is bounded as any answer, and costs nothing", async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
  for (const stream of [true, false]) {
    vendor.answers({ headers: { "content-type": "application/json", "content-encoding": "gzip" }, body: bomb });
    const { status, requestId } = await ask(gateway, account, {
      wire: "messages",
      dialect: "chat-completions",
      stream,
    });
    expect([status >= 500, await charge(requestId)]).toEqual([true, 0]);
  }
});
