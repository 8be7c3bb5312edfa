// Every function that parses the input of callers, vendors or pages, with input of a given size crafted to be slow; and the files that
// parse only our own output. Every file of src or adapters that parses text is in one of the two lists, or a test fails.

import { PassThrough } from "node:stream";
import { crc32 } from "node:zlib";
import { linesIn, readLine } from "../../src/actions/batches/jsonl.ts";
import { extractPage } from "../../src/actions/composites/pages/extract-page.ts";
import { linksIn } from "../../src/actions/composites/pages/page-addresses.ts";
import { documentOf, tagsOf } from "../../src/actions/composites/pages/page-dom.ts";
import { PageStyles } from "../../src/actions/composites/pages/page-styles.ts";
import { decodedPage, judgedText } from "../../src/actions/composites/pages/page-tasks.ts";
import { parsed } from "../../src/actions/composites/pages/page-tree.ts";
import { readRobots, robotsAsker } from "../../src/actions/composites/pages/robots.ts";
import { locationsIn } from "../../src/actions/composites/pages/site-locations.ts";
import { matchesGlob } from "../../src/actions/composites/pages/site-map.ts";
import { yieldOf } from "../../src/actions/composites/pages/yield.ts";
import { identifierIn, nameWithCompany, profileUrl } from "../../src/actions/composites/people/identifier.ts";
import { nameOf, plainWords } from "../../src/actions/composites/people/person-query.ts";
import { attachment } from "../../src/actions/files/file-endpoints.ts";
import { answerWith, readyAnswer } from "../../src/actions/run/ready-answer.ts";
import { wordsOf } from "../../src/actions/run/search-words.ts";
import { NETWORKS } from "../../src/catalog/networks.ts";
import { shapeOf } from "../../src/cli/certify/answer-shape.ts";
import { systemClock } from "../../src/core/clock.ts";
import { refusalIn } from "../../src/core/errors.ts";
import { keysIn, membersOf, readJson, withMembers } from "../../src/core/json-bytes.ts";
import type { NeutralRequest } from "../../src/core/neutral.ts";
import { jsonText, parseRaw } from "../../src/core/raw-json.ts";
import { headerLine } from "../../src/edge/http/head-lines.ts";
import { accessTokenReader } from "../../src/edge/oauth/access-tokens.ts";
import { cookieOf } from "../../src/edge/oauth/sessions.ts";
import { signingKeys } from "../../src/edge/oauth/signing-keys.ts";
import { readPayment } from "../../src/edge/x402/read-payment.ts";
import { shownText } from "../../src/gateway/shown-text.ts";
import { ResponseRecorder } from "../../src/models/chat/response-recorder.ts";
import { thoughtSeal } from "../../src/models/chat/seal.ts";
import { packetSecondsMax } from "../../src/models/chat/units/sound-packets.ts";
import { flacSecondsMax, soundSecondsMax } from "../../src/models/chat/units/sound-seconds.ts";
import { readChatBody } from "../../src/models/formats/chat-completions/read-body.ts";
import { generateAnswers } from "../../src/models/formats/generate-content/answers.ts";
import { checkGenerate } from "../../src/models/formats/generate-content/read-body.ts";
import { generateRequest } from "../../src/models/formats/generate-content/request.ts";
import { streamForm } from "../../src/models/formats/generate-content/stream-form.ts";
import { MessagesEncoder } from "../../src/models/formats/messages/encoder.ts";
import { MESSAGES_FIELDS } from "../../src/models/formats/messages/fields.ts";
import { readBetas } from "../../src/models/formats/messages/headers.ts";
import { checkMessages } from "../../src/models/formats/messages/read-body.ts";
import { readPreferences } from "../../src/models/formats/preferences.ts";
import { readText, sentText } from "../../src/models/formats/prompt-text.ts";
import { readResponsesBody } from "../../src/models/formats/responses/read-body.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import type { RequestRecord } from "../../src/platform/observe/record.ts";
import { createRedactor } from "../../src/platform/observe/redactor.ts";
import { SpanContents } from "../../src/platform/observe/span-content.ts";
import { spooledForm } from "../../src/platform/uploads/spooled-upload.ts";
import { actionConductOf } from "../../src/sandbox/action-faults.ts";
import { directivesOf } from "../../src/sandbox/ask.ts";
import { createMachineRoom } from "../../src/sandbox/machines.ts";
import { ConnectFrames } from "../../src/upstream/connect-frames.ts";
import { EventStream } from "../../src/upstream/event-stream.ts";
import { EventWriter } from "../../src/upstream/event-writer.ts";
import { EventstreamFrames } from "../../src/upstream/eventstream-frames.ts";
import { learnTemplate } from "../../src/upstream/format-kit/event-template.ts";
import { learnEvent, recognized } from "../../src/upstream/format-kit/known-event.ts";
import { GivenIds } from "../../src/upstream/format-kit/tool-ids.ts";
import { fittedSchema } from "../../src/upstream/format-kit/tool-schemas.ts";
import { DeliveredText, type HeldStream } from "../../src/upstream/held-stream.ts";
import { messageCutter } from "../../src/upstream/message-cutter.ts";
import { nearlyJson } from "../../src/upstream/nearly-json.ts";
import { eachLine } from "../../src/upstream/sidecar/lines.ts";
import { SocketReader } from "../../src/upstream/socket-frames.ts";
import { SseScanner } from "../../src/upstream/sse-scanner.ts";
import { readableFailure } from "../../src/upstream/vendor-failure.ts";
import { chatContext } from "../support/dialect-replay.ts";

/** A function that parses untrusted input. It takes some milliseconds for `size`. */
export interface Parser {
  readonly file: string;
  readonly what: string;
  readonly size: number;
  /** Makes input of a size, and its parser: only the parsing is measured. */
  readonly of: (size: number) => () => unknown;
}

/** A parser that throws for its caller is done, too. */
const orError = (parse: () => unknown) => () => {
  try {
    return parse();
  } catch (error) {
    return refusalIn(error);
  }
};
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const named = (count: number) => Object.fromEntries(many(count, (at) => [`k${at}`, at]));
const USER = { role: "user", content: "Hi" };
const SEAL = thoughtSeal(["secret"], "payer");
const RESPONSES = { seal: SEAL, nowS: () => 1, earlier: null, named: null };
const NOBODY = { grow: () => null, belongTo: () => null, close: () => {} };

async function* blocksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield* pieces(bytes, 65_536);
}

/** The same bytes, in pieces of `pieceBytes`. */
function pieces(bytes: Buffer, pieceBytes: number): Buffer[] {
  return many(Math.ceil(bytes.length / pieceBytes), (at) => bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes));
}

function pushed(reader: { push(chunk: Buffer): unknown }, bytes: Buffer, pieceBytes: number): () => void {
  const chunks = pieces(bytes, pieceBytes);
  return () => {
    for (const chunk of chunks) reader.push(chunk);
  };
}

async function* streamed(bytes: Buffer, pieceBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  yield* pieces(bytes, pieceBytes);
}

function formOf(body: Buffer, pieceBytes: number): () => Promise<unknown> {
  const rules = { fileBytesMax: 1e9, bodyBytesMax: 1e9, filesMax: 1, folder: "/tmp" };
  return async () => {
    const incoming = { bytes: 0, [Symbol.asyncIterator]: () => streamed(body, pieceBytes) };
    const form = await spooledForm(incoming, "multipart/form-data; boundary=b", rules, NOBODY);
    if ("close" in form) form.close();
  };
}

function frame(payload: Buffer, fin: boolean): Buffer {
  return Buffer.concat([Buffer.from([fin ? 0x81 : 0x01, payload.length]), payload]);
}

function interleavedCalls(count: number): () => void {
  const head = { id: "m", model: "x", createdS: 1 };
  const options = { shown: "all", head, promptTokens: 1, stops: [] } as const;
  const encoder = new MessagesEncoder(options as unknown as ConstructorParameters<typeof MessagesEncoder>[0]);
  const call = (at: number, text: string) =>
    ({ kind: "tool-call", choice: 0, at, id: `c${at}`, name: "f", arguments: text }) as const;
  const more = (text: string) => ({ kind: "tool-arguments", choice: 0, at: 0, text }) as const;
  return () => {
    encoder.encode(call(0, '{"a":1'));
    encoder.encode(call(1, "{}"));
    for (let at = 0; at < count; at++) encoder.encode(more(`,"${at}":{}`));
  };
}

/** The calls in a vendor's stream, with interleaved arguments. */
function generatedCalls(count: number): () => void {
  const form = streamForm(new URLSearchParams("alt=sse"));
  const codec = generateAnswers({ id: "g", model: "x", createdS: 1 }, { showsThoughts: true, choices: 1, form });
  const calls = many(
    8,
    (at) => ({ kind: "tool-call", choice: 0, at, id: `c${at}`, name: "f", arguments: "{" }) as const,
  );
  return () => {
    const encoder = codec.encoder();
    for (const call of calls) encoder.encode(call);
    for (let at = 0; at < count; at++) {
      encoder.encode({ kind: "tool-arguments", choice: 0, at: at % calls.length, text: `"${at}":{},` });
    }
    encoder.encode({ kind: "finish", choice: 0, reason: "tool_calls", native: "x" });
  };
}

/** A vendor's events, read for a caller of another wire in as many slices as they take. */
function readEvents(count: number, event: (at: number) => unknown): () => void {
  const unreadable = (at: number) => at % 1_000 === 999;
  const lines = many(count, (at) => `data: ${unreadable(at) ? "{" : JSON.stringify(event(at))}\n\n`);
  const chunks = pieces(Buffer.from(lines.join("")), 65_536);
  const context = chatContext({ stream: true, spec: { dialect: "chat-completions", models: {} } });
  const head = { id: "m", model: "x", createdS: 1 };
  const options = { shown: "all", head, promptTokens: 1, stops: [] } as const;
  return () => {
    const encoder = new MessagesEncoder(options as unknown as ConstructorParameters<typeof MessagesEncoder>[0]);
    const reader = (out: HeldStream) => DIALECTS["chat-completions"].reader(context, new EventWriter(out, encoder));
    const stream = new EventStream({ reader }, { content() {}, done() {}, failed() {} });
    for (const chunk of chunks) {
      stream.push(chunk);
      while (stream.waits) stream.push(Buffer.alloc(0));
    }
  };
}

export const PARSERS: readonly Parser[] = [
  {
    file: "src/upstream/event-stream.ts",
    what: "events that say nothing, some of which cannot be read",
    size: 10_000,
    of: (size) =>
      readEvents(size, () => ({ choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: null }] })),
  },
  {
    file: "src/upstream/event-stream.ts",
    what: "a list of events",
    size: 800,
    of: (size) => {
      const list = many(size, () => ({ choices: [{ index: 0, delta: { content: "x".repeat(8_000) } }] }));
      const reader = () => ({ event: () => true });
      const stream = new EventStream({ reader }, { content() {}, done() {}, failed() {} });
      return () => stream.tell(list, {});
    },
  },
  {
    file: "src/upstream/event-stream.ts",
    what: "pieces of a call",
    size: 5_000,
    of: (size) => {
      const call = (at: number) => ({ index: 0, id: "c", function: { name: "f", arguments: `"${at}":{},` } });
      return readEvents(size, (at) => ({ choices: [{ index: 0, delta: { tool_calls: [call(at)] } }] }));
    },
  },
  {
    file: "src/models/formats/generate-content/answers.ts",
    what: "calls whose arguments come by turns",
    size: 40_000,
    of: (size) => generatedCalls(size),
  },
  {
    file: "src/models/formats/generate-content/read-body.ts",
    what: "parts in the other spelling, calls and results by name",
    size: 4_000,
    of: (size) => {
      const call = { function_call: { name: "f", args: { a_b: 1 } } };
      const result = { function_response: { name: "f", response: { output: "x" } } };
      const parts = many(size, (at) => (at % 2 === 0 ? call : result));
      const bytes = json({ contents: [{ role: "user", parts }] });
      return orError(() => generateRequest(checkGenerate(bytes).known.body).neutral());
    },
  },
  {
    file: "src/models/formats/generate-content/read-body.ts",
    what: "calls that are not answered",
    size: 8_000,
    of: (size) => {
      const parts = many(size, () => ({ functionCall: { name: "f" } }));
      const bytes = json({ contents: [{ role: "model", parts }] });
      return orError(() => generateRequest(checkGenerate(bytes).known.body).neutral());
    },
  },
  {
    file: "src/core/json-bytes.ts",
    what: "a body of quotes and backslashes",
    size: 200_000,
    of: (size) => {
      const bytes = json(['\\"'.repeat(size), ...many(size / 10, () => "\\")]);
      return () => [readJson(bytes), keysIn(bytes)];
    },
  },
  {
    file: "src/core/json-bytes.ts",
    what: "a body of values",
    size: 40_000,
    of: (size) => {
      const bytes = json(many(size, () => []));
      return () => readJson(bytes);
    },
  },
  {
    file: "src/core/json-bytes.ts",
    what: "the members of a body",
    size: 8_000,
    of: (size) => {
      const bytes = json(named(size));
      return () => [membersOf(bytes), withMembers(bytes, { k1: undefined, other: 1 })];
    },
  },
  {
    file: "src/models/formats/chat-completions/read-body.ts",
    what: "a chat of unknown fields, and its text",
    size: 9_000,
    of: (size) => {
      const bytes = json({ model: "x", messages: [USER], ...named(size) });
      return orError(() => readChatBody(bytes));
    },
  },
  {
    file: "src/models/formats/chat-completions/read-body.ts",
    what: "a chat of messages that are wrong",
    size: 2_500,
    of: (size) => {
      const bytes = json({ model: "x", messages: many(size, () => ({ role: "q", content: [{}] })) });
      return orError(() => readChatBody(bytes));
    },
  },
  {
    file: "src/models/formats/messages/read-body.ts",
    what: "metadata of many names",
    size: 9_000,
    of: (size) => {
      const bytes = json({ model: "x", messages: [USER], metadata: named(size) });
      return orError(() => checkMessages(bytes));
    },
  },
  {
    file: "src/models/formats/messages/read-body.ts",
    what: "many blocks, and their text",
    size: 4_500,
    of: (size) => {
      const content = many(size, () => ({ type: "text", text: "word" }));
      const bytes = json({ model: "x", messages: [{ role: "user", content }] });
      return () => {
        const checked = checkMessages(bytes);
        return [readText, sentText].map((textOf) => textOf(checked.known.body, MESSAGES_FIELDS).length);
      };
    },
  },
  {
    file: "src/models/formats/responses/read-body.ts",
    what: "references to items that are not kept",
    size: 4_500,
    of: (size) => {
      const input = many(size, (at) => ({ type: at % 2 === 0 ? "item_reference" : `type${at}`, id: `i${at}` }));
      return orError(() => readResponsesBody({ model: "x", input }, RESPONSES));
    },
  },
  {
    file: "src/models/formats/responses/read-body.ts",
    what: "many tools",
    size: 4_500,
    of: (size) => {
      const tools = many(size, (at) => ({ type: "custom", name: `f${at}` }));
      return orError(() => readResponsesBody({ model: "x", input: "Hi", tools }, RESPONSES));
    },
  },
  {
    file: "src/models/formats/preferences.ts",
    what: "names of slashes",
    size: 400_000,
    of: (size) => () => readPreferences({ order: [`${"/".repeat(size)}\n/`], only: ["a/b".repeat(size)] }),
  },
  {
    file: "src/models/chat/seal.ts",
    what: "a seal that does not open",
    size: 100_000,
    of: (size) => {
      const text = `tgs1_${"A".repeat(size)}`;
      return () => SEAL.open(text, "maker");
    },
  },
  {
    file: "src/models/chat/units/sound-seconds.ts",
    what: "a sound of sync words",
    size: 400_000,
    of: (size) => {
      const bytes = Buffer.alloc(size, Buffer.from([0xff, 0xfb, 0x90, 0x00]));
      const file = { field: "file", filename: "a", contentType: "", size, bytes: () => streamed(bytes, 65_536) };
      return () => soundSecondsMax(file);
    },
  },
  {
    file: "src/models/chat/units/sound-seconds.ts",
    what: "a sound of empty tags",
    size: 400_000,
    of: (size) => {
      const bytes = Buffer.alloc(size, Buffer.from("ID3\x04\0\0\0\0\0\0", "latin1"));
      const file = { field: "file", filename: "a", contentType: "", size, bytes: () => streamed(bytes, 65_536) };
      return () => soundSecondsMax(file);
    },
  },
  {
    file: "src/platform/uploads/spooled-upload.ts",
    what: "a file of beginnings of boundaries",
    size: 200_000,
    of: (size) => {
      const head = '--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n';
      return formOf(Buffer.from(`${head}${"\r\n-".repeat(size)}\r\n--b--\r\n`), 65_536);
    },
  },
  {
    file: "src/platform/uploads/spooled-upload.ts",
    what: "a form in small pieces",
    size: 6_000,
    of: (size) => {
      const head = '--b\r\ncontent-disposition: form-data; name="f"\r\n\r\n';
      return formOf(Buffer.from(`${head}${"\r\n--a".repeat(size)}\r\n--b--\r\n`), 16);
    },
  },
  {
    file: "src/actions/files/file-endpoints.ts",
    what: "a name of odd characters",
    size: 25_000,
    of: (size) => () => attachment("é\"'(".repeat(size)),
  },
  {
    file: "src/edge/http/head-lines.ts",
    what: "a header of line breaks",
    size: 4_000_000,
    of: (size) => () => headerLine("x", "\r\n".repeat(size)),
  },
  {
    file: "src/actions/run/ready-answer.ts",
    what: "codings of white space",
    size: 40_000,
    of: (size) => {
      const ready = readyAnswer("{}", "application/json");
      const headers = new Map([["accept-encoding", `${"\t".repeat(size)};;q=${" ; q=,".repeat(size)}`]]);
      return () => answerWith(ready, { headers } as unknown as Parameters<typeof answerWith>[1]);
    },
  },
  {
    file: "src/actions/run/search-words.ts",
    what: "a query of words without an end",
    size: 200_000,
    of: (size) => () => wordsOf(`${"ing".repeat(size)} ${"a-".repeat(size)}`),
  },
  {
    file: "src/actions/composites/people/identifier.ts",
    what: "white space, slashes and extensions",
    size: 100_000,
    of: (size) => {
      const texts = [`a${" ".repeat(size)}\tb,`, `linkedin.com/pub/${"/".repeat(size)}b`, `${"1x".repeat(size)}\nx`];
      return () => texts.map((text) => [identifierIn(text), profileUrl(text), nameWithCompany(text)]);
    },
  },
  {
    file: "src/actions/composites/people/person-query.ts",
    what: "a title of white space",
    size: 40_000,
    of: (size) => () => [nameOf(`a${"\t".repeat(size)}-`), plainWords("a\u0301 ".repeat(size))],
  },
  {
    file: "src/sandbox/ask.ts",
    what: "directives that never end",
    size: 100_000,
    of: (size) => {
      const text = `[[id:${"\t".repeat(size)}${"[[say: ".repeat(size)}`;
      return () => directivesOf([{ role: "user", text, parts: 0 }]);
    },
  },
  {
    file: "src/sandbox/action-faults.ts",
    what: "a fault of a vendor without a name",
    size: 400_000,
    of: (size) => {
      const place = { action: "a/b", isVendor: () => false };
      return () => actionConductOf(`@@${"a".repeat(size)}_`, place);
    },
  },
  {
    file: "src/sandbox/machines.ts",
    what: "a line of arrows",
    size: 200_000,
    of: (size) => {
      const machines = createMachineRoom().of("a");
      const machine = machines.make({ name: "m", envs: {} } as unknown as Parameters<typeof machines.make>[0]);
      return () =>
        machines.run(machine, {
          language: null,
          text: `echo ${">".repeat(size)}${"\t".repeat(size)}\0 b`,
          timeoutMs: 1e6,
        });
    },
  },
  {
    file: "src/cli/certify/answer-shape.ts",
    what: "a stream of many small events, each with fields of its own",
    size: 3_000,
    of: (size) => {
      const events = Array.from({ length: size }, (_, at) => `data: {"a":[{"b${at}":1}]}\n\n`);
      const body = Buffer.from(events.join(""));
      return () => shapeOf(body, "text/event-stream");
    },
  },
  {
    file: "src/upstream/sse-scanner.ts",
    what: "one event in pieces of a byte",
    size: 25_000,
    of: (size) =>
      pushed(new SseScanner(() => {}, 1e9), Buffer.from(`data: ${"x".repeat(size)}\n\n${"data:\n".repeat(size)}`), 1),
  },
  {
    file: "src/upstream/held-stream.ts",
    what: "text in small pieces",
    size: 50_000,
    of: (size) => () => {
      const text = new DeliveredText();
      for (let at = 0; at < size; at++) text.addText("\\");
      return text.read();
    },
  },
  {
    file: "src/upstream/message-cutter.ts",
    what: "a line in pieces of a byte",
    size: 40_000,
    of: (size) =>
      pushed(
        messageCutter({ form: "lines", heard: () => true }, () => {}),
        Buffer.alloc(size, "x"),
        1,
      ),
  },
  {
    file: "src/upstream/connect-frames.ts",
    what: "a frame in pieces of a byte",
    size: 40_000,
    of: (size) => {
      const bytes = Buffer.alloc(size + 5);
      bytes.writeUInt32BE(size, 1);
      return pushed(new ConnectFrames(() => true), bytes, 1);
    },
  },
  {
    file: "src/upstream/eventstream-frames.ts",
    what: "a frame in pieces of a byte",
    size: 100_000,
    of: (size) => {
      // Its prelude claims 16 MiB; the checksum matches these eight bytes.
      const bytes = Buffer.alloc(size + 12);
      bytes.writeUInt32BE(16 * 1024 * 1024, 0);
      bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
      const scanner = new EventstreamFrames(
        () => {},
        () => {},
        1e9,
      );
      return pushed(scanner, bytes, 1);
    },
  },
  {
    file: "src/actions/batches/jsonl.ts",
    what: "a file of short lines, and one line without an end",
    size: 800_000,
    of: (size) => {
      const bytes = Buffer.concat([Buffer.from("{}\n".repeat(size / 100)), Buffer.alloc(size, "x")]);
      return async () => {
        for await (const line of linesIn(blocksOf(bytes)))
          readLine(line?.bytes ?? null, "/v1/chat/completions", "files");
      };
    },
  },
  {
    file: "src/upstream/format-kit/known-event.ts",
    what: "an event with a long id and no end",
    size: 4_000_000,
    of: (size) => {
      const came = Buffer.from('{"id":"a","created":1,"choices":[]}');
      const known = learnEvent(came, Buffer.from(`data: ${came}`), null);
      const event = `{"id":"${"a".repeat(size)}`;
      return () => (known === null ? null : recognized(known, event, "b"));
    },
  },
  {
    file: "src/upstream/socket-frames.ts",
    what: "a message of many frames",
    size: 20_000,
    of: (size) => {
      const first = frame(Buffer.from("x"), false);
      const more = Buffer.from([0x00, 1, 0x78]);
      return pushed(
        new SocketReader(
          () => true,
          () => {},
        ),
        Buffer.concat([first, ...many(size, () => more)]),
        3,
      );
    },
  },
  {
    file: "src/upstream/sidecar/lines.ts",
    what: "a line in pieces of a byte",
    size: 50_000,
    of: (size) => {
      const stream = new PassThrough();
      eachLine(stream, { bytesMax: 1e9, onLine: () => {}, onTooLong: () => {} });
      return async () => {
        for (let at = 0; at < size; at++) stream.emit("data", Buffer.from("x"));
      };
    },
  },
  {
    file: "src/upstream/vendor-failure.ts",
    what: "words that repeat the beginning of our key",
    size: 100_000,
    of: (size) => {
      const message = `sk-12345678${"\\".repeat(size)}${"sk-1234567".repeat(size / 10)}`;
      const failure = { kind: "caller_invalid", status: 400, message, retryAfterMs: null } as const;
      return () => readableFailure(failure, "sk-123456789");
    },
  },
  {
    file: "src/upstream/format-kit/event-template.ts",
    what: "an event of many texts",
    size: 50_000,
    of: (size) => {
      const event = json({ choices: [{ delta: { content: '"\\'.repeat(size) } }] });
      return () => learnTemplate(event, event);
    },
  },
  {
    file: "src/models/formats/messages/encoder.ts",
    what: "calls side by side, each fragment of which could be the last",
    size: 8_000,
    of: interleavedCalls,
  },
  {
    file: "src/models/formats/messages/headers.ts",
    what: "many betas",
    size: 20_000,
    of: (size) => {
      const header = many(size, (at) => `b-${at}`).join(",");
      return () => readBetas(header);
    },
  },
  {
    file: "src/actions/composites/pages/extract-page.ts",
    what: "tags that never end, in a page full of marks of captchas",
    size: 100_000,
    of: (size) => {
      const html = `${"data-sitekey ".repeat(size / 10)}${"<div ".repeat(size)}`;
      return () => extractPage({ html, url: "https://a.example/", format: "text", mainContent: false });
    },
  },
  {
    file: "src/actions/composites/pages/extract-page.ts",
    what: "a mount full of marks of skeletons, and scripts",
    size: 40_000,
    of: (size) => {
      const html = `<div id="root">${`<p class="${"class=".repeat(30)}">`.repeat(size / 40)}</div><script></script>`;
      return () => extractPage({ html, url: "https://a.example/", format: "text", mainContent: false });
    },
  },
  {
    file: "src/actions/composites/pages/page-addresses.ts",
    what: "links that never end",
    size: 100_000,
    of: (size) => {
      const html = '<a href="/#'.repeat(size);
      return () => linksIn(html, "https://a.example/");
    },
  },
  {
    file: "src/actions/composites/pages/page-dom.ts",
    what: "tags and nothing else",
    size: 500_000,
    of: (size) => {
      const html = "<x>".repeat(size / 3);
      return () => tagsOf(html);
    },
  },
  {
    file: "src/actions/composites/pages/page-tree.ts",
    what: "references to characters, elements that close each other, and remarks, written as HTML again",
    size: 40_000,
    of: (size) => {
      const html = "&amp;<p>x<!-- y --></b>".repeat(size / 20);
      return () => parsed(html).innerHTML;
    },
  },
  {
    file: "src/actions/composites/pages/page-styles.ts",
    what: "rules that never end",
    size: 40_000,
    of: (size) => {
      const html = `<style>${".a{left:0;".repeat(size / 10)}</style><p class="${".a ".repeat(500)}">x</p>`;
      const document = documentOf(html, tagsOf(html));
      return () => new PageStyles(document);
    },
  },
  {
    file: "src/actions/composites/pages/page-styles.ts",
    what: "comments that never end",
    size: 40_000,
    of: (size) => {
      const html = `<style>${"/*".repeat(size / 2)}</style><p class="${".a ".repeat(500)}">x</p>`;
      const document = documentOf(html, tagsOf(html));
      return () => new PageStyles(document);
    },
  },
  {
    file: "src/actions/composites/pages/page-styles.ts",
    what: "selectors of many names",
    size: 40_000,
    of: (size) => {
      const html = `<style>${`${".a .b,".repeat(size / 6)}{left:0}`}</style><p class="${".a ".repeat(500)}">x</p>`;
      const document = documentOf(html, tagsOf(html));
      return () => new PageStyles(document);
    },
  },
  {
    file: "src/actions/composites/pages/main-part.ts",
    what: "paragraphs in boxes that no page names its main part",
    size: 400,
    of: (size) => {
      const html = "<div><p>some words of it, and more, that a reader reads</p></div>".repeat(size);
      return () => extractPage({ html, url: "https://a.example/", format: "text", mainContent: true });
    },
  },
  {
    file: "src/actions/composites/pages/markdown.ts",
    what: "items of one list, and stresses that never end",
    size: 800,
    of: (size) => {
      const html = `<main><ol>${"<li>`*_[x](y) <b><i>z</i></b></li>".repeat(size)}</ol></main>`;
      return () => extractPage({ html, url: "https://a.example/", format: "markdown", mainContent: false });
    },
  },
  {
    file: "src/actions/composites/pages/markdown-tables.ts",
    what: "cells that each go over a thousand rows",
    size: 400,
    of: (size) => {
      const html = `<table><tr><th>a</th></tr>${"<tr><td rowspan=1000 colspan=1000>**b**<td>c</tr>".repeat(size)}</table>`;
      return () => extractPage({ html, url: "https://a.example/", format: "markdown", mainContent: false });
    },
  },
  {
    file: "src/actions/composites/pages/page-details.ts",
    what: "facts in lists within lists",
    size: 100_000,
    of: (size) => {
      const html = `<script type="application/ld+json">${"[".repeat(size)}</script><p>x</p>`;
      return () => extractPage({ html, url: "https://a.example/", format: "text", mainContent: false });
    },
  },
  {
    file: "src/actions/composites/pages/page-tasks.ts",
    what: "a text of phrases of walls, between links",
    size: 400_000,
    of: (size) => {
      const bytes = Buffer.from("[verify you are ](x".repeat(size / 20));
      return () => judgedText({ bytes, contentType: "text/plain" }, 200);
    },
  },
  {
    file: "src/actions/composites/pages/page-tasks.ts",
    what: "bytes whose head names charsets",
    size: 2_000_000,
    of: (size) => {
      const page = { bytes: Buffer.from("charset=".repeat(size / 8)), contentType: "text/html" };
      return () => decodedPage(page);
    },
  },
  {
    file: "src/actions/composites/pages/robots.ts",
    what: "many agents, many rules, and an address that nearly fits them",
    size: 20_000,
    of: (size) => {
      const text = `${"User-agent: x\n".repeat(size)}User-agent: *\n${"Disallow: /a*b\n".repeat(300)}${"Disallow: /a\n".repeat(size)}`;
      return () => robotsAsker(readRobots(text, "Tollgate"))("https://a.example/aaaa");
    },
  },
  {
    file: "src/actions/composites/pages/site-locations.ts",
    what: "locations that say nothing",
    size: 200_000,
    of: (size) => {
      const map = "<loc>   ".repeat(size);
      return () => locationsIn(map);
    },
  },
  {
    file: "src/actions/composites/pages/site-map.ts",
    what: "a pattern of stars",
    size: 200_000,
    of: (size) => {
      const text = "a".repeat(size);
      return () => matchesGlob(`${"*a".repeat(50)}*b`, text);
    },
  },
  {
    file: "src/actions/composites/pages/yield.ts",
    what: "a text of marks and of links without words",
    size: 1_000_000,
    of: (size) => {
      const content = `${" #".repeat(size)}${"[](".repeat(size)}`;
      return () => yieldOf({ content, title: null, facts: null, status: 200 });
    },
  },
  {
    file: "src/edge/x402/read-payment.ts",
    what: "a payment of a long signature",
    size: 2_000,
    of: (size) => {
      const zero = (bytes: number) => `0x${"0".repeat(2 * bytes)}`;
      const authorization = {
        from: zero(20),
        to: zero(20),
        value: "1",
        validAfter: "0",
        validBefore: "1",
        nonce: zero(32),
      };
      const accepted = { scheme: "exact", network: "x", amount: "1", asset: "x", payTo: "x" };
      const payment = { x402Version: 2, accepted, payload: { signature: zero(size), authorization } };
      const header = Buffer.from(JSON.stringify(payment)).toString("base64");
      const headers = new Map([["payment-signature", header]]);
      return () => readPayment(headers, NETWORKS.base);
    },
  },
  {
    file: "src/edge/oauth/access-tokens.ts",
    what: "what looks like a token as long as one may be",
    size: 300,
    of: (size) => {
      const keys = signingKeys(["secret"], systemClock);
      const tokens = { read: accessTokenReader(keys, () => "https://tollgate.example", systemClock) };
      const head = Buffer.from(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid: keys().all[0]?.kid })).toString(
        "base64url",
      );
      const token = `${head}.${"A".repeat(3_000)}.${"A".repeat(86)}`;
      return () => many(size, () => tokens.read(token));
    },
  },
  {
    file: "src/edge/oauth/sessions.ts",
    what: "a Cookie header of nothing but separators",
    size: 100_000,
    of: (size) => {
      const headers = new Map([["cookie", "; ".repeat(size)]]);
      return () => cookieOf({ headers }, "tollgate_session");
    },
  },
  {
    file: "src/models/chat/units/mp4-seconds.ts",
    what: "boxes of nothing, before and within the tables",
    size: 12_000,
    of: (size) => {
      const nothing = Buffer.alloc(8 * size, Buffer.from("\0\0\0\x08free", "latin1"));
      const head = Buffer.alloc(8);
      head.writeUInt32BE(nothing.length + 8);
      head.write("moov", 4);
      const bytes = Buffer.concat([Buffer.from("\0\0\0\x08ftyp", "latin1"), nothing, head, nothing]);
      return () => packetSecondsMax(bytes, blocksOf(bytes));
    },
  },
  {
    file: "src/models/chat/units/sound-seconds.ts",
    what: "beginnings of frames, none of which goes on",
    size: 400_000,
    of: (size) => {
      const bytes = Buffer.alloc(4 * size, Buffer.from([0xff, 0xf8, 0x77, 0x08]));
      return () => flacSecondsMax(Buffer.from("fLaC"), blocksOf(bytes));
    },
  },
  {
    file: "src/core/raw-json.ts",
    what: "arguments within arguments, escapes and quotes without end, and many calls",
    size: 2_000,
    of: (size) => {
      const deep = `${'{"args":'.repeat(100)}{"a":"${"\\\\".repeat(size)}"}${"}".repeat(100)}`;
      const calls = JSON.stringify(many(size, () => ({ input: { key: '"\\' } })));
      return () => [deep, calls].map((text) => jsonText(parseRaw(text)));
    },
  },
  {
    file: "src/upstream/format-kit/tool-schemas.ts",
    what: "a schema whose alternatives are all itself",
    size: 20,
    of: (size) => {
      const anyOf = many(size, () => ({ $ref: "#/$defs/A" }));
      const schema = { $ref: "#/$defs/A", $defs: { A: { properties: { a: {} }, anyOf } } };
      return () => JSON.stringify(fittedSchema(schema, { isPlain: true, hasProperties: true }, false));
    },
  },
  {
    file: "src/upstream/format-kit/tool-ids.ts",
    what: "calls without ids",
    size: 4_000,
    of: (size) => {
      return () => {
        const ids = new GivenIds(chatContext());
        return many(size, () => ids.give(null));
      };
    },
  },
  {
    file: "src/upstream/nearly-json.ts",
    what: "names and strings without end, and brackets that stay open",
    size: 50_000,
    of: (size) => {
      const texts = [`x{${"'a".repeat(size)}}y`, "{[ '\\'\\\n' a  \t : ,".repeat(size / 10), `{${'"'.repeat(size)}`];
      return () => texts.map(nearlyJson);
    },
  },
  {
    file: "src/gateway/shown-text.ts",
    what: "parts of a file and of words in turn, and many names",
    size: 2_000,
    of: (size) => {
      const text = many(size, (at) => ["aB3/".repeat(250), "how-to-".repeat(150)][at % 2] ?? "").join("");
      const body = { text, names: named(size) };
      return () => shownText(body);
    },
  },
  {
    file: "src/platform/observe/span-content.ts",
    what: "a conversation of many short turns, with calls and their results",
    size: 1_000,
    of: (size) => {
      const call = {
        kind: "tool-call",
        id: "c",
        name: "f",
        arguments: '{"a":["4111 1111 1111 1111"]}',
        cacheMark: false,
      } as const;
      const turns = many(size, (at) => ({ role: at % 2 === 0 ? "user" : "assistant", blocks: [call] }) as const);
      const asked = { body: {}, neutral: () => ({ turns }) as unknown as NeutralRequest };
      const redact = createRedactor(["emails", "cards", "keys"]);
      const contents = new SpanContents({ redact, isSent: () => true, onBroken: () => {} });
      const record = {} as RequestRecord;
      return () => contents.begin(record)?.({ asked, choices: () => [] });
    },
  },
  {
    file: "src/models/chat/response-recorder.ts",
    what: "a stream of many short pieces, of text and of arguments by turns",
    size: 1_500,
    of: (size) => {
      const deltas = [
        { content: "a" },
        { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "b" } }] },
        { tool_calls: [{ index: 0, function: { arguments: "b" } }] },
      ];
      const events = many(
        size,
        (at) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: deltas[at % 3] }] })}\n\n`,
      );
      const chunks = pieces(Buffer.from(events.join("")), 1_000);
      const told = ResponseRecorder.of("chat-completions");
      return () => {
        for (const chunk of chunks) told?.take(chunk, "text/event-stream");
        return told?.choices();
      };
    },
  },
];
