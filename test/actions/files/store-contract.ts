// The contract of every file store. A store's test calls `fileStoreContract` with a function that opens one.
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileStore } from "../../../src/actions/files/file-store.ts";

export interface TestStore {
  readonly store: FileStore;
  /** Names of everything in the store, complete or partial. */
  kept(): string[];
  /** Reopens it on its data, as the next start does. */
  reopen(): Promise<FileStore>;
  dispose(): Promise<void>;
}

export function fileId(): string {
  return `file_${randomBytes(16).toString("hex")}`;
}

export async function* parts(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

export async function whole(bytes: AsyncIterable<Uint8Array> | null): Promise<string | null> {
  if (bytes === null) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("the first half");
  throw new Error("the sender left");
}

export function fileStoreContract(name: string, open: () => Promise<TestStore>): void {
  describe(`${name}: the contract of stores of files`, () => {
    let held: TestStore;
    beforeAll(async () => {
      held = await open();
    });
    afterAll(() => held.dispose());

    test.each([11, null])("what was written is read back (announced as %s bytes)", async (sizeBytes) => {
      const id = fileId();
      expect(await held.store.write(id, parts("hello", " ", "world"), sizeBytes)).toBe(11);
      expect(await held.store.sizeOf(id)).toBe(11);
      expect(await whole(await held.store.read(id, null))).toBe("hello world");
    });

    test("of ten megabytes in many parts, every byte comes back", async () => {
      const id = fileId();
      const chunks = Array.from({ length: 160 }, () => randomBytes(65_536));
      await held.store.write(id, parts(...chunks), 160 * 65_536);
      const hash = createHash("sha256");
      for await (const part of (await held.store.read(id, null)) ?? parts()) hash.update(part);
      expect(hash.digest("hex")).toBe(createHash("sha256").update(Buffer.concat(chunks)).digest("hex"));
    });

    test("a range is a part of it, both ends counted in", async () => {
      const id = fileId();
      await held.store.write(id, parts("0123456789"), 10);
      expect(await whole(await held.store.read(id, { from: 2, to: 4 }))).toBe("234");
      expect(await whole(await held.store.read(id, { from: 9, to: 9 }))).toBe("9");
    });

    test("bytes that break off leave nothing, and reject with what broke them", async () => {
      const before = held.kept();
      for (const sizeBytes of [100, null]) {
        const id = fileId();
        await expect(held.store.write(id, breaking(), sizeBytes)).rejects.toThrow("the sender left");
        expect(await held.store.sizeOf(id)).toBeNull();
        expect(await held.store.read(id, null)).toBeNull();
      }
      expect(held.kept()).toEqual(before);
    });

    test("an id that nothing was written under has nothing", async () => {
      const id = fileId();
      expect(await held.store.sizeOf(id)).toBeNull();
      expect(await held.store.read(id, null)).toBeNull();
    });

    test("what was deleted is gone, and deleting it again is no error", async () => {
      const id = fileId();
      await held.store.write(id, parts("x"), 1);
      await held.store.delete(id);
      expect(await held.store.sizeOf(id)).toBeNull();
      await held.store.delete(id);
    });

    test("a second write takes the place of the first", async () => {
      const id = fileId();
      await held.store.write(id, parts("first"), 5);
      await held.store.write(id, parts("2nd"), 3);
      expect(await whole(await held.store.read(id, null))).toBe("2nd");
    });

    test("all of it is there after the next start", async () => {
      const id = fileId();
      await held.store.write(id, parts("lasting"), 7);
      const reopened = await held.reopen();
      expect(await whole(await reopened.read(id, null))).toBe("lasting");
    });
  });
}
