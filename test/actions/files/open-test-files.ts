// Files over real records and a real store, with a clock that tests control.
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDiskStore } from "../../../src/actions/files/disk-store.ts";
import type { FileStore } from "../../../src/actions/files/file-store.ts";
import { createFiles, type Files } from "../../../src/actions/files/files.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";
import { removeFolder } from "../../support/remove-folder.ts";

export interface TestFiles {
  readonly files: Files;
  readonly records: Records;
  readonly clock: ManualClock;
  readonly store: FileStore;
  readonly folder: string;
  /** Errors that were not reported to a caller. */
  readonly broken: unknown[];
  /** Names of all files in the disk store's folder. */
  onDisk(): string[];
  /** Reopens files on the same records and bytes, as after a crash. */
  restart(): Promise<Files>;
  close(): Promise<void>;
}

export async function openTestFiles(openStore = (folder: string) => openDiskStore(folder, 0)): Promise<TestFiles> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-testFiles-"));
  const clock = manualClock(Date.now());
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { records: RECORDS_UNIT },
    clock,
    disk: { freeBytesMin: 0, ballastBytes: 0 },
    onFatal: (error) => {
      throw error;
    },
  });
  const records = sqliteRecords(thread);
  const filesFolder = join(folder, "files");
  const store = await openStore(filesFolder);
  const broken: unknown[] = [];
  const open = (over: FileStore): Files =>
    createFiles({
      ...{ records, store: over, clock, secret: "a secret of the tests", baseUrl: () => "http://files.test" },
      onBroken: (error) => broken.push(error),
    });
  const opened = [open(store)];
  return {
    files: opened[0] as Files,
    ...{ records, clock, store, folder: filesFolder, broken },
    onDisk: () =>
      readdirSync(filesFolder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name),
    async restart() {
      const files = open(await openStore(filesFolder));
      opened.push(files);
      return files;
    },
    async close() {
      for (const files of opened) files.close();
      await thread.close();
      removeFolder(folder);
    },
  };
}
