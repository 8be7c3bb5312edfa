// A unit of the storage thread that keeps words, and can end its thread in the middle of a batch.
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
    // In a thread this ends the thread alone.
    die: (_: null): null => process.exit(0),
  };
}
