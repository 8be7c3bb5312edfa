// Reserved space that is never used is released: expired uploads, dead processes, failing stores.
import { afterEach, describe, expect, test } from "vitest";
import { openDiskStore } from "../../../src/actions/files/disk-store.ts";
import type { FileStore } from "../../../src/actions/files/file-store.ts";
import type { Files } from "../../../src/actions/files/files.ts";
import { openS3Store } from "../../../src/actions/files/s3-store.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { GatewayError, refusalIn } from "../../../src/core/errors.ts";
import { openTestFiles, type TestFiles } from "./open-test-files.ts";
import { BUCKET, KEYS, startS3, type TestS3 } from "./s3.ts";
import { parts, whole } from "./store-contract.ts";

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const PAYER = "acct:a";
const OTHER = "acct:b";

let testFiles: TestFiles;
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function opened(openStore?: (folder: string) => Promise<FileStore>): Promise<TestFiles> {
  testFiles = await openTestFiles(openStore);
  cleanups.push(testFiles.close);
  return testFiles;
}

const newFile = (sizeBytes: number) => ({
  ...{ filename: "a", mime: null, tags: [], note: null, source: "upload", sizeBytes },
});

const announce = (files: Files, sizeBytes: number, payer = PAYER) => files.announce(payer, newFile(sizeBytes));

/** How many uploads of 100 MiB fit; they are abandoned again. */
async function room(files: Files, payer = PAYER): Promise<number> {
  const ids: string[] = [];
  for (;;) {
    const made = await announce(files, 100 * MIB, payer).catch(refusalIn);
    if (made instanceof GatewayError) break;
    ids.push(made.file_id);
  }
  for (const id of ids) await files.delete(payer, id);
  return ids.length;
}

describe("a list of uploads that are awaited", () => {
  test("asks a store that takes money for it at most 600 times a minute", async () => {
    let looks = 0;
    const { files, clock } = await opened(async (folder) => {
      const store = await openDiskStore(folder);
      const links = { put: async () => "put", get: async () => "get", lateMsMax: 0 };
      const sizeOf = async (id: string) => {
        looks += 1;
        return store.sizeOf(id);
      };
      return { ...store, links, sizeOf };
    });
    for (let file = 0; file < 3; file++) await announce(files, 4);
    const list = () => files.list(PAYER, { tags: [], query: "" }, 100, null);
    for (let call = 0; call < 250; call++) await list();
    expect(looks).toBe(600);
    clock.advance(60_000);
    await list();
    expect(looks).toBe(603);
  });
});

describe("an upload that never comes", () => {
  test("keeps its room for an hour, and then is forgotten", async () => {
    const { files, clock } = await opened();
    const { file_id } = await announce(files, 100 * MIB);
    clock.advance(HOUR_MS - 1);
    expect(await files.sweep()).toBe(0);
    expect(await room(files)).toBe(19);
    clock.advance(1);
    expect(await files.sweep()).toBe(1);
    expect(await room(files)).toBe(20);
    await expect(files.get(PAYER, file_id)).rejects.toMatchObject({ code: "not_found" });
    await expect(files.receive(file_id, parts("x"), null)).rejects.toMatchObject({ code: "not_found" });
    expect(testFiles.broken).toEqual([]);
  });

  test("lapses also when the process that announced it died", async () => {
    const { files, clock } = await opened();
    await announce(files, 100 * MIB);
    const next = await testFiles.restart();
    clock.advance(HOUR_MS);
    expect(await next.sweep()).toBe(1);
    expect(await room(next)).toBe(20);
  });

  test("is not forgotten while it comes, however long that takes", async () => {
    const { files, clock } = await opened();
    const { file_id } = await announce(files, 4);
    const going = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    async function* slowly(): AsyncGenerator<Uint8Array> {
      begun.resolve();
      await going.promise;
      yield Buffer.from("slow");
    }
    const receiving = files.receive(file_id, slowly(), 4);
    await begun.promise;
    clock.advance(2 * HOUR_MS);
    expect(await files.sweep()).toBe(0);
    going.resolve();
    expect(await receiving).toMatchObject({ state: "stored" });
    expect(await files.sweep()).toBe(0);
    expect(await files.get(PAYER, file_id)).toMatchObject({ status: "stored" });
  });

  test("is forgotten if it breaks off after its hour", async () => {
    const { files, clock } = await opened();
    const { file_id } = await announce(files, 100 * MIB);
    const leaves = Promise.withResolvers<never>();
    const begun = Promise.withResolvers<void>();
    async function* broken(): AsyncGenerator<Uint8Array> {
      begun.resolve();
      yield await leaves.promise;
    }
    const receiving = files.receive(file_id, broken(), null);
    await begun.promise;
    clock.advance(2 * HOUR_MS);
    expect(await files.sweep()).toBe(0);
    leaves.reject(new GatewayError("bad_request", { detail: { detail: "The body broke off." } }));
    await expect(receiving).rejects.toMatchObject({ code: "bad_request" });
    expect(await files.sweep()).toBe(1);
    expect(await room(files)).toBe(20);
  });

  test("does not take what has come with it", async () => {
    const { files, clock } = await opened();
    const { file_id } = await announce(files, 4);
    await files.receive(file_id, parts("kept"), 4);
    clock.advance(24 * HOUR_MS);
    expect(await files.sweep()).toBe(0);
    expect(await whole(await files.read(file_id, null))).toBe("kept");
    expect((await testFiles.records.list("file-due", "files", 10, null)).rows).toEqual([]);
  });
});

describe("a process that dies", () => {
  test("between the bytes of an upload and the word that they are there loses nothing and takes nothing twice", async () => {
    const { files, clock, store } = await opened();
    const { file_id } = await announce(files, 100);
    await store.write(file_id, parts("x".repeat(100)), 100);
    const next = await testFiles.restart();
    expect(await next.receive(file_id, parts("y".repeat(100)), 100)).toMatchObject({ state: "stored" });
    expect(await whole(await next.read(file_id, null))).toBe("y".repeat(100));
    clock.advance(HOUR_MS);
    await next.sweep();
    expect(await next.get(PAYER, file_id)).toMatchObject({ status: "stored" });
  });

  test("in the middle of deleting leaves no bytes, and the room comes back", async () => {
    let dies = true;
    const { files } = await opened(async (folder) => {
      const store = await openDiskStore(folder, 0);
      const dying = (id: string) => (dies ? Promise.reject(new Error("it died")) : store.delete(id));
      return { ...store, delete: dying };
    });
    const { file_id } = await announce(files, 100 * MIB);
    await expect(files.delete(PAYER, file_id)).rejects.toThrow("it died");
    dies = false;
    const next = await testFiles.restart();
    await testFiles.store.write(file_id, parts("left behind"), 11);
    await next.sweep();
    expect(testFiles.onDisk()).toEqual([]);
    expect(await room(next)).toBe(20);
  });

  test("between taking room and saying so leaves the count too high until somebody is refused by it, and no longer", async () => {
    const { files, records } = await opened();
    const count = JSON.stringify({ bytes: 2048 * MIB, recounts: 0, taking: [] });
    await records.put({ kind: "file-quota", id: PAYER, payer: PAYER, value: count, ttlMs: null, ifVersion: null });
    await announce(files, 100 * MIB);
    expect(await room(files)).toBe(19);
  });
});

describe("a store that fails", () => {
  test("leaves the upload to be tried again, and its room taken", async () => {
    let fails = true;
    const { files } = await opened(async (folder) => {
      const store = await openDiskStore(folder, 0);
      const full = new GatewayError("storage_unavailable", { detail: { detail: "Full." } });
      const write: FileStore["write"] = (...all) => (fails ? Promise.reject(full) : store.write(...all));
      return { ...store, write };
    });
    const { file_id } = await announce(files, 4);
    await expect(files.receive(file_id, parts("some"), 4)).rejects.toMatchObject({ code: "storage_unavailable" });
    fails = false;
    expect(await files.receive(file_id, parts("some"), 4)).toMatchObject({ state: "stored" });
  });

  test("does not keep the sweep from the rest", async () => {
    let broken = "";
    const { files, clock } = await opened(async (folder) => {
      const store = await openDiskStore(folder, 0);
      const remove = (id: string) => (id === broken ? Promise.reject(new Error("stuck")) : store.delete(id));
      return { ...store, delete: remove };
    });
    for (let at = 0; at < 3; at++) broken = (await announce(files, 100 * MIB)).file_id;
    clock.advance(HOUR_MS);
    expect(await files.sweep()).toBe(2);
    expect(testFiles.broken).toHaveLength(1);
    broken = "";
    await files.sweep();
    expect(await room(files)).toBe(20);
  });
});

describe("what is kept for an action", () => {
  test("is a file like any other, of exactly its bytes", async () => {
    const { files } = await opened();
    const bytes = Buffer.from("\x89PNG and more");
    const made = await files.keepBytes(
      { id: PAYER },
      { filename: "a.png", mime: "image/png", bytes, source: "x/draw" },
    );
    expect(made).toMatchObject({ filename: "a.png", size_bytes: bytes.length, source: "x/draw", status: "stored" });
    expect(await whole(await files.read(made.file_id, null))).toBe(bytes.toString("latin1"));
    await expect(files.get(OTHER, made.file_id)).rejects.toMatchObject({ code: "not_found" });
  });

  test("of unknown size gives back the room that it did not need", async () => {
    const { files } = await opened();
    const { sizeBytes: _, ...facts } = newFile(0);
    expect(await files.keep(PAYER, { ...facts, sizeBytes: null }, parts("small"))).toMatchObject({ size_bytes: 5 });
    expect(await room(files)).toBe(20);
    expect(await room(files)).toBe(20);
  });

  test("that breaks off, or is too large, leaves nothing", async () => {
    const { files } = await opened();
    const { sizeBytes: _, ...facts } = newFile(0);
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.alloc(8 * MIB);
    }
    const tooLarge = files.keep(PAYER, { ...facts, sizeBytes: null }, endless());
    await expect(tooLarge).rejects.toMatchObject({ code: "body_too_large" });
    await expect(files.keep(PAYER, { ...facts, sizeBytes: 9 }, parts("short"))).rejects.toMatchObject({
      code: "bad_request",
    });
    await expect(files.keep(PAYER, { ...facts, sizeBytes: 101 * MIB }, parts("x"))).rejects.toMatchObject({
      code: "body_too_large",
    });
    expect(testFiles.onDisk()).toEqual([]);
    expect(await room(files)).toBe(20);
  });
});

describe("with a store that takes bytes itself", () => {
  let s3: TestS3;

  async function openedOnS3(): Promise<TestFiles> {
    s3 = await startS3();
    cleanups.push(s3.close);
    // The server's own clock does not follow ours, and it rejects signatures from the future.
    const at = { endpoint: s3.endpoint, bucket: BUCKET, region: "us-east-1", ...KEYS, clock: systemClock };
    return opened((folder) => openS3Store({ ...at, folder }));
  }

  const put = (url: string, body: string) => fetch(url, { method: "PUT", body });

  test("a file is there as soon as its bytes are, for get and for list", async () => {
    const { files } = await openedOnS3();
    const [one, two] = [await announce(files, 3), await announce(files, 3)];
    const nothing = { tags: [], query: "" };
    expect((await files.list(PAYER, nothing, 10, null)).files).toEqual([]);
    await put(one.put_url, "one");
    await put(two.put_url, "two");
    expect(await files.get(PAYER, one.file_id)).toMatchObject({ status: "stored" });
    expect((await files.list(PAYER, nothing, 10, null)).files).toHaveLength(2);
    expect(await (await fetch(one.get_url)).text()).toBe("one");
  });

  test("many who ask at once all see it", async () => {
    const { files } = await openedOnS3();
    const { file_id, put_url } = await announce(files, 3);
    await put(put_url, "one");
    const seen = await Promise.all(Array.from({ length: 8 }, () => files.get(PAYER, file_id)));
    expect(seen.map(({ status }) => status)).toEqual(Array(8).fill("stored"));
  });

  test("a file that nobody asked for is found when its hour ends, and one that never came is forgotten", async () => {
    const { files, clock } = await openedOnS3();
    const [came, never] = [await announce(files, 3), await announce(files, 100 * MIB)];
    await put(came.put_url, "one");
    clock.advance(2 * HOUR_MS);
    expect(await files.sweep()).toBe(1);
    expect(await files.get(PAYER, came.file_id)).toMatchObject({ status: "stored" });
    await expect(files.get(PAYER, never.file_id)).rejects.toMatchObject({ code: "not_found" });
  });

  test("bytes that come after their file was deleted do not stay", async () => {
    const { files, clock } = await openedOnS3();
    const { file_id, put_url } = await announce(files, 3);
    await files.delete(PAYER, file_id);
    await put(put_url, "one");
    expect(s3.objects()).toEqual([file_id]);
    clock.advance(2 * HOUR_MS);
    await files.sweep();
    expect(s3.objects()).toEqual([]);
  });
});
