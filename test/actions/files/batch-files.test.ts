// Files of batches: their separate quota, which outputs may exceed; their expiry; and segments left by a crash.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type BatchFiles, createBatchFiles, type Purpose } from "../../../src/actions/files/batch-files.ts";
import { openTestFiles, type TestFiles } from "./open-test-files.ts";

const PAYER = "acct:a";
const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

let opened: TestFiles;
let files: BatchFiles;

beforeEach(async () => {
  opened = await openTestFiles();
  files = createBatchFiles(opened);
});
afterEach(() => opened.close());

async function* text(words = "one\n"): AsyncGenerator<Uint8Array> {
  yield Buffer.from(words);
}

function keep(purpose: Purpose, expiresAtMs: number | null = null) {
  const file = { filename: "in.jsonl", purpose, sizeBytes: 4, expiresAtMs };
  return files.keep(PAYER, file, text());
}

describe("the files of batches", () => {
  it("belong to their account, and are none of its other files", async () => {
    const { id } = await keep("batch");
    expect(await files.find(PAYER, id)).toMatchObject({ id, sizeBytes: 4 });
    expect(await files.find("acct:b", id)).toBeNull();
    await expect(opened.files.get(PAYER, id)).rejects.toMatchObject({ code: "not_found" });
  });

  it("are deleted when their life ends", async () => {
    const { id } = await keep("batch_output", opened.clock.epochMs() + 2 * HOUR_MS);
    const stays = await keep("batch");
    opened.clock.advance(HOUR_MS + 1_000);
    await opened.files.sweep();
    expect(await files.find(PAYER, id)).toMatchObject({ id });
    opened.clock.advance(HOUR_MS);
    await opened.files.sweep();
    expect(await files.find(PAYER, id)).toBeNull();
    expect(opened.onDisk()).toEqual([stays.id]);
  });

  it("outlive their end where a batch reads them", async () => {
    const row = await keep("batch", opened.clock.epochMs() + HOUR_MS);
    expect(await files.keepUntil(row, opened.clock.epochMs() + 48 * HOUR_MS)).toBe(true);
    // The same row, as another request read it before.
    expect(await files.keepUntil(row, opened.clock.epochMs() + 47 * HOUR_MS)).toBe(true);
    opened.clock.advance(47 * HOUR_MS);
    await opened.files.sweep();
    expect(await files.find(PAYER, row.id)).toMatchObject({ id: row.id });
  });

  it("are refused beyond a gigabyte, except for what a batch has paid for", async () => {
    const large = { filename: "in.jsonl", purpose: "batch", sizeBytes: 200 * MIB, expiresAtMs: null } as const;
    const { promise: full, resolve } = Promise.withResolvers<void>();
    // An upload that is still arriving keeps its room.
    const arriving = async function* (): AsyncGenerator<Uint8Array> {
      await full;
      yield* text();
    };
    const uploads = Array.from({ length: 5 }, () => files.keep(PAYER, large, arriving()));
    const refusal = () => files.keep(PAYER, large, text()).catch((error: unknown) => error);
    await expect.poll(refusal).toMatchObject({ code: "storage_quota_exceeded" });
    expect(await keep("batch_output")).toMatchObject({ state: "stored" });
    await expect(files.keep(PAYER, { ...large, sizeBytes: 201 * MIB }, text())).rejects.toMatchObject({
      code: "body_too_large",
    });
    resolve();
    // They are refused in the end: fewer bytes came than were announced.
    await Promise.allSettled(uploads);
  });

  it("leave no segment behind for longer than a week", async () => {
    const segments = [await files.putSegment(text()), await files.putSegment(text("two\n"))];
    const parts: Uint8Array[] = [];
    for await (const part of files.readAll(segments)) parts.push(part);
    expect(Buffer.concat(parts).toString()).toBe("one\ntwo\n");
    await files.dropSegment(segments[0]?.id ?? "");
    opened.clock.advance(8 * 24 * HOUR_MS);
    await opened.files.sweep();
    expect(opened.onDisk()).toEqual([]);
  });
});
