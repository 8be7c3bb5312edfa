// The count of a payer's room, where two things happen at once.
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FileRow, type FileRows, fileRows } from "../../src/files/file-rows.ts";
import { createQuota, type Quota } from "../../src/files/quota.ts";
import { openDesk, type TestDesk } from "./open-desk.ts";

const PAYER = "acct:a";
let desk: TestDesk;
let rows: FileRows;
let quota: Quota;

beforeEach(async () => {
  desk = await openDesk();
  rows = fileRows(desk.records, desk.clock);
  quota = createQuota(desk.records, rows, 100);
});
afterEach(() => desk.close());

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

/** Takes room for a new file; its row, or how much is free. */
async function take(id: string, sizeBytes: number): Promise<FileRow | number> {
  const made = await row(id, sizeBytes);
  const refused = await quota.take(PAYER, sizeBytes);
  if (refused === null) return made;
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
  // Somebody is refused between the end of the file and the word that its room is free.
  expect(await take("c", 60)).toBe(50);
  await quota.free(PAYER, 50, state);
  expect(await take("d", 100)).toBe(50);
  expect(await take("e", 50)).toMatchObject({ id: "e" });
});

test("never more is taken than there is, whoever comes and goes", async () => {
  const held = new Map<string, FileRow>();
  let most = 0;
  const bytes = () => [...held.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await Promise.all(
    Array.from({ length: 8 }, async (_, who) => {
      for (let round = 0; round < 12; round++) {
        const id = `${who}-${round}`;
        const made = await take(id, 10 + ((who * 7 + round * 13) % 30));
        if (typeof made === "number") continue;
        held.set(id, made);
        most = Math.max(most, bytes());
        const state = await quota.state(PAYER);
        held.delete(id);
        await rows.remove(made);
        await quota.free(PAYER, made.sizeBytes, state);
      }
    }),
  );
  expect(most).toBeGreaterThan(50);
  expect(most).toBeLessThanOrEqual(100);
  expect(await take("all", 100)).toMatchObject({ id: "all" });
});
