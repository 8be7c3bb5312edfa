// A unit of the storage thread that keeps words, and can end its thread, or have its disk fail, in the middle of a batch.
import { existsSync, mkdirSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { SqliteUnit } from "../../src/storage/sqlite-unit.ts";

export type MortalOperations = ReturnType<typeof operationsOn>;

export function openUnit(database: DatabaseSync): SqliteUnit {
  database.exec("CREATE TABLE IF NOT EXISTS word (word TEXT NOT NULL) STRICT");
  return { operations: operationsOn(database), admissions: [], flush() {}, reload() {} };
}

function operationsOn(database: DatabaseSync) {
  const insert = database.prepare("INSERT INTO word (word) VALUES (?)");
  const all = database.prepare("SELECT word FROM word ORDER BY rowid");
  return {
    keep: (word: string): string => {
      insert.run(word);
      return word;
    },
    words: (_: null): string[] => all.all().map(({ word }) => String(word)),
    /** A text so long. */
    tell: (length: number): string => "x".repeat(length),
    fail(_: null): never {
      throw new Error("an operation failed");
    },
    /** The disk fails, once somebody has made the folder that is waited for; that it is has a folder of its own. */
    breakDisk([begun, awaited]: readonly [string, string]): never {
      mkdirSync(begun);
      while (!existsSync(awaited)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
    },
    // In a thread this ends the thread alone.
    die: (_: null): null => process.exit(0),
  };
}
