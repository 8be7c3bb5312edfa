// Answers of a provider's batch, on their way to the line that they belong to.
import { expect, it } from "vitest";
import type { BatchRun } from "../../../src/actions/batches/batch-kind.ts";
import type { NativeProgress } from "../../../src/actions/batches/batch-record.ts";
import { NativeAnswers, Places } from "../../../src/actions/batches/native-answers.ts";
import { BATCH_FORMATS } from "../../../src/upstream/batch-formats.ts";
import { keptAnswer } from "../../../src/upstream/kept-answer.ts";

/** The bytes of an answer as a candidate reads them. */
function dispatched(answer: Parameters<typeof keptAnswer>[0]): Promise<string> {
  return new Promise((resolve) => {
    const handler = { onResponseData: (_: unknown, bytes: Buffer) => resolve(bytes.toString()) };
    keptAnswer(answer).dispatch({ path: "/", method: "POST" }, handler as never);
  });
}

it("the arguments of a tool call keep their digits and the order of their keys", async () => {
  const use = '{"type":"tool_use","id":"toolu_1","name":"find","input":{"id":9223372036854775807,"b":1.0,"2":1}}';
  const message = `{"content":[${use}],"usage":{"input_tokens":1}}`;
  const line = Buffer.from(`{"custom_id":"a-0-0-0","result":{"type":"succeeded","message":${message}}}`);
  const files = { read: async () => [line] };
  const run = { job: { id: "job_a", stored: (work: () => unknown) => work() }, deps: { files } } as unknown as BatchRun;
  const answers = { segments: [{ id: "s", bytes: line.length }], places: { id: "p", bytes: 16 } };
  const native = { vendor: "v", percent: 50, models: ["m"], answers } as unknown as NativeProgress;
  const places = new Places(1);
  places.add(0, 0, line.length);
  const answer = await new NativeAnswers(run, native, BATCH_FORMATS.messages, places).of(0);
  expect(await dispatched(answer)).toBe(message);
});
