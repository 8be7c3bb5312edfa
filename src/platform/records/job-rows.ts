// The rows of a job's result: each a separate record, written as soon as it is finished, and listed in the job's record.
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip, type ZlibOptions } from "node:zlib";
import type { Records, StoredRecord } from "./records.ts";

export const JOB_ROW = "job-row";
const ROW_MS = 7 * 24 * 3_600_000;
/** Longer rows are compressed. */
const PLAIN_CHARS_MAX = 65_536;
/** None of our rows is longer. */
const ROW_BYTES_MAX = 64 * 1_048_576;

/** Each output chunk takes one turn of the compression threads; with this size, most rows need a single one. */
const PIECE_BYTES = 256 * 1024;
const compressed = promisify<string, ZlibOptions, Buffer>(gzip);
const expanded = promisify<Buffer, ZlibOptions, Buffer>(gunzip);

export type JobRows = ReturnType<typeof createJobRows>;

async function written(row: unknown): Promise<string> {
  const json = JSON.stringify(row);
  if (json.length <= PLAIN_CHARS_MAX) return json;
  return `gzip ${(await compressed(json, { chunkSize: PIECE_BYTES })).toString("base64")}`;
}

/** The JSON of a row, in its own buffer. */
async function textOf(value: string): Promise<Uint8Array<ArrayBuffer>> {
  if (!value.startsWith("gzip ")) return new TextEncoder().encode(value);
  const bounds = { maxOutputLength: ROW_BYTES_MAX, chunkSize: PIECE_BYTES };
  return new Uint8Array(await expanded(Buffer.from(value.slice(5), "base64"), bounds));
}

/** The limits of one batch, in stored bytes and in rows; each row is decompressed on demand. */
const [RUN_BYTES_MAX, RUN_ROWS_MAX] = [65_536, 32];

/** Groups rows to read together. A long row is alone. */
function runsOf(names: readonly string[], sizes: readonly (number | null)[]): string[][] {
  const runs: string[][] = [];
  let room = 0;
  for (const [at, name] of names.entries()) {
    const bytes = sizes[at] ?? 0;
    const last = runs.at(-1);
    if (last !== undefined && bytes <= room && last.length < RUN_ROWS_MAX) last.push(name);
    else {
      runs.push([name]);
      room = RUN_BYTES_MAX;
    }
    room -= bytes;
  }
  return runs;
}

/** Shares texts that are being read, or that an earlier reader still holds; weak references free those that no reader holds. */
class SharedTexts {
  readonly #coming = new Map<string, Promise<Uint8Array>>();
  readonly #kept = new Map<string, WeakRef<ArrayBuffer>>();
  readonly #left = new FinalizationRegistry<string>((name) => {
    if (this.#kept.get(name)?.deref() === undefined) this.#kept.delete(name);
  });

  async get(name: string, read: () => Promise<Uint8Array<ArrayBuffer>>): Promise<Uint8Array> {
    const kept = this.#kept.get(name)?.deref();
    if (kept !== undefined) return new Uint8Array(kept);
    const coming = this.#coming.get(name) ?? this.#fetch(name, read).finally(() => this.#coming.delete(name));
    this.#coming.set(name, coming);
    return coming;
  }

  async #fetch(name: string, read: () => Promise<Uint8Array<ArrayBuffer>>): Promise<Uint8Array> {
    const text = await read();
    this.#kept.set(name, new WeakRef(text.buffer));
    this.#left.register(text.buffer, name);
    return text;
  }
}

/** `bytesMax`: the limit for all rows of a payer; beyond it the oldest are deleted. */
export function createJobRows(records: Pick<Records, "get" | "put" | "sizes">, bytesMax: number) {
  const share = { bytesMax, full: "oldest_leave" } as const;
  const shared = new SharedTexts();
  /** The first row of a batch that no other reader has triggers the read of the batch. */
  async function* inOrder(runs: readonly (readonly string[])[]): AsyncGenerator<Uint8Array> {
    for (const run of runs) {
      let found: Promise<readonly (StoredRecord | null)[]> | null = null;
      for (const [at, name] of run.entries()) {
        yield await shared.get(name, async () => {
          found ??= Promise.all(run.map((one) => records.get(JOB_ROW, one)));
          const row = (await found)[at] ?? null;
          if (row === null) throw new Error(`the row ${name} has left while its result was read`);
          return textOf(row.value);
        });
      }
    }
  }
  return {
    /** Stores a row for seven days under a new name: a process that has lost the job unaware leaves an unlisted row and changes none. */
    async put(payer: string, row: unknown): Promise<string> {
      const id = randomBytes(12).toString("hex");
      const value = await written(row);
      await records.put({ kind: JOB_ROW, id, payer, value, ttlMs: ROW_MS, ifVersion: 0, share, isPatient: true });
      return id;
    },
    /** The rows with these names, in order; null: one of them is gone. */
    async read(names: readonly string[]): Promise<readonly unknown[] | null> {
      const found = await Promise.all(names.map((id) => records.get(JOB_ROW, id)));
      const there = found.filter((record) => record !== null);
      if (there.length < names.length) return null;
      const texts = await Promise.all(there.map(({ value }) => textOf(value)));
      return texts.map((text) => JSON.parse(Buffer.from(text).toString("utf8")));
    },
    /** The same as JSON, read on demand, short rows in batches; concurrent readers of a row share its memory. Null: one of them is gone. */
    async texts(names: readonly string[]): Promise<AsyncIterable<Uint8Array> | null> {
      const sizes = await records.sizes(JOB_ROW, names);
      return sizes.includes(null) ? null : inOrder(runsOf(names, sizes));
    },
  };
}
