import { expect, test } from "vitest";
import { AnswerBytes, type WaitingAnswer } from "../../../src/platform/limits/answer-bytes.ts";

const MIB = 1_048_576;
const mib = (count = 1) => Buffer.alloc(count * MIB);

/** Answers under a budget, and the names of those that had to give up. */
function answersOf(bounds: { bytesMax: number; ownerBytesMax: number }) {
  const answers = new AnswerBytes(bounds);
  const gaveUp: string[] = [];
  const waiting = (name: string, owner: string): WaitingAnswer => ({ owner, giveUp: () => void gaveUp.push(name) });
  return { answers, gaveUp, waiting };
}

test("a piece that several answers of one owner keep counts once, until the last of them has left", () => {
  const { answers, waiting } = answersOf({ bytesMax: 10 * MIB, ownerBytesMax: 10 * MIB });
  const [first, second, other] = [waiting("first", "a"), waiting("second", "a"), waiting("other", "b")];
  const piece = mib();
  answers.take(first, piece);
  answers.take(second, piece.subarray(100));
  expect(answers.bytes).toBe(MIB);
  answers.take(other, piece);
  expect(answers.bytes).toBe(2 * MIB);
  answers.close(first);
  expect(answers.bytes).toBe(2 * MIB);
  answers.give(second, piece);
  answers.close(other);
  expect(answers.bytes).toBe(0);
});

test("what is given or closed twice, or was never taken, changes nothing", () => {
  const { answers, waiting } = answersOf({ bytesMax: 10 * MIB, ownerBytesMax: 10 * MIB });
  const [one, other] = [waiting("one", "a"), waiting("other", "a")];
  answers.take(one, mib());
  answers.give(other, mib());
  answers.close(other);
  expect(answers.bytes).toBe(MIB);
  answers.close(one);
  answers.close(one);
  expect(answers.bytes).toBe(0);
});

test("an owner whose answers have no room for another is told 503 with a time, and nobody else is", () => {
  const { answers, waiting } = answersOf({ bytesMax: 100 * MIB, ownerBytesMax: 4 * MIB });
  answers.take(waiting("one", "a"), mib(4));
  const refusal = answers.refusal("a");
  expect([refusal?.code, refusal?.status]).toEqual(["answers_in_flight", 503]);
  expect(refusal?.options.retryAfterSeconds).toBeGreaterThan(0);
  expect(answers.refusal("b")).toBeNull();
});

test("where all is full, whoever keeps something is told so, and room is made for whoever keeps nothing", () => {
  const { answers, gaveUp, waiting } = answersOf({ bytesMax: 4 * MIB, ownerBytesMax: 3 * MIB });
  answers.take(waiting("a1", "a"), mib(2));
  answers.take(waiting("b1", "b"), mib(2));
  expect(answers.refusal("b")?.message).toMatch(/^All callers'/);
  expect(answers.refusal("c")).toBeNull();
  answers.take(waiting("c1", "c"), mib());
  expect(gaveUp).toEqual(["a1"]);
  expect(answers.bytes).toBe(3 * MIB);
});

test("the answer gives up of which nothing was read for longest, of its own owner first", () => {
  const { answers, gaveUp, waiting } = answersOf({ bytesMax: 100 * MIB, ownerBytesMax: 3 * MIB });
  const [still, read, other] = [waiting("still", "a"), waiting("read", "a"), waiting("other", "b")];
  answers.take(other, mib());
  const [first, second] = [mib(), mib()];
  answers.take(read, first);
  answers.take(read, second);
  answers.take(still, mib());
  answers.give(read, first);
  answers.take(waiting("new", "a"), mib(2));
  expect(gaveUp).toEqual(["still"]);
  expect(answers.bytes).toBe(4 * MIB);
});

test("an answer that is larger than all there is gives up itself", () => {
  const { answers, gaveUp, waiting } = answersOf({ bytesMax: 10 * MIB, ownerBytesMax: 2 * MIB });
  answers.take(waiting("huge", "a"), mib(3));
  expect(gaveUp).toEqual(["huge"]);
  expect(answers.bytes).toBe(0);
});
