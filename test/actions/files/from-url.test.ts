// Files from URLs: fetches of public addresses become files, or cost nothing.
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filesActions } from "../../../src/actions/files/file-actions.ts";
import type { LinkedView } from "../../../src/actions/files/files.ts";
import type { LocalCall } from "../../../src/catalog/local-action.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { head, type Outside, redirect, say, startOutside } from "../../upstream/outside.ts";
import { openTestFiles, type TestFiles } from "./open-test-files.ts";
import { whole } from "./store-contract.ts";

const PAYER = "acct:a";
const MIB = 1024 * 1024;
let testFiles: TestFiles;
let outside: Outside;

beforeEach(async () => {
  testFiles = await openTestFiles();
  outside = await startOutside();
});
afterEach(async () => {
  await outside.close();
  await testFiles.close();
});

/** Runs the action as the gateway does, with validated params. */
async function run(params: Record<string, unknown>): Promise<LinkedView> {
  const actions = filesActions({ files: testFiles.files, openPublic: outside.fetch.open });
  const action = actions.find((one) => one.action === "upload_from_url");
  const call = { payer: { id: PAYER } } as unknown as LocalCall;
  return (await action?.run(action.params.parse(params), call)) as LinkedView;
}

async function stored(file: LinkedView): Promise<string | null> {
  return whole(await testFiles.files.read(file.file_id, null));
}

async function nothingKept(): Promise<void> {
  expect(testFiles.onDisk()).toEqual([]);
  expect((await testFiles.files.list(PAYER, { tags: [], query: "" }, 10, null)).files).toEqual([]);
  const all = { filename: "all", mime: null, tags: [], note: null, source: "upload", sizeBytes: 2048 * MIB };
  // There is room for all that an account may keep.
  await testFiles.files.announce(PAYER, all);
}

describe("an address", () => {
  test("becomes a file with its type, under the name that the caller gives", async () => {
    outside.play = (socket) => say(socket, { "content-type": "image/png" }, "\x89PNG");
    const file = await run({ url: outside.url("/a.png?token=secret"), filename: "logo.png", tags: ["x"], note: "n" });
    expect(file).toMatchObject({
      ...{ filename: "logo.png", size_bytes: 5, mime: "image/png", tags: ["x"], note: "n", status: "stored" },
      source: `http://files.example:${outside.port}/a.png`,
      get_url: expect.stringContaining("/files/file_"),
    });
    expect(await stored(file)).toBe(Buffer.from("\x89PNG").toString("latin1"));
  });

  test.each([
    ["/report%20of%20May.pdf?x=1", "report of May.pdf"],
    ["/", "file"],
    ["/..%2f..%2fetc%2fpasswd", "_.._etc_passwd"],
    ["/%ff%fe", "%ff%fe"],
    ["/a%0d%0ab", "a__b"],
  ])("%s without a name is called after its path: %s", async (path, filename) => {
    expect(await run({ url: outside.url(path) })).toMatchObject({ filename });
  });

  test("is followed where it leads", async () => {
    outside.play = (socket, path) =>
      path === "/old" ? redirect(socket, "/new.txt") : say(socket, { "content-type": "text/plain" }, "found");
    const file = await run({ url: outside.url("/old") });
    expect(file).toMatchObject({ filename: "new.txt", mime: "text/plain" });
    expect(await stored(file)).toBe("found");
  });

  test("of unknown length is kept all the same, and takes only the room that it needs", async () => {
    outside.play = (socket) => {
      socket.write(head(200, { "content-encoding": "gzip" }));
      socket.end(gzipSync("unpacked"));
    };
    const file = await run({ url: outside.url("/packed.txt") });
    expect(file).toMatchObject({ size_bytes: 8 });
    expect(await stored(file)).toBe("unpacked");
  });
});

describe("an address that does not do", () => {
  test.each([
    ["http://127.0.0.1/x", "bad_url"],
    ["ftp://files.example/x", "bad_url"],
    ["not an address", "bad_url"],
  ])("%s is refused, and nothing is kept", async (url, code) => {
    await expect(run({ url })).rejects.toMatchObject({ code });
    await nothingKept();
  });

  test.each([404, 500, 204])("answering with status %i is told so, and nothing is kept", async (status) => {
    outside.play = (socket) => socket.end(head(status, { "content-length": "0" }));
    const message = expect.stringContaining(String(status));
    await expect(run({ url: outside.url("/x") })).rejects.toMatchObject({ code: "bad_request", message });
    await nothingKept();
  });

  test("that breaks off leaves nothing", async () => {
    outside.play = (socket) => {
      socket.write(head(200, { "content-length": "1000" }));
      socket.end("the beginning");
    };
    await expect(run({ url: outside.url("/x") })).rejects.toBeInstanceOf(GatewayError);
    await nothingKept();
  });

  test("with nothing to give leaves nothing", async () => {
    outside.play = (socket) => say(socket, {}, "");
    await expect(run({ url: outside.url("/x") })).rejects.toMatchObject({ code: "bad_request" });
    await nothingKept();
  });

  test.each([
    ["says that it is", { "content-length": String(101 * MIB) }],
    ["does not say", {}],
  ])("larger than a file may be (it %s) leaves nothing", async (_, headers) => {
    outside.play = (socket) => {
      socket.write(head(200, headers));
      const part = Buffer.alloc(4 * MIB);
      const more = () => {
        while (socket.writable && socket.write(part));
      };
      socket.on("drain", more);
      more();
    };
    await expect(run({ url: outside.url("/x") })).rejects.toBeInstanceOf(GatewayError);
    await nothingKept();
  });
});
