// The lanes of the suite: what each one leaves out follows from what the files import.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { DOORS, suiteFiles } from "./lanes.ts";

const files = suiteFiles();
const fileAt = (path: string) => files.find((file) => file.path === path);

test.each([
  ["test/upstream/classify.test.ts", "nothing"],
  ["test/pipeline/leaving.test.ts", "nothing"],
  ["test/chat/bad-input.test.ts", "a gateway"],
  ["test/simulation/simulation.test.ts", "random histories"],
  ["test/ledger/model.test.ts", "random histories"],
  ["test/ledger/redis-ledger.test.ts", "processes"],
  ["test/web/catalog-page.test.ts", "processes"],
  ["test/faults/redis.test.ts", undefined],
])("%s starts %s", (path, starts) => {
  expect(fileAt(path)?.starts).toBe(starts);
});

test("the quick lane has what starts nothing, and a file for each door", () => {
  for (const file of files)
    expect([file.path, file.quick]).toEqual([file.path, file.weight === 0 || DOORS.includes(file.path)]);
  expect(files.filter(({ quick }) => quick).length).toBeGreaterThan(files.length / 3);
  for (const path of DOORS) expect([path, existsSync(path), fileAt(path)?.starts]).toEqual([path, true, "a gateway"]);
});

test("a file that reads what belongs to the whole process has one of its own", () => {
  expect(fileAt("test/pipeline/leaving.test.ts")?.ownProcess).toBe(true);
  expect(fileAt("test/http/uws-reply.test.ts")?.ownProcess).toBe(true);
  expect(fileAt("test/chat/client.test.ts")?.ownProcess).toBe(false);
});
