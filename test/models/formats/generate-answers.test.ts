// The generate-content encoder alone: from neutral events to parts.
import { expect, it } from "vitest";
import { thought } from "../../../src/core/neutral.ts";
import { generateAnswers } from "../../../src/models/formats/generate-content/answers.ts";
import { streamForm } from "../../../src/models/formats/generate-content/stream-form.ts";

const HEAD = { id: "g", model: "maker/model", createdS: 1 };
const call = { kind: "tool-call", id: "c1", name: "now", arguments: "{}" } as const;
const signed = thought({ sealed: "secret", callId: "c1" });
const part = {
  functionCall: { id: "c1", name: "now", args: {} },
  thoughtSignature: Buffer.from("secret").toString("base64"),
};

it.each([true, false])("a call keeps its signature in a stream; the signature comes first: %s", (isFirst) => {
  const form = streamForm(new URLSearchParams("alt=sse"));
  const encoder = generateAnswers(HEAD, { showsThoughts: true, choices: 2, form }).encoder();
  const told = [
    { ...call, choice: 0, at: 0 },
    { kind: "thought", choice: 0, at: 0, thought: signed },
  ] as const;
  for (const event of isFirst ? told.toReversed() : told) encoder.encode(event);
  const last = encoder.encode({ kind: "finish", choice: 0, reason: "tool_calls", native: "STOP" }).toString();
  expect(JSON.parse(last.slice(6))).toMatchObject({ candidates: [{ content: { parts: [part] } }] });
});

it.each([true, false])("a call keeps its signature in a whole answer; the signature comes first: %s", (isFirst) => {
  const codec = generateAnswers(HEAD, { showsThoughts: true, choices: 1, form: null });
  const blocks = isFirst ? [signed, call] : [call, signed];
  const choices = [{ index: 0, blocks, reason: "tool_calls", native: "STOP" } as const];
  expect(codec.whole({ choices, usage: null })).toMatchObject({ candidates: [{ content: { parts: [part] } }] });
});
