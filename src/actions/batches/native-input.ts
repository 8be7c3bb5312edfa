// Writes lines as the input of batches at a provider: one batch for each path, set of headers and, where it wants that, model.

import type { BatchApi } from "../../catalog/batch-api.ts";
import type { Caller } from "../../core/plan.ts";
import type { BatchFormat } from "../../upstream/batch-formats.ts";
import type { Segment } from "../files/batch-files.ts";
import type { BatchRun } from "./batch-kind.ts";
import type { VendorBatch } from "./batch-record.ts";
import type { LineAsk } from "./jsonl.ts";
import type { LineIndex } from "./line-index.ts";
import { customIdOf, tagOf } from "./native-answers.ts";
import { answeredLine, type ResultLine } from "./result-lines.ts";

/** What a line has beside the body of its request. */
const NAME_BYTES_MAX = 512;
const WAITING_BYTES_MAX = 8 * 1024 * 1024;

/** The input of one batch at the provider. */
interface Group {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tag: string;
  lines: number;
  bytes: number;
  waiting: Buffer[];
  input: Segment[];
}

export class InputWriter {
  readonly #run: BatchRun;
  readonly #vendor: string;
  readonly #api: BatchApi;
  readonly #format: BatchFormat;
  readonly #groups: Group[] = [];
  /** The groups that take more lines, by what their lines share. */
  readonly #open = new Map<string, Group>();
  readonly #models: { readonly name: string; readonly sold: string }[] = [];
  readonly #refused = new Map<number, ResultLine>();
  #waitingBytes = 0;

  constructor(
    run: BatchRun,
    vendor: string,
    { api, format }: { readonly api: BatchApi; readonly format: BatchFormat },
  ) {
    this.#run = run;
    this.#vendor = vendor;
    this.#api = api;
    this.#format = format;
  }

  async add({ at, customId, body }: LineAsk & { readonly at: number }, caller: Caller): Promise<void> {
    const { start, deps } = this.#run;
    const call = { path: start.endpoint, body, headers: start.headers, caller };
    const line = await deps.calls.native(call, this.#vendor);
    if ("status" in line) return void this.#refused.set(at, answeredLine(start, customId, line));
    const { model, path, headers, body: text } = line;
    let place = this.#models.findIndex(({ name }) => name === model);
    if (place < 0) place = this.#models.push({ name: model, sold: line.sold() }) - 1;
    const shared = JSON.stringify([path, headers, this.#api.oneModel === true ? model : null]);
    const open = this.#open.get(shared);
    const isFull =
      open === undefined ||
      open.lines >= this.#api.linesMax ||
      open.bytes + Buffer.byteLength(text) + NAME_BYTES_MAX > this.#api.bytesMax;
    const group = isFull ? this.#begin(shared, path, headers) : open;
    const written = Buffer.from(this.#format.line(customIdOf(group.tag, at, place), path, text));
    group.lines += 1;
    group.bytes += written.length;
    group.waiting.push(written);
    this.#waitingBytes += written.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) await this.#flush();
  }

  #begin(shared: string, path: string, headers: Group["headers"]): Group {
    const tag = tagOf(this.#run.job.id, this.#groups.length);
    const group = { path, headers, tag, lines: 0, bytes: 0, waiting: [], input: [] };
    this.#groups.push(group);
    this.#open.set(shared, group);
    return group;
  }

  async #stored(lines: readonly Buffer[]): Promise<Segment> {
    return this.#run.results.write(async function* () {
      yield Buffer.concat(lines);
    });
  }

  async #flush(): Promise<void> {
    for (const group of this.#groups) {
      const { waiting } = group;
      if (waiting.length === 0) continue;
      group.waiting = [];
      group.input.push(await this.#stored(waiting));
    }
    this.#waitingBytes = 0;
  }

  /** Stores the batches to send, and the results of lines that the provider does not get. */
  async end(index: LineIndex, keyName: string): Promise<void> {
    const { results, progress } = this.#run;
    await this.#flush();
    const batches = this.#groups.map(({ path, headers, lines, bytes, input }): VendorBatch => {
      const unsent = { fileId: null, sentAtMs: null, id: null, isSure: false, foreign: [], end: null };
      return { path, headers, lines, bytes, input, ...unsent };
    });
    const { native, done, failed } = progress;
    if (native == null) throw new Error("the batch runs inline");
    for (const at of this.#refused.keys()) index.drop(at);
    this.#run.deps.onLines("failed", this.#refused.size);
    await results.store([...this.#refused.values()], {
      native: { ...native, models: this.#models, batches, keyName },
      index: await this.#stored([index.bytes()]),
      done: done + this.#refused.size,
      failed: failed + this.#refused.size,
    });
  }
}
