// Plays vendors' batch APIs, of uploaded files and of requests in one body. Strict, from the vendors' documents.
import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import type { CallLog } from "./call-log.ts";
import { chatError, hasBearer } from "./conventions.ts";
import { readForm } from "./form.ts";
import { type Refusal, refusalStatus, refusalWords } from "./refusals.ts";
import { type Arrival, jsonOf, type Scenario } from "./scenario.ts";

/** Faults of a batch, by a header of the request that creates it. */
export const BATCH_FAULTS = [
  { name: "batch-slow-<n>", does: "The batch takes n seconds." },
  { name: "batch-expired", does: "The batch expires with half of its lines done." },
  { name: "batch-twice", does: "Every answer is returned twice." },
  { name: "batch-unknown", does: "The results also have an answer with an unknown custom_id." },
  { name: "batch-half", does: "The first download of the answers ends halfway, as if whole." },
  { name: "batch-few", does: "Half of the answers are missing, although the counts say otherwise." },
  { name: "batch-lost", does: "The vendor forgets the batch." },
  { name: "batch-unheard", does: "The batch is created, but the connection breaks before the answer." },
  { name: "batch-refused", does: "400 for the request that creates the batch." },
  { name: "batch-failing", does: "The first line fails with a 500." },
] as const;

const PLACE = /^\/([^/]+)(\/files|\/batches|\/messages\/batches)(?:\/([^/]+))?(?:\/(content|cancel|results))?$/;

export function isBatchArrival({ target }: Arrival): boolean {
  return target.headers["x-tollgate-sandbox-action"] === undefined && PLACE.test(target.url.pathname);
}

const PATHS = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/completions",
  "/v1/moderations",
] as const;
const newFileBatch = z.strictObject({
  input_file_id: z.string(),
  endpoint: z.enum(PATHS),
  completion_window: z.literal("24h"),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
});
const fileLine = z.strictObject({
  custom_id: z.string().min(1),
  method: z.literal("POST"),
  url: z.enum(PATHS),
  body: z.looseObject({ model: z.string().optional() }),
});
const newMessageBatch = z.strictObject({
  requests: z
    .array(z.strictObject({ custom_id: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/), params: z.looseObject({}) }))
    .min(1)
    .max(100_000),
});

interface Line {
  readonly customId: string;
  readonly path: string;
  readonly body: unknown;
}

interface Results {
  readonly answers: readonly string[];
  readonly errors: readonly string[];
  readonly failed: number;
  /** The lines that were not run. */
  readonly cut: number;
}

interface Batch {
  readonly id: string;
  readonly adapter: string;
  readonly isMessages: boolean;
  readonly lines: readonly Line[];
  readonly bytes: number;
  readonly headers: Arrival["target"]["headers"];
  readonly faults: readonly string[];
  readonly createdMs: number;
  readonly shown: Record<string, unknown>;
  /** Why the vendor does not run it. */
  readonly wrong: string | null;
  cancelledMs: number | null;
  /** What the lines came to; null: it runs. */
  results: Results | null;
  /** Runs the lines. */
  settling: Promise<void> | null;
  isCutOnce: boolean;
}

interface Words {
  readonly status: number;
  readonly body: unknown;
}

const BYTES_MAX = 128 * 1024 * 1024;
/** Of one batch. Once its results have more characters, no further line runs. */
const RESULT_CHARS_MAX = BYTES_MAX / 4;
const unknown: Refusal = { kind: "no_path", message: "No such file or batch." };

export interface BatchRoomParts {
  readonly callLog: CallLog;
  readonly nowMs: () => number;
  scenario(arrival: Arrival): Promise<Scenario>;
}

export class BatchRoom {
  readonly #parts: BatchRoomParts;
  readonly #files = new Map<string, Buffer>();
  readonly #batches: Batch[] = [];
  #made = 0;

  constructor(parts: BatchRoomParts) {
    this.#parts = parts;
  }

  reset(): void {
    this.#files.clear();
    this.#batches.length = 0;
  }

  async serve(arrival: Arrival, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isMessages = arrival.target.url.pathname.includes("/messages/batches");
    const words = await this.#words(arrival, isMessages);
    if (words === "cut") return void request.socket.resetAndDestroy();
    if (Buffer.isBuffer(words)) return void response.writeHead(200, { "content-type": "application/jsonl" }).end(words);
    const isRefused = "kind" in words;
    const error = (refusal: Refusal) =>
      isMessages ? { type: "error", error: refusalWords(refusal, "messages") } : chatError(refusal);
    const body = JSON.stringify(isRefused ? error(words) : words.body);
    response
      .writeHead(isRefused ? refusalStatus(words) : words.status, { "content-type": "application/json" })
      .end(body);
  }

  async #words(arrival: Arrival, isMessages: boolean): Promise<Words | Refusal | Buffer | "cut"> {
    const { method, target, body } = arrival;
    const [, adapter = "", place, id, verb] = PLACE.exec(target.url.pathname) ?? [];
    const { "x-api-key": key, authorization } = target.headers;
    if (isMessages ? key === undefined : !hasBearer(authorization)) return { kind: "bad_key" };
    if (body === null) return { kind: "too_large" };
    const asked = `${method} ${verb ?? (id === undefined ? "all" : "one")}`;
    if (place === "/files") return this.#file(asked, id ?? "", arrival);
    if (asked === "POST all") return this.#create(arrival, adapter, isMessages);
    if (asked === "GET all") return this.#list(target.url.searchParams, adapter, isMessages);
    const batch = this.#batches.find((one) => one.id === id && one.adapter === adapter);
    if (batch === undefined || batch.faults.includes("batch-lost")) return unknown;
    if (asked === "POST cancel" && (await this.#settled(batch)) === null) batch.cancelledMs = this.#parts.nowMs();
    if (asked === "GET results") return this.#download(batch);
    if (asked === "DELETE one") return this.#delete(batch);
    return { status: 200, body: await this.#view(batch) };
  }

  async #file(asked: string, id: string, { target, body }: Arrival): Promise<Words | Refusal | Buffer> {
    const kept = [...this.#files.keys(), ...this.#batches.flatMap(outputsOf)];
    if (asked === "GET all") return { status: 200, body: { object: "list", data: kept.map((one) => ({ id: one })) } };
    if (asked !== "POST all" && !kept.includes(id)) return unknown;
    const batch = this.#batches.find((one) => outputsOf(one).includes(id));
    const isErrors = id.endsWith("-errors");
    if (asked === "GET content" && batch !== undefined)
      return isErrors ? jsonl(batch.results?.errors) : this.#download(batch);
    if (asked === "DELETE one") {
      this.#files.delete(id);
      if (batch?.results != null) batch.results = { ...batch.results, [isErrors ? "errors" : "answers"]: [] };
      return { status: 200, body: { id, object: "file", deleted: true } };
    }
    if (asked !== "POST all") return unknown;
    const form = await readForm(body ?? Buffer.alloc(0), String(target.headers["content-type"]), true);
    const [file] = Array.isArray(form?.file) ? form.file : [];
    if (form?.purpose !== "batch" || file === undefined)
      return { kind: "invalid", message: "purpose or file is wrong" };
    const fileId = `file-${++this.#made}`;
    this.#files.set(fileId, file.content);
    const all = [...this.#files].toReversed();
    for (const [old] of all.slice(fitting(all.map(([, { length }]) => length)))) this.#files.delete(old);
    return { status: 200, body: { id: fileId, object: "file", bytes: file.bytes, purpose: "batch" } };
  }

  #create({ target, body }: Arrival, adapter: string, isMessages: boolean): Words | Refusal | "cut" {
    const json = jsonOf(body ?? Buffer.alloc(0));
    const read = (isMessages ? newMessageBatch : newFileBatch).safeParse(json);
    const faults = String(target.headers["x-tollgate-sandbox-fault"] ?? "").split(",");
    if (!read.success) return { kind: "invalid", message: read.error.issues[0]?.message };
    if (faults.includes("batch-refused")) return { kind: "invalid", message: "The batch is refused." };
    const { requests } = read.data as Partial<z.infer<typeof newMessageBatch>>;
    const { input_file_id: fileId = "", ...shown } = read.data as Partial<z.infer<typeof newFileBatch>>;
    const input = this.#files.get(fileId);
    if (!isMessages && input === undefined) return unknown;
    const lines =
      requests?.map(({ custom_id: customId, params }) => ({ customId, path: "/messages", body: params })) ??
      fileLines(input ?? Buffer.alloc(0), shown.endpoint ?? "");
    const batch: Batch = {
      id: `${isMessages ? "msgbatch" : "batch"}_${++this.#made}`,
      adapter,
      isMessages,
      lines: typeof lines === "string" ? [] : lines,
      bytes: (input ?? body)?.length ?? 0,
      headers: target.headers,
      faults,
      createdMs: this.#parts.nowMs(),
      shown: { ...shown, input_file_id: fileId },
      wrong: typeof lines === "string" ? lines : isTwice(lines) ? "a custom_id is repeated" : null,
      cancelledMs: null,
      results: null,
      settling: null,
      isCutOnce: false,
    };
    if (isMessages && batch.wrong !== null) return { kind: "invalid", message: batch.wrong };
    this.#batches.unshift(batch);
    this.#evict();
    return faults.includes("batch-unheard") ? "cut" : { status: 200, body: viewOf(batch) };
  }

  #delete(batch: Batch): Words | Refusal {
    if (!batch.isMessages || batch.results === null)
      return { kind: "invalid", message: "The batch cannot be deleted." };
    this.#batches.splice(this.#batches.indexOf(batch), 1);
    return { status: 200, body: { id: batch.id, type: "message_batch_deleted" } };
  }

  async #list(query: URLSearchParams, adapter: string, isMessages: boolean): Promise<Words> {
    const own = this.#batches.filter((one) => one.adapter === adapter && one.isMessages === isMessages);
    const known = own.filter(({ faults }) => !faults.includes("batch-lost"));
    const after = query.get(isMessages ? "after_id" : "after");
    const rest = known.slice(known.findIndex(({ id }) => id === after) + 1);
    const limit = Number(query.get("limit") ?? 20);
    const data: Record<string, unknown>[] = [];
    // One after the other, because running the lines of one may evict another.
    for (const batch of rest.slice(0, limit)) if (this.#batches.includes(batch)) data.push(await this.#view(batch));
    return { status: 200, body: { object: "list", data, has_more: rest.length > limit } };
  }

  async #view(batch: Batch): Promise<Record<string, unknown>> {
    await this.#settled(batch);
    return viewOf(batch);
  }

  /** The results of a batch that has ended; null: it runs. */
  async #settled(batch: Batch): Promise<Batch["results"]> {
    const { faults, lines, createdMs, cancelledMs } = batch;
    const slow = faults.map((fault) => Number(/^batch-slow-([\d.]+)$/.exec(fault)?.[1] ?? 0));
    const msMax = 1_000 * Math.max(...slow);
    const ms = (cancelledMs ?? this.#parts.nowMs()) - createdMs;
    if (batch.results !== null || (cancelledMs === null && ms < msMax)) return batch.results;
    const share = faults.includes("batch-expired") ? 0.5 : Math.min(1, msMax === 0 ? 1 : ms / msMax);
    // A second look does not run the lines again.
    batch.settling ??= this.#runAll(batch, Math.floor(share * lines.length));
    await batch.settling;
    return batch.results;
  }

  async #runAll(batch: Batch, done: number): Promise<void> {
    const { lines, isMessages, faults } = batch;
    const results = { answers: [] as string[], errors: [] as string[], failed: 0, cut: 0 };
    let chars = 0;
    for (const [at, line] of lines.entries()) {
      const answer = at < done && chars <= RESULT_CHARS_MAX ? await this.#run(batch, line, at) : null;
      const isGood = answer !== null && answer.status < 300;
      if (answer === null) results.cut += 1;
      else if (!isGood) results.failed += 1;
      const result = resultLine(batch, line, answer);
      chars += result.length;
      (isGood || isMessages ? results.answers : results.errors).push(result);
    }
    if (faults.includes("batch-unknown") && results.answers[0] !== undefined)
      results.answers.push(results.answers[0].replace(/"custom_id":"[^"]*"/, '"custom_id":"nobody-0-0"'));
    batch.results = results;
    this.#evict();
  }

  /** Drops the oldest batches for which there is no memory. */
  #evict(): void {
    for (const old of this.#batches.splice(fitting(this.#batches.map(sizeOf)))) old.results = null;
  }

  async #run({ adapter, faults, headers }: Batch, { path, body }: Line, at: number): Promise<Words> {
    const { authorization, "x-api-key": key, ...others } = headers;
    const named = Object.entries(others).filter(([name]) => /-(version|beta)$/.test(name));
    const login = { ...(authorization && { authorization }), ...(key && { "x-api-key": key }) };
    const { act, conduct, dialect, ask } = await this.#parts.scenario({
      method: "POST",
      target: {
        url: new URL(`http://sandbox/${adapter}${path}`),
        headers: { ...Object.fromEntries(named), ...login, "content-type": "application/json" },
      },
      body: Buffer.from(JSON.stringify(body)),
    });
    const isAnswered = act.kind === "answer" && !(at === 0 && faults.includes("batch-failing"));
    const { promptTokens = 0, cachedTokens = 0, outputTokens = 0 } = isAnswered ? act.answer.usage : {};
    const tokens = { tokensIn: promptTokens, cachedTokensIn: cachedTokens };
    const call = this.#parts.callLog.open({ adapter, model: ask?.model ?? "", ...tokens });
    call.written(outputTokens);
    call.end(isAnswered ? "whole" : "refused");
    if (isAnswered) return { status: 200, body: act.reading.whole(act.answer, conduct) };
    const refusal: Refusal = act.kind === "refuse" ? act.refusal : { kind: "server_error" };
    return { status: refusalStatus(refusal), body: dialect.error(refusal) };
  }

  #download(batch: Batch): Buffer | Refusal {
    if (batch.results === null) return unknown;
    const { faults } = batch;
    const { answers } = batch.results;
    const some = faults.includes("batch-few") ? answers.slice(answers.length / 2) : answers;
    const whole = jsonl(faults.includes("batch-twice") ? [...some, ...some] : some);
    const isCut = faults.includes("batch-half") && !batch.isCutOnce;
    batch.isCutOnce = true;
    return isCut ? whole.subarray(0, whole.length / 2) : whole;
  }
}

/** How many of these, the newest first, the sandbox has memory for. */
function fitting(bytes: readonly number[]): number {
  let sum = 0;
  const first = bytes.findIndex((one) => {
    sum += one;
    return sum > BYTES_MAX;
  });
  return first < 0 ? bytes.length : Math.max(1, first);
}

function sizeOf({ bytes, results }: Batch): number {
  const lines = results === null ? [] : [...results.answers, ...results.errors];
  return lines.reduce((sum, line) => sum + line.length, bytes);
}

function outputsOf({ id, isMessages, results }: Batch): string[] {
  const { answers = [], errors = [] } = isMessages ? {} : (results ?? {});
  return [...(answers.length === 0 ? [] : [`${id}-answers`]), ...(errors.length === 0 ? [] : [`${id}-errors`])];
}

function jsonl(lines: readonly string[] = []): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(""));
}

function isTwice(lines: readonly Line[]): boolean {
  return new Set(lines.map(({ customId }) => customId)).size < lines.length;
}

/** The lines of an input file, or what is wrong with it. */
function fileLines(input: Buffer, endpoint: string): readonly Line[] | string {
  const lines: Line[] = [];
  const models = new Set<unknown>();
  for (const text of input.toString("utf8").split("\n").filter(Boolean)) {
    const read = fileLine.safeParse(jsonOf(Buffer.from(text)));
    if (!read.success) return read.error.issues[0]?.message ?? "a line is wrong";
    const { custom_id: customId, url, body } = read.data;
    if (url !== endpoint) return "a line is for another endpoint";
    models.add(body.model);
    lines.push({ customId, path: url.slice("/v1".length), body });
  }
  return models.size > 1 ? "the lines name several models" : lines;
}

function resultLine({ isMessages, cancelledMs }: Batch, { customId }: Line, answer: Words | null): string {
  const custom_id = customId;
  if (isMessages) {
    const type = cancelledMs === null ? "expired" : "canceled";
    const good = answer !== null && answer.status < 300;
    const bad = answer === null ? { type } : { type: "errored", error: answer.body };
    return JSON.stringify({ custom_id, result: good ? { type: "succeeded", message: answer.body } : bad });
  }
  const code = cancelledMs === null ? "batch_expired" : "batch_cancelled";
  const error = answer === null ? { code, message: "This request was not executed." } : null;
  const response = answer && { status_code: answer.status, request_id: "req_sandbox", body: answer.body };
  return JSON.stringify({ id: "batch_req_sandbox", custom_id, response, error });
}

function viewOf(batch: Batch): Record<string, unknown> {
  const { id, isMessages, lines, createdMs, cancelledMs, wrong, shown, results } = batch;
  const left = results === null ? lines.length : 0;
  const { failed = 0, cut = 0 } = results ?? {};
  const good = lines.length - left - cut - failed;
  if (isMessages) {
    const [canceled, expired] = cancelledMs === null ? [0, cut] : [cut, 0];
    return {
      id,
      type: "message_batch",
      processing_status: results !== null ? "ended" : "in_progress",
      request_counts: { processing: left, succeeded: good, errored: failed, canceled, expired },
      created_at: new Date(createdMs).toISOString(),
      results_url: results === null ? null : `http://sandbox/messages/batches/${id}/results`,
    };
  }
  const ended = cancelledMs !== null ? "cancelled" : cut > 0 ? "expired" : "completed";
  return {
    id,
    object: "batch",
    ...shown,
    status: wrong !== null ? "failed" : results === null ? "in_progress" : ended,
    errors: wrong === null ? null : { object: "list", data: [{ code: "invalid_input", message: wrong, line: null }] },
    created_at: Math.floor(createdMs / 1_000),
    output_file_id: outputsOf(batch).find((file) => file.endsWith("-answers")) ?? null,
    error_file_id: outputsOf(batch).find((file) => file.endsWith("-errors")) ?? null,
    request_counts: { total: lines.length, completed: good, failed },
  };
}
