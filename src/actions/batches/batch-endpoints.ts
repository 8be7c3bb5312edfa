// POST and GET /v1/batches: batches of calls whose input is a file.
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Call, EndpointSpec, FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { maxCostOf } from "../../models/formats/max-cost.ts";
import { readBody, readQuery } from "../../money/accounts/read-body.ts";
import type { BatchFiles } from "../files/batch-files.ts";
import { noSuchFile } from "../files/lifecycle.ts";
import { launchPlan, payerOf } from "./batch-launch.ts";
import { type BatchStart, KEPT_MS, WINDOW_MS } from "./batch-record.ts";
import { type BatchState, fileBatch, newState } from "./batch-view.ts";
import { answering, lifeSchema, listed, pageOf, pageSchema, payerIn, writer } from "./file-endpoints.ts";
import type { BatchMode, LineCalls } from "./line-calls.ts";
import { OwnBatches, type OwnBatchesParts } from "./own-batches.ts";
import { checkMode } from "./read-input.ts";

const BODY_BYTES_MAX = 64 * 1024;
/** What a line may call. */
const ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/completions",
  "/v1/moderations",
] as const;
const MODE = "tollgate_mode";

/** Undefined: the caller names no mode, so the gateway chooses. Null: the mode is invalid. */
function modeIn(metadata: Readonly<Record<string, string>> | null | undefined): BatchMode | undefined | null {
  const mode = metadata?.[MODE];
  return mode === undefined || mode === "native" || mode === "inline" ? mode : null;
}

const text = (charsMax: number) => z.string().max(charsMax);
const body = z.object({
  input_file_id: text(100),
  endpoint: z.enum(ENDPOINTS),
  completion_window: z.literal("24h"),
  metadata: z
    .record(text(64), text(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "must have at most 16 pairs")
    .refine((pairs) => modeIn(pairs) !== null, `${MODE}: must be native or inline`)
    .nullish(),
  output_expires_after: z.object({ anchor: z.literal("created_at"), seconds: lifeSchema }).nullish(),
  max_cost_cents: z.unknown().optional(),
});

export interface BatchEndpointParts extends OwnBatchesParts {
  readonly files: BatchFiles;
  readonly clock: Clock;
  readonly calls: LineCalls;
}

async function create(call: PlanCall, { files, clock, records, calls }: BatchEndpointParts): Promise<FramedPlan> {
  const payer = payerOf(call);
  const { request } = call;
  const sent = readBody(body, request.body);
  const maxCostNano = maxCostOf(request, sent.max_cost_cents);
  const input = await files.find(payer.id, sent.input_file_id);
  if (input === null) throw noSuchFile();
  // Results are never refused for the quota, so a batch begins only where there is room.
  if (await files.isFull(payer.id))
    throw new GatewayError("storage_quota_exceeded", { detail: { needed: 1, free: 0 } });
  // The batch reads its input until its end, and a process that was cut off may end it late.
  if (!(await files.keepUntil(input, clock.epochMs() + 2 * WINDOW_MS))) throw noSuchFile();
  const seconds = sent.output_expires_after?.seconds;
  const mode = modeIn(sent.metadata);
  const start: BatchStart = {
    wire: "files",
    ...(mode == null ? {} : { mode }),
    endpoint: sent.endpoint,
    inputId: input.id,
    keyId: payer.keyId,
    maxCostNano,
    metadata: sent.metadata ?? null,
    createdAtMs: Math.floor(clock.epochMs()),
    outputMs: seconds === undefined ? KEPT_MS : seconds * 1_000,
    headers: {},
  };
  const bytes = start.mode === "native" ? await files.read(input.id, null) : null;
  if (bytes !== null) await checkMode(start, bytes, { ...payer, calls });
  return launchPlan(call, payer, { start, sent, view: (jobId) => fileBatch(newState(jobId, start)) }, records);
}

/** Paths are below the language-model path. */
export function batchEndpoints(parts: BatchEndpointParts): readonly EndpointSpec[] {
  const own = new OwnBatches(parts, "files");
  const idOf = ({ request }: Call): string => request.params.id ?? "";
  const shown = (state: BatchState) => ({ status: 200, body: fileBatch(state) });
  const at = (...[method, path, answer]: Parameters<typeof answering>) =>
    answering(method, path, answer, BODY_BYTES_MAX);
  return [
    {
      method: "POST",
      path: "/batches",
      auth: "key",
      bodyBytesMax: BODY_BYTES_MAX,
      plan: (call) => create(call, parts),
    },
    at("GET", "/batches", async (call) => {
      const { rows, hasMore } = await pageOf(own.all(payerIn(call)), readQuery(pageSchema, call.request.query));
      return {
        status: 200,
        body: listed(
          rows.map((state) => ({ id: state.id, ...fileBatch(state) })),
          hasMore,
        ),
      };
    }),
    at("GET", "/batches/{id}", async (call) => shown(await own.find(idOf(call), payerIn(call)))),
    at("POST", "/batches/{id}/cancel", async (call) => shown(await own.cancel(idOf(call), writer(call).payer))),
  ];
}
