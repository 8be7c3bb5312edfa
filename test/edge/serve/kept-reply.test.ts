// A reply buffered in memory for an in-process call: it counts towards its owner's memory, and gives way where there is no room.
import { expect, it } from "vitest";
import { KeptReply } from "../../../src/edge/serve/kept-reply.ts";
import { AnswerBytes } from "../../../src/platform/limits/answer-bytes.ts";

const MIB = 1_048_576;
const answersOf = (mib: number) => new AnswerBytes({ bytesMax: mib * MIB, ownerBytesMax: mib * MIB });

it("counts what is written until it has ended", async () => {
  const answers = answersOf(8);
  const reply = new KeptReply(answers);
  reply.belongTo("acct_a");
  reply.begin(200);
  reply.write(Buffer.alloc(MIB));
  expect(answers.bytes).toBeGreaterThanOrEqual(MIB);
  reply.end("x");
  expect(answers.bytes).toBe(0);
  expect((await reply.answer).bytes.length).toBe(MIB + 1);
});

it("breaks off where its owner's answers have no room left", async () => {
  const reply = new KeptReply(answersOf(2));
  reply.belongTo("acct_a");
  reply.begin(200);
  for (let at = 0; at < 4; at++) reply.write(Buffer.alloc(MIB));
  expect(await reply.answer).toMatchObject({ status: 0 });
});
