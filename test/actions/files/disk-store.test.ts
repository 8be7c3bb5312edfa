import { mkdirSync, mkdtempSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDiskStore } from "../../../src/actions/files/disk-store.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { fileId, fileStoreContract, parts, whole } from "./store-contract.ts";

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

function folderFor(): string {
  return mkdtempSync(join(tmpdir(), "tollgate-files-"));
}

fileStoreContract("disk", async () => {
  const folder = folderFor();
  const store = await openDiskStore(folder, 0);
  return {
    store,
    kept: () => filesBelow(folder),
    reopen: () => openDiskStore(folder, 0),
    dispose: async () => removeFolder(folder),
  };
});

test("what a process left half written when it died is swept away at the next start, and nothing else", async () => {
  const folder = folderFor();
  const id = fileId();
  await (await openDiskStore(folder, 0)).write(id, parts("whole"), 5);
  mkdirSync(join(folder, "incoming"), { recursive: true });
  writeFileSync(join(folder, "incoming", `${fileId()}.half`), "hal");
  const store = await openDiskStore(folder, 0);
  expect(filesBelow(folder)).toHaveLength(1);
  expect(await whole(await store.read(id, null))).toBe("whole");
  removeFolder(folder);
});

test("beside other processes, only what nobody has touched for a while is swept away", async () => {
  const folder = folderFor();
  await openDiskStore(folder, 0);
  writeFileSync(join(folder, "incoming", "old"), "hal");
  utimesSync(join(folder, "incoming", "old"), 1, 1);
  writeFileSync(join(folder, "incoming", "new"), "hal");
  await openDiskStore(folder, 0, Date.now() - 60_000);
  expect(filesBelow(folder)).toEqual([join(folder, "incoming", "new")]);
  removeFolder(folder);
});

test("only the gateway's own user can read what is kept", async () => {
  const folder = folderFor();
  await (await openDiskStore(folder, 0)).write(fileId(), parts("private"), 7);
  const [file = ""] = filesBelow(folder);
  expect(statSync(file).mode & 0o077).toBe(0);
  removeFolder(folder);
});

test("the room that the ledger needs is not given to files", async () => {
  const folder = folderFor();
  const store = await openDiskStore(folder, Number.MAX_SAFE_INTEGER);
  const refusal = await store.write(fileId(), parts("x"), 1).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(GatewayError);
  expect(refusal).toMatchObject({ code: "storage_unavailable" });
  expect(filesBelow(folder)).toEqual([]);
  removeFolder(folder);
});

test.each(["../../etc/passwd", "file_", "file_zz", `file_${"0".repeat(31)}/`])(
  "%s is the name of no file",
  async (id) => {
    const folder = folderFor();
    const store = await openDiskStore(folder, 0);
    await expect(store.write(id, parts("x"), 1)).rejects.toThrow("not the id of a file");
    await expect(store.read(id, null)).rejects.toThrow("not the id of a file");
    removeFolder(folder);
  },
);
