// Whole answers that are kept for who asks the very same again: of one account, for as long as it says, at no charge. What is kept stands
// in the records, so that all processes share it, and each account's has a bound in bytes.

import type { GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { isRecord, type Json } from "../json.ts";
import { readJson } from "../json-bytes.ts";
import type { Caller } from "../plan.ts";
import type { Records } from "../records/records.ts";
import { fingerprint } from "../wires/fingerprint.ts";
import type { Copied } from "./tee-reply.ts";

const KIND = "cached-answer";
const HEADER = "x-tollgate-cache";
const SECONDS_MAX = 86_400;
/** A longer request is not looked for: reading it once more costs more than most of its answers. */
const REQUEST_BYTES_MAX = 1024 * 1024;
export const ANSWER_BYTES_MAX = 1024 * 1024;
const SHARE = { bytesMax: 64 * 1024 * 1024, full: "oldest_leave" } as const;
/** What of an answer's head is told again. */
const KEPT_HEADERS = ["content-type", "x-tollgate-model", "x-tollgate-dropped", "x-tollgate-lowered", "cache-control"];

/** Which answer is meant, and for how long one that comes now is kept. */
export interface CacheOrder {
  readonly id: string;
  readonly payer: string;
  readonly seconds: number;
}

export interface CachedAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly keptAtMs: number;
}

/** Null: the call is not to be looked for. A key that may not pay is told so as always. */
export function cacheOrder(request: GatewayRequest, caller: Caller): CacheOrder | null | GatewayError {
  const said = request.headers.get(HEADER);
  const seconds = said === undefined ? (caller.cacheSeconds ?? 0) : Number(/^\d{1,6}$/.exec(said)?.[0] ?? Number.NaN);
  if (!(seconds <= SECONDS_MAX)) {
    const detail = { detail: `${HEADER}: must be a number of seconds from 0 to ${SECONDS_MAX}` };
    return new GatewayError("bad_request", { detail, param: HEADER });
  }
  if (seconds === 0 || caller.frozen || caller.paused) return null;
  if (request.headers.has("idempotency-key") || request.body.length > REQUEST_BYTES_MAX) return null;
  const read = readJson(request.body);
  if ("wrong" in read) return null;
  const { headers, path, query } = request;
  // What a key may call is part of the question: one that may not ask for a model gets no answer of it.
  const asked = {
    body: read.json,
    allows: caller.allows,
    query: String(query),
    beta: headers.get("anthropic-beta") ?? null,
    trace: headers.get("x-tollgate-trace") ?? null,
  };
  const { id: payer } = caller.payer;
  return { id: `${payer} ${fingerprint(path, asked)}`, payer, seconds };
}

function withoutCost(told: unknown): void {
  if (!isRecord(told)) return;
  for (const place of [told.usage, told.usageMetadata]) if (isRecord(place) && "cost" in place) place.cost = 0;
}

/** A message of an answer as it is told again: it costs nothing. */
function free(json: string): string {
  if (!json.includes('"cost"')) return json;
  let told: unknown;
  try {
    told = JSON.parse(json);
  } catch {
    return json;
  }
  withoutCost(told);
  if (isRecord(told)) for (const inner of [told.response, told.message]) withoutCost(inner);
  return JSON.stringify(told);
}

/** An answer's text without what it did cost when it was made. */
export function freeAnswer(type: string, text: string): string {
  if (!type.startsWith("text/event-stream")) return free(text);
  return text
    .split("\n")
    .map((line) => (line.startsWith("data: ") ? `data: ${free(line.slice("data: ".length))}` : line))
    .join("\n");
}

export class AnswerCache {
  readonly #records: Records;
  readonly #epochMs: () => number;
  /** Questions that are being answered in this process. */
  readonly #flights = new Map<string, Promise<void>>();

  constructor(records: Records, epochMs: () => number) {
    this.#records = records;
    this.#epochMs = epochMs;
  }

  /** The same question that is being answered now; undefined: there is none. */
  flight({ id }: CacheOrder): Promise<void> | undefined {
    return this.#flights.get(id);
  }

  /** From here on until what it answers is called, others who ask the same wait. */
  begin({ id }: CacheOrder): () => void {
    if (this.#flights.has(id)) return () => {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flights.set(id, promise);
    return () => {
      this.#flights.delete(id);
      resolve();
    };
  }

  async find({ id, payer }: CacheOrder): Promise<CachedAnswer | null> {
    const found = await this.#records.get(KIND, id);
    if (found === null || found.payer !== payer) return null;
    const { headers, text } = JSON.parse(found.value) as Pick<CachedAnswer, "headers" | "text">;
    return { headers, text, keptAtMs: found.createdAtMs };
  }

  ageSeconds({ keptAtMs }: CachedAnswer): number {
    return Math.max(0, Math.floor((this.#epochMs() - keptAtMs) / 1_000));
  }

  async keep({ id, payer, seconds }: CacheOrder, { headers, bytes }: Copied): Promise<void> {
    const kept: Json = {};
    for (const name of KEPT_HEADERS) if (headers[name] !== undefined) kept[name] = headers[name];
    const text = freeAnswer(headers["content-type"] ?? "", bytes.toString("utf8"));
    const value = JSON.stringify({ headers: kept, text });
    await this.#records.put({ kind: KIND, id, payer, value, ttlMs: seconds * 1_000, ifVersion: 0, share: SHARE });
  }
}
