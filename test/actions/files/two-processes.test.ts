// One upload sent concurrently through two processes over the same records and bytes: acknowledged content stays.
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Files } from "../../../src/actions/files/files.ts";
import { refusalIn } from "../../../src/core/errors.ts";
import { openTestFiles, type TestFiles } from "./open-test-files.ts";
import { whole } from "./store-contract.ts";

let testFiles: TestFiles;
let processes: readonly [Files, Files];
beforeEach(async () => {
  testFiles = await openTestFiles();
  processes = [testFiles.files, await testFiles.restart()];
});
afterEach(() => testFiles.close());

async function announced(): Promise<string> {
  const newFile = { filename: "a", mime: null, tags: [], note: null, source: "upload", sizeBytes: 3 };
  return (await testFiles.files.announce("acct:a", newFile)).file_id;
}

async function* bytes(text: string, before?: Promise<unknown>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text.slice(0, 1));
  await before;
  yield Buffer.from(text.slice(1));
}

function codeOf(receiving: Promise<unknown>): Promise<string> {
  return receiving.then(
    () => "stored",
    (error: unknown) => refusalIn(error).code,
  );
}

test("one of two that end together is stored, the other is told so, and the bytes are there", async () => {
  for (let round = 0; round < 10; round++) {
    const id = await announced();
    const answers = await Promise.all(processes.map((files) => codeOf(files.receive(id, bytes("abc"), 3))));
    expect(answers.sort()).toEqual(["conflict", "stored"]);
    expect(await whole(await testFiles.files.read(id, null))).toBe("abc");
  }
});

test("one that ends later changes nothing of what is there", async () => {
  const id = await announced();
  const first = Promise.withResolvers<void>();
  const late = codeOf(processes[1].receive(id, bytes("xyz", first.promise), 3));
  expect(await codeOf(processes[0].receive(id, bytes("abc"), 3))).toBe("stored");
  first.resolve();
  expect(await late).toBe("conflict");
  expect(await whole(await testFiles.files.read(id, null))).toBe("abc");
});

test("one that ends after the file was deleted leaves no bytes", async () => {
  const id = await announced();
  const deleted = Promise.withResolvers<void>();
  const late = codeOf(processes[1].receive(id, bytes("xyz", deleted.promise), 3));
  await processes[0].delete("acct:a", id);
  deleted.resolve();
  expect(await late).toBe("not_found");
  expect(testFiles.onDisk()).toEqual([]);
});
