// A stream is passed on alike whether an earlier call had its events or not.
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { AnswerSink } from "../../../src/core/route.ts";
import { createChatCompletionsReader } from "../../../src/models/formats/chat-completions/vendor-stream.ts";
import { EventStream } from "../../../src/upstream/event-stream.ts";
import type { ChatContext } from "../../../src/upstream/format-kit/dialect.ts";
import { runs } from "../../support/runs.ts";

type Spec = ChatContext["spec"];
const newSpec = (): Spec => ({ dialect: "chat-completions", models: {} });

/** What the caller and the meter get of a stream. */
function passed(events: readonly string[], spec: Spec, completionId: string, servedSlug = "maker/model") {
  let sent = "";
  let end: unknown = null;
  const sink: AnswerSink = {
    content: (bytes) => {
      sent += Buffer.from(bytes).toString("latin1");
    },
    done: (final) => {
      end = final.kind === "stream" ? Buffer.from(final.tail).toString("latin1") : final;
    },
    failed: ({ kind, message }) => {
      end = { kind, message };
    },
  };
  const context = { upstreamModel: "theirs", servedSlug, completionId, createdS: 1, stream: true };
  const stream = new EventStream(
    { reader: (out) => createChatCompletionsReader({ ...context, outputTokensMax: 10, spec, wire: {} }, out) },
    sink,
  );
  stream.push(Buffer.from(events.map((event) => `data: ${event}\n\n`).join("")));
  stream.end();
  return { sent, end, ...stream.reading() };
}

const text = fc.string({ unit: "binary", maxLength: 5 });
const delta = (said: object, finish: string | null = null, index = 0) =>
  `"choices":${JSON.stringify([{ index, delta: said, finish_reason: finish }])}`;
const rest = fc.oneof(
  fc.constant(delta({ role: "assistant", content: "" })),
  text.map((content) => delta({ content })),
  text.map((content) => `${delta({ content })},"usage":null`),
  text.map((content) => delta({ content }, null, 1)),
  text.map((reasoning) => delta({ reasoning })),
  text.map((said) => delta({ tool_calls: [{ index: 0, function: { arguments: said } }] })),
  text.map((content) => delta({ content }, "stop")),
  fc.constant(delta({}, "stop")),
  fc.constant(delta({}, "length")),
  fc.constant(delta({}, "error")),
  fc.constant('"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}'),
  fc.constant(`${delta({})},"usage":{"prompt_tokens":3,"completion_tokens":2}`),
  fc.constant('"error":{"message":"broken"}'),
);
/** As vendors write them, and as JSON would not be written again. */
const created = fc.constantFrom(
  "1790000000",
  "1790000000",
  "1",
  "0",
  "01",
  "1.0",
  "1e3",
  "12345678901234567890",
  '"x"',
  "null",
);
const id = fc.oneof(
  fc.constantFrom('"chatcmpl-1"', '"a\\"b"', '"a\\qb"', "7"),
  text.map((said) => JSON.stringify(said)),
);
const event = fc
  .tuple(id, created, rest)
  .map(([a, b, c]) => `{"id":${a},"object":"chunk","created":${b},"model":"theirs",${c}}`);

test("events that earlier calls had are passed on as new ones are", () => {
  const spec = newSpec();
  let call = 0;
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), (events) => {
      call += 1;
      const fresh = passed(events, newSpec(), `chatcmpl-${call}`);
      expect(passed(events, spec, `chatcmpl-${call}`)).toEqual(fresh);
      expect(passed(events, spec, `chatcmpl-${call}`)).toEqual(fresh);
    }),
    { numRuns: runs(300, 3_000) },
  );
});

test("a call's stream has nothing of an earlier one", () => {
  const spec = newSpec();
  const of = (name: string, said: string, at: number) =>
    [delta({ role: "assistant", content: "" }), delta({ content: said }), delta({}, "stop")].map(
      (choices) => `{"id":"${name}","object":"chunk","created":${at},"model":"theirs",${choices}}`,
    );
  passed(of("first", "secret", 1790000001), spec, "chatcmpl-first");
  const { sent, end, delivered } = passed(of("second", "open", 1790000002), spec, "chatcmpl-second");
  expect(`${sent}${end}`).not.toMatch(/secret|first|1790000001/);
  expect(`${sent}${end}`.match(/"id":"chatcmpl-second"/g)).toHaveLength(3);
  expect(`${sent}${end}`.match(/"created":1790000002/g)).toHaveLength(3);
  expect(delivered).toEqual({ text: "open", bytes: 4 });
});

test("of a server that serves any model, the events of the models asked last are known, and no more", () => {
  const spec = newSpec();
  const begin = `{"id":"up-1","created":1,${delta({ role: "assistant", content: "" })}}`;
  const isParsed = (slug: string) => {
    const parse = vi.spyOn(JSON, "parse");
    passed([begin], spec, "chatcmpl-1", slug);
    const found = parse.mock.calls.some(([said]) => said === begin);
    parse.mockRestore();
    return found;
  };
  expect([isParsed("any/0"), isParsed("any/0")]).toEqual([true, false]);
  for (let at = 1; at <= 256; at++) passed([begin], spec, "chatcmpl-1", `any/${at}`);
  expect([isParsed("any/256"), isParsed("any/0")]).toEqual([false, true]);
});
