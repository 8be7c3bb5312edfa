// Odd inputs of stand-ins for models sold by units: their answers stay small, and their counts stay numbers.
import { expect, it } from "vitest";
import type { Answer } from "../../src/sandbox/answer.ts";
import type { Dialect } from "../../src/sandbox/dialect.ts";
import { audioTranscription } from "../../src/sandbox/dialects/audio.ts";
import { cohereRerank } from "../../src/sandbox/dialects/rerank.ts";
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
