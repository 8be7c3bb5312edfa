// The queue for a server with limited concurrency: a caller that waits too long gets a refusal, and takes no place from those behind it.
import { expect, it } from "vitest";
import { atOnce } from "../../../src/edge/x402/concurrency-limit.ts";

it("what has waited for too long is refused, and the next has its turn", async () => {
  const inTurn = atOnce(1, 10);
  const slow = Promise.withResolvers<string>();
  const first = inTurn(() => slow.promise);
  await expect(inTurn(async () => "late")).rejects.toThrow("its turn has not come");
  const third = inTurn(async () => "third");
  slow.resolve("first");
  expect(await Promise.all([first, third])).toEqual(["first", "third"]);
  expect(await inTurn(async () => "fourth")).toBe("fourth");
});
