// A unit of the storage thread that stores words, and can end its thread, or make its disk fail, in the middle of a batch.
import { existsSync, mkdirSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { SqliteUnit } from "../../../src/platform/storage/sqlite-unit.ts";

export type MortalOperations = ReturnType<typeof operationsOn>;

export function openUnit(database: DatabaseSync): SqliteUnit {
  database.exec("CREATE TABLE IF NOT EXISTS word (word TEXT NOT NULL) STRICT");
  const after: Commit = { fails: false };
  const committed = () => {
    if (after.fails) throw new Error("what follows a commit failed");
  };
  const catchUp = () => database.exec("PRAGMA user_version = 1");
  const operations = operationsOn(database, after);
  return { operations, admissions: [], short: ["keep"], flush() {}, catchUp, committed, reload() {} };
}

/** What happens to the work that follows a commit. */
interface Commit {
  fails: boolean;
}

function operationsOn(database: DatabaseSync, after: Commit) {
  const insert = database.prepare("INSERT INTO word (word) VALUES (?)");
  const all = database.prepare("SELECT word FROM word ORDER BY rowid");
  return {
    keep: (word: string): string => {
      insert.run(word);
      return word;
    },
    words: (_: null): string[] => all.all().map(({ word }) => String(word)),
    /** A text of this length. */
    tell: (length: number): string => "x".repeat(length),
    /** An array of this length, each number 24 characters long. */
    count: (length: number): number[] => Array(length).fill(-1.2345678901234567e-100),
    /** The work that follows its commit fails. */
    keepAtLast(word: string): string {
      after.fails = true;
      insert.run(word);
      return word;
    },
    fail(_: null): never {
      throw new Error("an operation failed");
    },
    /** Makes the disk fail, once the awaited folder exists; announces itself by creating a folder too. */
    breakDisk([begun, awaited]: readonly [string, string]): never {
      mkdirSync(begun);
      waitFor(awaited);
      throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
    },
    /** Blocks the thread until the folder exists. */
    wait(awaited: string): null {
      waitFor(awaited);
      return null;
    },
    // In a thread this ends only the thread.
    die: (_: null): null => process.exit(0),
  };
}

function waitFor(folder: string): void {
  while (!existsSync(folder)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}
