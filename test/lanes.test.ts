// The lanes of the suite: a file's imports decide which lane leaves it out.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { DOORS, suiteFiles } from "./lanes.ts";
import { PROCESS_FACTS } from "./support/process-fact.ts";

const files = suiteFiles();
/** Finds a file in any folder, because files move. */
const fileAt = (name: string) => files.find(({ path }) => path.endsWith(`/${name}`));

test.each([
  ["classify.test.ts", "nothing"],
  ["leaving.test.ts", "nothing"],
  ["bad-input.test.ts", "a gateway"],
  ["simulation.test.ts", "random histories"],
  ["sqlite/model.test.ts", "random histories"],
  ["redis/ledger.test.ts", "processes"],
  ["catalog-page.test.ts", "processes"],
  ["supervisor.test.ts", "processes"],
  ["gateway-kill.test.ts", undefined],
])("%s starts %s", (path, starts) => {
  expect(fileAt(path)?.starts).toBe(starts);
});

test("npm test has what runs in process, and one file for each fact that only a process can show", () => {
  const shown = files.flatMap(({ fact }) => (fact === null ? [] : [fact]));
  expect(shown.toSorted()).toEqual(PROCESS_FACTS.toSorted());
  for (const { path, starts, lane, fact } of files)
    expect([path, lane]).toEqual([path, starts === "processes" && fact === null ? "system" : "test"]);
  // A file that names a fact but starts nothing needs no fact.
  expect(files.filter(({ fact, starts }) => fact !== null && starts !== "processes")).toEqual([]);
  expect(files.filter(({ lane }) => lane === "system").length).toBeLessThan(files.length / 5);
});

test("the quick lane has what starts nothing, and a file for each door; the second engine's runs are left to npm test", () => {
  const again = ["first", "second"].map((half) => `test/edge/http/contract/node-${half}.test.ts`);
  for (const { path, quick, weight, lane } of files) {
    if (again.includes(path)) expect([path, quick, lane]).toEqual([path, false, "test"]);
    else expect([path, quick]).toEqual([path, weight === 0 || DOORS.includes(path)]);
  }
  expect(files.filter(({ quick }) => quick).length).toBeGreaterThan(files.length / 3);
  for (const path of DOORS)
    expect([path, existsSync(path), files.find((file) => file.path === path)?.starts]).toEqual([
      path,
      true,
      "a gateway",
    ]);
});

test("a file that reads what belongs to the whole process has one of its own", () => {
  expect(fileAt("leaving.test.ts")?.ownProcess).toBe(true);
  expect(fileAt("http-reply.test.ts")?.ownProcess).toBe(true);
  expect(fileAt("client.test.ts")?.ownProcess).toBe(false);
});
