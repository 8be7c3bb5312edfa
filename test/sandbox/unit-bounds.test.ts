// Odd inputs of stand-ins: their answers and what they keep stay small, and their counts stay numbers.
import { expect, it } from "vitest";
import type { Answer } from "../../src/sandbox/answer.ts";
import { conversationOf } from "../../src/sandbox/ask.ts";
import type { Dialect } from "../../src/sandbox/dialect.ts";
import { audioTranscription } from "../../src/sandbox/dialects/audio.ts";
import { embeddings } from "../../src/sandbox/dialects/embeddings.ts";
import { cohereRerank } from "../../src/sandbox/dialects/rerank.ts";
import { inputAsk } from "../../src/sandbox/dialects/unit-reading.ts";
import { HEALTHY } from "../../src/sandbox/faults.ts";

const ANSWER: Answer = {
  id: "1",
  choices: [],
  usage: { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, thinkingTokens: 0 },
};

function answered(dialect: Dialect, path: string, json: unknown): unknown {
  const read = dialect.read(json, { url: new URL(path, "http://sandbox"), headers: {} });
  if ("kind" in read) throw new Error(JSON.stringify(read));
  return read.whole(ANSWER, HEALTHY);
}

it.each([0, 1])("a sound that claims %s bytes a second is not heard to its end", (rate) => {
  const wav = Buffer.alloc(64);
  wav.write("RIFF");
  wav.writeUInt32LE(rate, 28);
  const file = [{ name: "a.wav", type: "audio/wav", bytes: 1_000_000, head: wav.toString("latin1") }];
  const { text } = answered(audioTranscription, "/v1/audio/transcriptions", { file, model: "whisper-1" }) as {
    text: string;
  };
  expect(text.length).toBeLessThan(200_000);
});

it("a query as long as a chunk leaves room for a document", () => {
  const query = "word ".repeat(500);
  const answer = answered(cohereRerank, "/v2/rerank", { model: "m", query, documents: ["one", "two words"] });
  expect(answer).toMatchObject({ meta: { billed_units: { search_units: 1 } } });
});

it.each([
  [2_048, 4_096, true],
  [2_048, 1_536, false],
  [1, 4_096, false],
])("%s inputs of %s dimensions are refused: %s", (count, dimensions, isRefused) => {
  const json = { model: "m", input: Array<string>(count).fill("word"), dimensions };
  const read = embeddings.read(json, { url: new URL("/v1/embeddings", "http://sandbox"), headers: {} });
  expect("kind" in read ? read.param : null).toBe(isRefused ? "dimensions" : null);
});

it("a long id or model leaves a short key for faults that apply once", () => {
  const long = "x".repeat(1_000_000);
  const asks = [inputAsk(long, []), inputAsk("m", [])].map((ask) => {
    return { ...ask, turns: [{ role: "user" as const, text: `[[id: ${long}]]`, parts: 0 }] };
  });
  for (const ask of asks) expect(String(conversationOf(ask)).length).toBeLessThan(100);
});
