// Translates OpenAI chat requests to the responses wire without loss of meaning, and its answers back to OpenAI's chat wire.
import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import { responsesPassing } from "../../../src/models/formats/responses/vendor-passing.ts";
import { HeldStream } from "../../../src/upstream/held-stream.ts";
import { asked, chatContext, feed, RecordedStream } from "../../support/dialect-replay.ts";

const STREAMED = chatContext({ stream: true });

describe("the request", () => {
  it("carries sealed thoughts back to their own vendor, before the calls they led to", () => {
    const call = { id: `call_${"x".repeat(80)}`, type: "function", function: { name: "get_weather", arguments: "" } };
    const seals = [
      { type: "reasoning.encrypted", data: "rs_1:gAA:A==", format: "responses" },
      { type: "reasoning.encrypted", data: "of another", format: "messages" },
      { type: "reasoning.encrypted", data: "no id", format: "responses" },
    ];
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: [call], reasoning_details: seals },
      { role: "tool", tool_call_id: call.id, content: "blue" },
    ];
    const { body } = responses.request(asked({ messages }), chatContext());
    const call_id = `call_${"x".repeat(26)}_${hash("md5", call.id)}`;
    expect((body.input as unknown[]).slice(1)).toEqual([
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAA:A==" },
      { type: "function_call", call_id, name: "get_weather", arguments: "{}" },
      { type: "function_call_output", call_id, output: "blue" },
    ]);
  });
});

describe("a stream", () => {
  it("that opens calls without end is broken", () => {
    const out = new RecordedStream();
    const item = { type: "function_call", call_id: "c", name: "f", arguments: "" };
    const events = Array.from({ length: 1_100 }, (_, output_index) => ({
      name: null,
      data: JSON.stringify({ type: "response.output_item.added", output_index, item }),
    }));
    feed(responses, STREAMED, events, out);
    expect(out.failure?.kind).toBe("provider_malformed");
    expect(out.list("tool_calls").length).toBeLessThan(1_100);
  });
});

it("counts what it passes on of a stream however its vendor spaces JSON: who leaves pays for what came", () => {
  const held = new HeldStream({ content() {}, done() {}, failed() {} });
  const reader = responsesPassing.reader(STREAMED, held);
  for (const space of ["", " "]) {
    const event = Buffer.from(`{"type":${space}"response.output_text.delta","delta":${space}"two words"}`);
    reader.event(event, 0, event.length, null);
  }
  expect(held.reading().delivered.text).toBe("two wordstwo words");
});

it("passes on each thought as its own, also where the vendor gives them no ids", () => {
  const sent: string[] = [];
  const held = new HeldStream({
    content: (bytes) => sent.push(Buffer.from(bytes).toString()),
    done: (final) => sent.push(final.kind === "stream" ? Buffer.from(final.tail).toString() : ""),
    failed() {},
  });
  const reader = responsesPassing.reader(STREAMED, held);
  const thoughts = ["first", "second"].map((text) => ({
    type: "reasoning",
    summary: [{ type: "summary_text", text }],
  }));
  const message = { type: "message", content: [{ type: "output_text", text: "Hi" }] };
  const events = [
    ...thoughts.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: { status: "completed", output: [...thoughts, message] } },
  ];
  for (const one of events) {
    const bytes = Buffer.from(JSON.stringify(one));
    reader.event(bytes, 0, bytes.length, null);
  }
  const last = JSON.parse(sent.join("").split("data: ").at(-1) ?? "");
  expect(last.response.output).toEqual([...thoughts, message]);
});

it("makes one event of an event whose name has line breaks", () => {
  const sent: string[] = [];
  const held = new HeldStream({ content() {}, done() {}, failed() {} });
  held.raw = (bytes) => void sent.push(bytes.toString());
  const reader = responsesPassing.reader(STREAMED, held);
  const [type, delta] = ["response.x\n\nevent: response.y\rdata: {}\n\n.delta", "Hi"];
  const event = Buffer.from(JSON.stringify({ type, delta }));
  reader.event(event, 0, event.length, null);
  const text = sent.join("");
  expect(text.split(/\r\n|\r|\n/).map((line) => line.split(":")[0])).toEqual(["event", "data", "", ""]);
});
