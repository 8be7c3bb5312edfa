// Reads all lines of a batch before any of them runs: finds those that cannot run, and bounds what the others can cost.
import { createHash } from "node:crypto";
import { GatewayError } from "../../core/errors.ts";
import { add, least, type Nano, ZERO } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import { ownSlice } from "../../core/slices.ts";
import type { Segment } from "../files/batch-files.ts";
import type { BatchRun } from "./batch-kind.ts";
import { type BatchStart, modeField, type NativeProgress } from "./batch-record.ts";
import { LINES_MAX, type Line, linesIn, readLine } from "./jsonl.ts";
import type { LineCalls } from "./line-calls.ts";
import { LineIndex } from "./line-index.ts";
import { answeredLine, badLine, type ResultLine } from "./result-lines.ts";

/** Why a batch as a whole cannot run. */
export interface BatchFailure {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
}

const ERRORS_AT_ONCE = 1_000;
const SLICE_MS = 2;
/** How many lines are read before a batch is created. */
const FIRST_LINES = 20;

const GONE: BatchFailure = { code: "input_file_gone", message: "The input file does not exist any more." };
const EMPTY: BatchFailure = { code: "empty_file", message: "The input file has no lines." };
const TOO_MANY: BatchFailure = { code: "too_many_lines", message: `A batch has at most ${LINES_MAX} lines.` };
const NO_KEY: BatchFailure = { code: "key_revoked", message: "The key that created the batch was revoked." };

/** Distinguishes ids in little memory. */
function shortHash(customId: string): string {
  return createHash("sha1").update(customId).digest("base64").slice(0, 16);
}

function duplicate(customId: string): GatewayError {
  const shown = customId.slice(0, 80);
  return new GatewayError("bad_request", { detail: `custom_id: ${shown} was on an earlier line` });
}

/** Reads one file. */
class InputReader {
  readonly index = new LineIndex();
  failed = 0;
  errors: readonly Segment[] = [];
  outputs: readonly Segment[] = [];
  /** The providers whose batch APIs can run all lines so far; null: no line has been bounded. */
  vendors: readonly string[] | null = null;
  readonly #run: BatchRun;
  readonly #caller: Caller;
  readonly #seen = new Set<string>();
  #waiting: ResultLine[] = [];

  constructor(run: BatchRun, caller: Caller) {
    this.#run = run;
    this.#caller = caller;
  }

  /** False: there are too many lines. */
  async read(bytes: AsyncIterable<Uint8Array>): Promise<boolean> {
    const run = this.#run;
    const { clock } = run.deps;
    let sliceMs = clock.elapsedMs();
    for await (const line of linesIn(bytes)) {
      if (run.isLost) break;
      if (line === null || this.index.count >= LINES_MAX) return false;
      const found = await this.#bound(line);
      this.index.add(line.offset, typeof found === "number" ? found : null);
      if (typeof found !== "number") {
        this.#waiting.push(found);
        this.failed += 1;
      }
      if (this.#waiting.length >= ERRORS_AT_ONCE) await this.#flush();
      if (clock.elapsedMs() - sliceMs < SLICE_MS) continue;
      await ownSlice();
      sliceMs = clock.elapsedMs();
    }
    await this.#flush();
    return true;
  }

  /** What the line can cost, or its result where it cannot run. */
  async #bound({ bytes, number }: Line): Promise<Nano | ResultLine> {
    const { job, start, deps } = this.#run;
    const ask = readLine(bytes, start.endpoint, start.wire);
    const named = { id: `batch_req_${job.id.slice(4)}_${number}`, line: number };
    if ("error" in ask) return badLine(start, { ...ask, ...named });
    const { customId, body } = ask;
    const hash = shortHash(customId);
    if (this.#seen.has(hash)) return badLine(start, { customId, ...named, error: duplicate(customId) });
    this.#seen.add(hash);
    // Each line of a stopped batch gets a result too, without the work of pricing it.
    if (this.#run.stop !== null) return ZERO;
    const call = { path: start.endpoint, body, headers: start.headers, caller: this.#caller };
    const bound = await deps.calls.bound(call, this.vendors?.length === 0 ? "inline" : start.mode);
    if ("status" in bound) return answeredLine(start, customId, bound);
    this.vendors = this.vendors?.filter((vendor) => bound.vendors.includes(vendor)) ?? bound.vendors;
    return bound.nano;
  }

  async #flush(): Promise<void> {
    const { results } = this.#run;
    const waiting = this.#waiting;
    this.#waiting = [];
    const of = (wanted: boolean) => waiting.filter(({ isError }) => isError === wanted);
    this.errors = (await results.extended(this.errors, of(true))).list;
    this.outputs = (await results.extended(this.outputs, of(false))).list;
  }
}

/** Stores the index, and a result for each line that cannot run. Returns why the whole batch cannot run; null where it can. */
export async function readInput(run: BatchRun): Promise<BatchFailure | null> {
  const { job, start, deps, accountId } = run;
  const { calls, files, clock } = deps;
  const caller = await job.stored(() => calls.callerOf(accountId, start.keyId));
  if (caller === null) return NO_KEY;
  const reader = new InputReader(run, caller);
  const isRead = await deps.places.input(job.payer.id, async () => {
    const bytes = await job.stored(() => files.read(start.inputId, null));
    return bytes === null ? null : reader.read(bytes);
  });
  if (isRead === null) return GONE;
  if (!isRead) return TOO_MANY;
  const { index, failed, outputs, errors } = reader;
  if (index.count === 0 && run.stop === null) return EMPTY;
  const native = start.mode === "inline" ? null : nativeFor(run, reader.vendors ?? []);
  if (native === null && start.mode === "native" && reader.vendors !== null) return noVendor(start);
  if (native !== null) index.atPercent(native.percent);
  deps.onLines("failed", failed);
  const kept = await run.results.write(async function* () {
    yield index.bytes();
  });
  await run.save({
    ...(await affordable(run, index)),
    state: "in_progress",
    native,
    done: failed,
    failed,
    total: index.count,
    index: kept,
    outputs,
    errors,
    inProgressAtMs: clock.epochMs(),
  });
  return null;
}

/** No provider's batch API can run all lines, although the creator wants one to. */
function noVendor({ wire }: Pick<BatchStart, "wire">): BatchFailure & { readonly param: string } {
  const param = modeField(wire);
  const message = `${param}: no provider's own batch API can run all lines. Use one provider's models, or inline.`;
  return { code: "native_not_possible", message, param };
}

/** Throws for a batch whose first lines show that no provider can run it as its creator wants. */
export async function checkMode(
  start: BatchStart,
  bytes: AsyncIterable<Uint8Array>,
  { calls, accountId }: { readonly calls: LineCalls; readonly accountId: string },
): Promise<void> {
  const caller = start.mode === "native" ? await calls.callerOf(accountId, start.keyId) : null;
  if (caller === null) return;
  let vendors = null as readonly string[] | null;
  let read = 0;
  for await (const line of linesIn(bytes)) {
    if (line === null || ++read > FIRST_LINES) break;
    const ask = readLine(line.bytes, start.endpoint, start.wire);
    if ("error" in ask) continue;
    const call = { path: start.endpoint, body: ask.body, headers: start.headers, caller };
    const bound = await calls.bound(call, start.mode);
    if ("status" in bound) continue;
    vendors = vendors?.filter((vendor) => bound.vendors.includes(vendor)) ?? bound.vendors;
    if (vendors.length > 0) continue;
    const { param, message: detail } = noVendor(start);
    throw new GatewayError("bad_request", { param, detail });
  }
}

function nativeFor({ deps, job }: BatchRun, vendors: readonly string[]): NativeProgress | null {
  for (const vendor of vendors) {
    const percent = deps.vendors.percentOf(vendor, job.payer.sandbox);
    if (percent === null) continue;
    const held = { keyName: null, heldTo: 0, heldNano: ZERO, stop: null, looks: 0 };
    return { vendor, percent, ...held, models: [], batches: null, answers: null };
  }
  return null;
}

/** What all good lines can cost, and how many of them today's balance and the caller's limit pay for. */
async function affordable({ job, deps, accountId, start }: BatchRun, index: LineIndex) {
  const freeNano = await job.stored(() => deps.free(accountId));
  const leftNano = start.maxCostNano === null ? freeNano : least(freeNano, start.maxCostNano);
  let boundNano = ZERO;
  let lines = 0;
  for (let at = 0; at < index.count; at++) {
    const bound = index.bound(at);
    if (bound === null) continue;
    boundNano = add(boundNano, bound);
    if (boundNano <= leftNano) lines += 1;
  }
  return { boundNano, affordable: lines };
}
