// A payer's used space under concurrent operations.
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FileRow, type FileRows, fileRows } from "../../../src/actions/files/file-rows.ts";
import { createQuota, type Quota } from "../../../src/actions/files/quota.ts";
import { openTestFiles, type TestFiles } from "./open-test-files.ts";

const PAYER = "acct:a";
let testFiles: TestFiles;
let rows: FileRows;
let quota: Quota;

beforeEach(async () => {
  testFiles = await openTestFiles();
  rows = fileRows(testFiles.records, testFiles.clock);
  quota = createQuota(testFiles.records, rows, 100);
});
afterEach(() => testFiles.close());

async function row(id: string, sizeBytes: number): Promise<FileRow> {
  const facts = {
    filename: id,
    mime: null,
    tags: [],
    note: null,
    source: "upload",
    state: "new",
    lapsesAtMs: 0,
  } as const;
  const made = await rows.put({ ...facts, id, payer: PAYER, sizeBytes, version: 0, createdAtMs: 0 });
  if (made === null) throw new Error("it was there");
  return made;
}

/** Reserves space for a new file; returns its row, or how much is free. */
async function take(id: string, sizeBytes: number): Promise<FileRow | number> {
  const made = await row(id, sizeBytes);
  const refused = await quota.take(made);
  if (refused === null) {
    const pending = await rows.put({ ...made, state: "pending" });
    if (pending === null) throw new Error("somebody else changed it");
    return pending;
  }
  await rows.remove(made);
  return refused.freeBytes;
}

test("says how much is free where a file does not fit", async () => {
  await take("a", 70);
  expect(await take("b", 31)).toBe(30);
  expect(await take("c", 30)).toMatchObject({ id: "c" });
  expect(await take("d", 1)).toBe(0);
});

test("room that a recount has seen free already is not given back twice", async () => {
  const a = (await take("a", 50)) as FileRow;
  await take("b", 50);
  const state = await quota.state(PAYER);
  await rows.remove(a);
  // Another upload is refused between the end of the file and the release of its space.
  expect(await take("c", 60)).toBe(50);
  await quota.free(PAYER, 50, state);
  expect(await take("d", 100)).toBe(50);
  expect(await take("e", 50)).toMatchObject({ id: "e" });
});

test("a recount leaves out who has not taken room yet, and counts who has and has not said so", async () => {
  const early = await row("early", 60);
  expect(await take("a", 50)).toMatchObject({ id: "a" });
  expect(await take("b", 60)).toBe(50);
  // An upload refused by the full quota reports the space that is really free.
  expect(await quota.take(early)).toEqual({ freeBytes: 50 });
  await rows.remove(early);
  const taken = await row("taken", 40);
  expect(await quota.take(taken)).toBeNull();
  expect(await take("c", 20)).toBe(10);
});

test("of many who ask at once, as many are let in as there is room for", async () => {
  const asked = await Promise.all(Array.from({ length: 40 }, (_, at) => take(`f${at}`, 5)));
  expect(asked.filter((answer) => typeof answer !== "number")).toHaveLength(20);
});

test("never more is taken than there is, whoever comes and goes", async () => {
  const held = new Map<string, FileRow>();
  let most = 0;
  const bytes = () => [...held.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  async function give(made: FileRow): Promise<void> {
    const state = await quota.state(PAYER);
    held.delete(made.id);
    await rows.remove(made);
    await quota.free(PAYER, made.sizeBytes, state);
  }
  await Promise.all(
    Array.from({ length: 8 }, async (_, who) => {
      let last: FileRow | null = null;
      for (let round = 0; round < 12; round++) {
        const id = `${who}-${round}`;
        const made = await take(id, 10 + ((who * 7 + round * 13) % 30));
        if (last !== null) await give(last);
        last = typeof made === "number" ? null : made;
        if (last !== null) held.set(id, last);
        most = Math.max(most, bytes());
      }
      if (last !== null) await give(last);
    }),
  );
  expect(most).toBeGreaterThan(50);
  expect(most).toBeLessThanOrEqual(100);
  expect(await take("all", 100)).toMatchObject({ id: "all" });
});

test("a payer's quota is full only while its files fill it", async () => {
  const file = (await take("file_a", 100)) as FileRow;
  expect(await quota.isFull(PAYER)).toBe(true);
  // A process died before it returned the space.
  await rows.remove(file);
  expect(await quota.isFull(PAYER)).toBe(false);
});
