// The answers of a provider's batches: where each line's answer is, and what it says.

import { wholeOf } from "../../core/chunk-list.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { parseRaw } from "../../core/raw-json.ts";
import type { BatchFormat } from "../../upstream/batch-formats.ts";
import type { BatchRun } from "./batch-kind.ts";
import type { NativeProgress } from "./batch-record.ts";
import type { NativeAnswer } from "./line-calls.ts";

/** Identifies one batch at the provider, among those of all gateways. */
export function tagOf(jobId: string, batch: number): string {
  return `${jobId.slice("job_".length)}-${batch}`;
}

/** Our name for a line at the provider: its batch, its place in our input, and its model. */
export function customIdOf(tag: string, at: number, model: number): string {
  return `${tag}-${at}-${model}`;
}

/** The line and the model that a custom id names; null: it is none of the batch's. */
function namedIn(customId: unknown, tag: string): { readonly at: number; readonly model: number } | null {
  if (typeof customId !== "string" || !customId.startsWith(`${tag}-`)) return null;
  const [, at, model] = /^(\d{1,6})-(\d{1,6})$/.exec(customId.slice(tag.length + 1)) ?? [];
  return at === undefined ? null : { at: Number(at), model: Number(model) };
}

function jsonIn(line: Buffer, parse: (text: string) => unknown = JSON.parse): Json | null {
  try {
    const json = parse(line.toString("utf8"));
    return isRecord(json) ? json : null;
  } catch {
    return null;
  }
}

/** A line of a provider's answers: which of ours it answers, and whether it was run. Null: it is cut off, or not ours. */
export function readAnswer(
  line: Buffer,
  tag: string,
  format: BatchFormat,
): { readonly at: number; readonly isRun: boolean } | null {
  const json = jsonIn(line);
  const named = namedIn(json?.custom_id, tag);
  if (json === null || named === null) return null;
  return { at: named.at, isRun: format.answer(json) !== null };
}

/** Where the answer to each line is, as an offset in all segments together. */
export class Places {
  readonly #entries: Float64Array;

  constructor(lines: number, kept: Buffer | null = null) {
    this.#entries = new Float64Array(2 * lines);
    if (kept !== null) Buffer.from(this.#entries.buffer).set(kept);
  }

  /** A second answer to the same line is ignored. */
  add(at: number, offset: number, bytes: number): void {
    if (this.has(at)) return;
    this.#entries[2 * at] = offset;
    this.#entries[2 * at + 1] = bytes;
  }

  has(at: number): boolean {
    return (this.#entries[2 * at + 1] ?? 0) > 0;
  }

  of(at: number): { readonly offset: number; readonly bytes: number } {
    return { offset: this.#entries[2 * at] ?? 0, bytes: this.#entries[2 * at + 1] ?? 0 };
  }

  bytes(): Buffer {
    return Buffer.from(this.#entries.buffer);
  }
}

export class NativeAnswers {
  readonly #run: BatchRun;
  readonly #native: NativeProgress & { readonly answers: NonNullable<NativeProgress["answers"]> };
  readonly #format: BatchFormat;
  readonly #places: Places;

  constructor(run: BatchRun, native: NativeProgress, format: BatchFormat, places: Places) {
    const { answers } = native;
    if (answers === null) throw new Error("the answers are not here");
    this.#run = run;
    this.#native = { ...native, answers };
    this.#format = format;
    this.#places = places;
  }

  has(at: number): boolean {
    return this.#places.has(at);
  }

  async of(at: number): Promise<NativeAnswer> {
    const { vendor, percent, models, answers } = this.#native;
    const { job, deps } = this.#run;
    let { offset } = this.#places.of(at);
    const { bytes } = this.#places.of(at);
    for (const segment of answers.segments) {
      if (offset >= segment.bytes) {
        offset -= segment.bytes;
        continue;
      }
      const read = await job.stored(() => deps.files.read(segment.id, { from: offset, to: offset + bytes - 1 }));
      // The arguments of tool calls reach the caller as the provider wrote them.
      const json = read === null ? null : jsonIn(await wholeOf(read), parseRaw);
      if (json === null) break;
      const [, place = "0"] = /-(\d+)$/.exec(String(json.custom_id)) ?? [];
      const { name: model, sold } = models[Number(place)] ?? { name: "", sold: "null" };
      const answer = this.#format.answer(json);
      if (answer !== null) return { vendor, percent, model, sold, ...answer };
      break;
    }
    throw new Error(`the answers of ${job.id} are gone`);
  }
}
