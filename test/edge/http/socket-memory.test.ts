// The sockets' memory: which gives way when there is no room for all.
import { expect, test } from "vitest";
import { socketMemories } from "../../../src/edge/http/socket-memory.ts";

function memoriesOf(bytesMax: number, shareBytes: number) {
  const open = socketMemories(bytesMax, shareBytes);
  return (accountId: string) => {
    const memory = open();
    memory.belongTo(accountId);
    return memory;
  };
}

test("an account that keeps more than its share forgets its own before anybody else's", () => {
  const open = memoriesOf(100, 20);
  const other = open("other");
  other.keep("theirs", "x".repeat(10));
  const own = Array.from({ length: 20 }, () => open("one"));
  for (const [at, memory] of own.entries()) memory.keep(`own_${at}`, "x".repeat(10));
  expect(other.take("theirs")).toBe("x".repeat(10));
  expect(own[0]?.take("own_0")).toBeNull();
  expect(own[19]?.take("own_19")).toBe("x".repeat(10));
});

test("where no account has more than its share the oldest goes", () => {
  const open = memoriesOf(20, 20);
  const [first, second, third] = [open("a"), open("b"), open("c")];
  for (const memory of [first, second, third]) memory.keep("one", "x".repeat(10));
  expect([first.bytes, second.bytes, third.bytes]).toEqual([0, 10, 10]);
});

test("what a closed socket has kept makes room", () => {
  const open = memoriesOf(20, 20);
  const [first, second, third] = [open("a"), open("b"), open("c")];
  first.keep("one", "x".repeat(10));
  second.keep("one", "x".repeat(10));
  second.close();
  third.keep("one", "x".repeat(10));
  expect([first.bytes, second.bytes, third.bytes]).toEqual([10, 0, 10]);
});
