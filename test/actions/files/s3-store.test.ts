import { mkdtempSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileStore, StoreLinks } from "../../../src/actions/files/file-store.ts";
import { openS3Store, type S3Options } from "../../../src/actions/files/s3-store.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { folderForFile } from "../../support/for-file.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { BUCKET, KEYS, startS3, type TestS3 } from "./s3.ts";
import { fileId, fileStoreContract, parts, whole } from "./store-contract.ts";

/** The parent of all stores' folders here. */
const waiting = folderForFile("tollgate-s3-waiting-");

function optionsFor(s3: TestS3, more: Partial<S3Options> = {}): S3Options {
  const folder = mkdtempSync(join(waiting, "store-"));
  return { endpoint: s3.endpoint, bucket: BUCKET, region: "us-east-1", ...KEYS, folder, clock: systemClock, ...more };
}

fileStoreContract("s3", async () => {
  const s3 = await startS3();
  const options = optionsFor(s3);
  return {
    store: await openS3Store(options),
    kept: () => [...s3.objects(), ...readdirSync(join(options.folder, "incoming"))],
    reopen: () => openS3Store(options),
    dispose: () => s3.close(),
  };
});

describe("links into the store", () => {
  let s3: TestS3;
  let store: FileStore;
  let links: StoreLinks;
  beforeAll(async () => {
    s3 = await startS3();
    store = await openS3Store(optionsFor(s3));
    if (store.links === null) throw new Error("it has no links");
    links = store.links;
  });
  afterAll(() => s3.close());

  test("take a PUT of the announced size and no other, for that file alone", async () => {
    const id = fileId();
    const url = await links.put(id, 5, 3_600);
    expect((await fetch(url, { method: "PUT", body: "too long" })).status).toBe(403);
    expect((await fetch(url, { method: "PUT", body: "tiny" })).status).toBe(403);
    expect((await fetch(url.replace(id, fileId()), { method: "PUT", body: "hello" })).status).toBe(403);
    expect(s3.objects()).toEqual([]);
    expect((await fetch(url, { method: "PUT", body: "hello" })).status).toBe(200);
    expect(await whole(await store.read(id, null))).toBe("hello");
  });

  test("give a file to be saved under its name, and do not say that it is a page", async () => {
    const id = fileId();
    await store.write(id, parts("<script>"), 8);
    const response = await fetch(await links.get(id, { filename: "a page.html", mime: "text/html" }, 3_600));
    expect(await response.text()).toBe("<script>");
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="a page.html"');
  });

  test("name a file as it is called, whatever its letters", async () => {
    const url = new URL(await links.get(fileId(), { filename: "näme (1).txt", mime: null }, 3_600));
    expect(url.searchParams.get("response-content-disposition")).toBe(
      "attachment; filename=\"n_me (1).txt\"; filename*=UTF-8''n%C3%A4me%20%281%29.txt",
    );
  });

  test("are for one method", async () => {
    const id = fileId();
    await store.write(id, parts("hello"), 5);
    const put = await links.put(id, 5, 3_600);
    expect((await fetch(put)).status).toBe(403);
    const get = await links.get(id, { filename: "a", mime: null }, 3_600);
    expect((await fetch(get, { method: "PUT", body: "other" })).status).toBe(403);
    expect((await fetch(get, { method: "DELETE" })).status).toBe(403);
    expect(await whole(await store.read(id, null))).toBe("hello");
  });

  test("end with their hour", async () => {
    const past = manualClock(Date.now() - 3_700_000);
    const early = (await openS3Store(optionsFor(s3, { clock: past }))).links;
    const url = await early?.put(fileId(), 5, 3_600);
    expect((await fetch(url ?? "", { method: "PUT", body: "hello" })).status).toBe(403);
  });
});

describe("a store that cannot be used", () => {
  test.each([
    ["a wrong key", { secretAccessKey: "wrong" }],
    ["no such bucket", { bucket: "another-bucket" }],
    ["nobody listening", { endpoint: "http://127.0.0.1:1" }],
  ])("%s is our trouble, not the caller's", async (_, more) => {
    const s3 = await startS3();
    const store = await openS3Store(optionsFor(s3, more));
    await expect(store.write(fileId(), parts("hello"), 5)).rejects.toMatchObject({ code: "storage_unavailable" });
    await s3.close();
  });
});
