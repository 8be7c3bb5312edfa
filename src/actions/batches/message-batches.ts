// POST, GET and DELETE /v1/messages/batches: batches of the messages wire, whose requests are in the body.
import { z } from "zod";
import type { Call, EndpointSpec, FramedPlan, PlanCall, StreamAnswer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { inSlices } from "../../core/slices.ts";
import { maxCostOf } from "../../models/formats/max-cost.ts";
import { BETA_HEADER, VERSION_HEADER } from "../../models/formats/messages/headers.ts";
import { readBody, readQuery } from "../../money/accounts/read-body.ts";
import { CONTENT_HEADERS } from "../files/file-endpoints.ts";
import type { BatchEndpointParts } from "./batch-endpoints.ts";
import { launchPlan, payerOf } from "./batch-launch.ts";
import { type BatchStart, batchIdOf, KEPT_MS, modeOf, WINDOW_MS } from "./batch-record.ts";
import { type BatchState, newState } from "./batch-view.ts";
import { answering, pageOf, payerIn, writer } from "./file-endpoints.ts";
import { LINES_MAX } from "./jsonl.ts";
import { OwnBatches } from "./own-batches.ts";
import { checkMode } from "./read-input.ts";
import { splitRequests } from "./split-requests.ts";

const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** How long the input of a refused or repeated request is kept. */
const UNACCEPTED_MS_MAX = 3_600_000;
const PATH = "/messages/batches";

const body = z.object({
  requests: z.array(z.never()),
  tollgate_mode: z.enum(["native", "inline"]).nullish(),
  max_cost_cents: z.unknown().optional(),
});

const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
  after_id: z.string().max(100).optional(),
  before_id: z.string().max(100).optional(),
});

export interface MessageBatchParts extends BatchEndpointParts {
  /** Our public address, for the link to the results. */
  readonly baseUrl: () => string;
}

const timeOf = (ms: number | null | undefined): string | null => (ms == null ? null : new Date(ms).toISOString());

function countsOf({ start, progress, result }: BatchState) {
  const { total = 0, done = 0, failed = 0, refused = 0, stop = null } = progress ?? {};
  const all = Math.max(total, start.lines ?? 0);
  if (result?.status === "failed") return { processing: 0, succeeded: 0, errored: all, canceled: 0, expired: 0 };
  const canceled = stop === "cancelled" ? refused : 0;
  const expired = stop === "expired" ? refused : 0;
  const errored = failed + refused - canceled - expired;
  return { processing: all - done, succeeded: done - failed - refused, errored, canceled, expired };
}

function view(state: BatchState, baseUrl: string): Record<string, unknown> & { readonly id: string } {
  const { jobId, start, progress, result, status, cancelledAtMs } = state;
  const id = batchIdOf(jobId, "messages");
  const hasResults = result !== null && result.output_file_id !== null;
  return {
    id,
    type: "message_batch",
    processing_status: result !== null ? "ended" : status === "cancelling" ? "canceling" : "in_progress",
    request_counts: countsOf(state),
    ended_at: timeOf(result?.endedAtMs),
    created_at: timeOf(start.createdAtMs),
    expires_at: timeOf(start.createdAtMs + WINDOW_MS),
    archived_at: null,
    cancel_initiated_at: timeOf(cancelledAtMs),
    results_url: hasResults ? `${baseUrl}/v1${PATH}/${id}/results` : null,
    tollgate_mode: modeOf(start, progress),
  };
}

async function* bytesOf(lines: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  const blockLines = 256;
  for (let at = 0; at < lines.length; at += blockLines) yield Buffer.concat(lines.slice(at, at + blockLines));
}

function wrong(detail: string): GatewayError {
  return new GatewayError("bad_request", { param: "requests", detail: `requests: ${detail}` });
}

async function create(call: PlanCall, parts: MessageBatchParts): Promise<FramedPlan> {
  const { files, clock, records, baseUrl, calls } = parts;
  const { request } = call;
  const payer = payerOf(call);
  const split = await inSlices(splitRequests(request.body, LINES_MAX));
  if (split === null) throw wrong("is missing, must be a list");
  const { lines, rest } = split;
  if (lines.length === 0 || lines.length > LINES_MAX) throw wrong(`must have 1 to ${LINES_MAX} items`);
  const sent = readBody(body, rest);
  const maxCostNano = maxCostOf(request, sent.max_cost_cents);
  const createdAtMs = Math.floor(clock.epochMs());
  const input = await files.keep(
    payer.id,
    {
      filename: "requests.jsonl",
      purpose: "messages_input",
      sizeBytes: lines.reduce((sum, { length }) => sum + length, 0),
      // Its owner cannot delete it, so it is soon gone unless the batch is accepted.
      expiresAtMs: createdAtMs + UNACCEPTED_MS_MAX,
    },
    bytesOf(lines),
  );
  const headers = [VERSION_HEADER, BETA_HEADER].flatMap((name) => {
    const value = request.headers.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const start: BatchStart = {
    wire: "messages",
    ...(sent.tollgate_mode == null ? {} : { mode: sent.tollgate_mode }),
    endpoint: "/v1/messages",
    inputId: input.id,
    lines: lines.length,
    keyId: payer.keyId,
    maxCostNano,
    metadata: null,
    createdAtMs,
    outputMs: KEPT_MS,
    headers: Object.fromEntries(headers),
  };
  try {
    await checkMode(start, bytesOf(lines), { ...payer, calls });
  } catch (error) {
    await files.delete(input);
    throw error;
  }
  // The key is bound to the whole body.
  const whole = { ...sent, requests: lines.map((line) => line.toString("latin1")) };
  const accepted = async () => {
    // As long as a process that was cut off may need to end the batch.
    if (!(await files.keepUntil(input, createdAtMs + 2 * WINDOW_MS))) throw new Error(`the input ${input.id} is gone`);
  };
  const batch = { start, sent: whole, view: (id: string) => view(newState(id, start), baseUrl()), accepted };
  return launchPlan(call, payer, batch, records);
}

async function results(call: Call, own: OwnBatches, { files }: MessageBatchParts): Promise<StreamAnswer> {
  const state = await own.find(call.request.params.id ?? "", payerIn(call));
  const id = state.result?.output_file_id ?? null;
  const row = id === null ? null : await files.find(payerIn(call).id, id);
  const bytes = row === null ? null : await files.read(row.id, null);
  if (row === null || bytes === null)
    throw new GatewayError("not_found", { of: "issued_id", detail: "The batch has no results." });
  const headers = { ...CONTENT_HEADERS, "content-type": "application/x-jsonl" };
  return { status: 200, headers, bytesTotal: row.sizeBytes, bytes };
}

async function remove(call: Call, own: OwnBatches, { files }: MessageBatchParts) {
  const { payer } = writer(call);
  const id = call.request.params.id ?? "";
  const state = await own.find(id, payer);
  const detail = "The batch is not over. Cancel it first.";
  if (!(await own.forget(id, state.jobId))) throw new GatewayError("conflict", { detail });
  const row = await files.find(payer.id, state.result?.output_file_id ?? "");
  if (row !== null) await files.delete(row);
  return { status: 200, body: { id, type: "message_batch_deleted" } };
}

/** Paths are below the language-model path. */
export function messageBatchEndpoints(parts: MessageBatchParts): readonly EndpointSpec[] {
  const own = new OwnBatches(parts, "messages");
  const answerOf = (state: BatchState) => ({ status: 200, body: view(state, parts.baseUrl()) });
  const idOf = ({ request }: Call): string => request.params.id ?? "";
  const shape = { auth: "key", bodyBytesMax: 0 } as const;
  return [
    { ...shape, method: "POST", path: PATH, bodyBytesMax: BODY_BYTES_MAX, plan: (call) => create(call, parts) },
    answering("GET", PATH, async (call) => {
      const { limit, after_id: after, before_id: before } = readQuery(pageQuery, call.request.query);
      const rows = own.all(payerIn(call));
      const page = before === undefined ? await pageOf(rows, { limit, after }) : await pageBefore(rows, limit, before);
      const data = page.rows.map((state) => view(state, parts.baseUrl()));
      const body = { data, has_more: page.hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
      return { status: 200, body };
    }),
    answering("GET", `${PATH}/{id}`, async (call) => answerOf(await own.find(idOf(call), payerIn(call)))),
    answering(
      "POST",
      `${PATH}/{id}/cancel`,
      async (call) => answerOf(await own.cancel(idOf(call), writer(call).payer)),
      1_024,
    ),
    { ...shape, method: "GET", path: `${PATH}/{id}/results`, stream: (call) => results(call, own, parts) },
    answering("DELETE", `${PATH}/{id}`, (call) => remove(call, own, parts)),
  ];
}

/** The rows just before the one with this id. */
async function pageBefore<Row extends { readonly id: string }>(rows: AsyncIterable<Row>, limit: number, id: string) {
  const page: Row[] = [];
  let hasMore = false;
  for await (const row of rows) {
    if (row.id === id) break;
    page.push(row);
    if (page.length <= limit) continue;
    page.shift();
    hasMore = true;
  }
  return { rows: page, hasMore };
}
