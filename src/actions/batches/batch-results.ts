// Stores a batch's results in segments while it runs, and as files once it has ended.
import { LeaseLost } from "../../catalog/job-kind.ts";
import { wholeOf } from "../../core/chunk-list.ts";
import { pause } from "../../core/clock.ts";
import { ownSlice } from "../../core/slices.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import type { Segment } from "../files/batch-files.ts";
import type { BatchRun } from "./batch-kind.ts";
import { type BatchProgress, batchIdOf } from "./batch-record.ts";
import { type LineAsk, linesIn, readLine } from "./jsonl.ts";
import { LineIndex } from "./line-index.ts";
import type { ResultLine } from "./result-lines.ts";

/** Small segments at the end of a list are joined once there are this many. */
const SMALL_SEGMENTS_MAX = 32;
const SMALL_BYTES = 8 * 1024 * 1024;
/** A full disk may be cleared: results wait in memory, and no further lines run. */
const WRITE_AGAIN_MS = 1_000;
const WRITE_AGAIN_MS_MAX = 30_000;
const LINES_AT_ONCE = 256;
const BLOCK_CHARS = 65_536;

/** The lines in blocks: each block is one write. */
async function* inBlocks(lines: readonly ResultLine[]): AsyncGenerator<Uint8Array> {
  let block = "";
  for (const { text } of lines) {
    block += `${text}\n`;
    if (block.length < BLOCK_CHARS) continue;
    yield Buffer.from(block);
    block = "";
  }
  if (block !== "") yield Buffer.from(block);
}

export class BatchResults {
  readonly #run: BatchRun;

  constructor(run: BatchRun) {
    this.#run = run;
  }

  /** Writes the segment for as long as it takes. */
  async write(bytes: () => AsyncIterable<Uint8Array>): Promise<Segment> {
    const { job, deps } = this.#run;
    for (let againMs = WRITE_AGAIN_MS; ; againMs = Math.min(2 * againMs, WRITE_AGAIN_MS_MAX)) {
      try {
        return await deps.files.putSegment(bytes());
      } catch (error) {
        if (job.signal.aborted && job.cancelledAtMs === null) throw new LeaseLost();
        if (error instanceof VendorFailure) throw error;
        deps.onBroken(error, job.id);
        await pause(againMs, AbortSignal.any([]));
      }
    }
  }

  /** Adds lines to a list of segments. Returns those that no longer belong to it, to be deleted once the list is saved. */
  async extended(list: readonly Segment[], lines: readonly ResultLine[]) {
    if (lines.length === 0) return { list, left: [] };
    const longer = [...list, await this.write(() => inBlocks(lines))];
    const big = longer.findLastIndex(({ bytes }) => bytes >= SMALL_BYTES);
    const small = longer.slice(big + 1);
    if (small.length < SMALL_SEGMENTS_MAX) return { list: longer, left: [] };
    const joined = await this.write(() => this.#run.deps.files.readAll(small));
    return { list: [...longer.slice(0, big + 1), joined], left: small };
  }

  /** Stores results together with the progress that they make. */
  async store(lines: readonly ResultLine[], changes: Partial<BatchProgress>): Promise<void> {
    const run = this.#run;
    const { outputs, errors } = run.progress;
    const good = await this.extended(
      outputs,
      lines.filter(({ isError }) => !isError),
    );
    const bad = await this.extended(
      errors,
      lines.filter(({ isError }) => isError),
    );
    await run.save({ ...changes, outputs: good.list, errors: bad.list });
    // A segment that stays is deleted later by the sweep.
    for (const { id } of [...good.left, ...bad.left]) await run.deps.files.dropSegment(id).catch(() => {});
  }

  /** The stored index. */
  async index(): Promise<LineIndex> {
    const { job, progress, deps } = this.#run;
    const { index } = progress;
    if (index === null) throw new Error(`the lines of ${job.id} have not been read`);
    return job.stored(async () => new LineIndex(await wholeOf(deps.files.readAll([index]))));
  }

  /** Good lines from `from` up to `to`, as far as `wanted`. */
  async *asks(
    index: LineIndex,
    { from, to, wanted }: { readonly from: number; readonly to: number; wanted(at: number): boolean },
  ): AsyncGenerator<LineAsk & { readonly at: number }> {
    const { job, start, deps } = this.#run;
    if (from >= to) return;
    const range = { from: index.offset(from), to: to < index.count ? index.offset(to) - 1 : await this.#lastByte() };
    const bytes = await job.stored(() => deps.files.read(start.inputId, range));
    if (bytes === null) throw new Error(`the input of ${job.id} is gone`);
    let at = from;
    for await (const line of linesIn(bytes)) {
      if (at >= to) return;
      if (line !== null && index.bound(at) !== null && wanted(at)) {
        const ask = readLine(line.bytes, start.endpoint, start.wire);
        if (!("error" in ask)) yield { ...ask, at };
      }
      at += 1;
    }
  }

  async #lastByte(): Promise<number> {
    const { job, start, deps } = this.#run;
    const row = await job.stored(() => deps.files.find(job.payer.id, start.inputId));
    if (row === null) throw new Error(`the input of ${job.id} is gone`);
    return row.sizeBytes - 1;
  }

  /** Writes a result for each line that is left, as far as none was written before. */
  async refuse(
    index: LineIndex,
    isLeft: (at: number) => boolean,
    lineOf: (ask: LineAsk & { readonly at: number }) => ResultLine,
  ): Promise<void> {
    const run = this.#run;
    const from = run.progress.refusedTo;
    let waiting: ResultLine[] = [];
    const flush = async (refusedTo: number) => {
      const { done, refused } = run.progress;
      await this.store(waiting, { refusedTo, done: done + waiting.length, refused: refused + waiting.length });
      waiting = [];
    };
    for await (const ask of this.asks(index, { from, to: index.count, wanted: isLeft })) {
      waiting.push(lineOf(ask));
      if (waiting.length < LINES_AT_ONCE) continue;
      await flush(ask.at + 1);
      await ownSlice();
    }
    await flush(index.count);
  }

  /** Makes files of the results, for their account. */
  async keep(): Promise<{ readonly output_file_id: string | null; readonly error_file_id: string | null }> {
    const { job, start, progress, deps } = this.#run;
    const id = batchIdOf(job.id, start.wire);
    const kept = async (segments: readonly Segment[], name: string): Promise<string | null> => {
      if (segments.length === 0) return null;
      const file = {
        filename: `${id}_${name}.jsonl`,
        purpose: start.wire === "messages" ? "messages_output" : "batch_output",
        sizeBytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
        expiresAtMs: deps.clock.epochMs() + start.outputMs,
      } as const;
      const row = await deps.files.keep(job.payer.id, file, deps.files.readAll(segments));
      return row.id;
    };
    return job.stored(async () => ({
      output_file_id: await kept(progress.outputs, "output"),
      error_file_id: await kept(progress.errors, "errors"),
    }));
  }
}
