// Streams of older completions, as the caller gets them.
import { expect, it } from "vitest";
import { HeldStream } from "../../src/upstream/held-stream.ts";
import { completions } from "../../src/upstream/unit-dialects/completions.ts";
import { unitLane } from "../../src/upstream/unit-lane.ts";

it("an event with several choices loses none of them, nor their text", () => {
  const sent: string[] = [];
  const held = new HeldStream({
    content: (bytes) => void sent.push(Buffer.from(bytes).toString()),
    done: (final) => void sent.push(final.kind === "stream" ? Buffer.from(final.tail).toString() : ""),
    failed() {},
  });
  const context = { upstreamModel: "m", servedSlug: "maker/m", completionId: "cmpl-1", createdS: 1, spec: {} };
  const asked = { task: "", body: {}, files: [], stream: true };
  const reader = unitLane(completions, asked, context as never).reader(held);
  const choices = (finish_reason: string | null) =>
    ["a", "b"].map((text, index) => ({ index, text: finish_reason === null ? text : "", finish_reason }));
  for (const event of [{ choices: choices(null) }, { choices: choices("stop") }]) {
    const bytes = Buffer.from(JSON.stringify(event));
    reader.event(bytes, 0, bytes.length, null);
  }
  held.end();
  const got = sent.join("").split("\n\n").filter(Boolean);
  const told = got.map((event) => (JSON.parse(event.slice(6)) as { choices: object[] }).choices[0]);
  expect(told).toMatchObject([
    { index: 0, text: "a", finish_reason: null },
    { index: 1, text: "b", finish_reason: null },
    { index: 0, finish_reason: "stop" },
    { index: 1, finish_reason: "stop" },
  ]);
  expect(held.reading().delivered.text).toBe("ab");
});

it("a field that every object knows goes to the vendor under its own name", () => {
  const context = {
    upstreamModel: "m",
    servedSlug: "m",
    completionId: "c",
    createdS: 1,
    spec: { renamed: { a: "b" } },
  };
  const asked = { task: "", body: { a: 1, constructor: 2 }, files: [], stream: false };
  const { body } = unitLane(completions, asked, context as never).request();
  expect(body).toMatchObject({ b: 1, constructor: 2 });
});
