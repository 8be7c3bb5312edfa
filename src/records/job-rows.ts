// The rows of a job's result: each a record of its own, written as soon as it is finished, and named by the job's own record.
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Records } from "./records.ts";

export const JOB_ROW = "job-row";
const ROW_MS = 7 * 24 * 3_600_000;
/** Longer rows are compressed. */
const PLAIN_CHARS_MAX = 65_536;
/** Nothing that we wrote is longer. */
const ROW_BYTES_MAX = 64 * 1_048_576;

export interface JobRows {
  /**
   * Keeps a finished row for seven days and answers its name. The name is new each time: a process that has lost the job without
   * knowing it leaves a row that nobody names, and changes none.
   */
  put(payer: string, row: unknown): Promise<string>;
  /** The rows of these names, in this order; null: one of them is there no more. */
  read(names: readonly string[]): Promise<readonly unknown[] | null>;
}

export interface JobRowsOptions {
  readonly records: Pick<Records, "get" | "put">;
  /** What all rows of a payer may have together; beyond it the oldest leave. */
  readonly bytesMax: number;
}

async function written(row: unknown): Promise<string> {
  const json = JSON.stringify(row);
  if (json.length <= PLAIN_CHARS_MAX) return json;
  return `gzip ${(await promisify(gzip)(json)).toString("base64")}`;
}

async function read(value: string): Promise<unknown> {
  if (!value.startsWith("gzip ")) return JSON.parse(value);
  const bytes = await promisify(gunzip)(Buffer.from(value.slice(5), "base64"), { maxOutputLength: ROW_BYTES_MAX });
  return JSON.parse(bytes.toString("utf8"));
}

export function createJobRows({ records, bytesMax }: JobRowsOptions): JobRows {
  const share = { bytesMax, full: "oldest_leave" } as const;
  return {
    async put(payer, row) {
      const id = randomBytes(12).toString("hex");
      const value = await written(row);
      await records.put({ kind: JOB_ROW, id, payer, value, ttlMs: ROW_MS, ifVersion: 0, share });
      return id;
    },
    async read(names) {
      const found = await Promise.all(names.map((id) => records.get(JOB_ROW, id)));
      const there = found.filter((record) => record !== null);
      return there.length < names.length ? null : Promise.all(there.map(({ value }) => read(value)));
    },
  };
}
