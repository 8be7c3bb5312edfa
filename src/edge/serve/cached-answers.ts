// The answer cache: serves a call from it, where its caller allows that. Of misses, complete successful answers are cached.

import { hash } from "node:crypto";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { membersOf, memberValue, readJson } from "../../core/json-bytes.ts";
import { ZERO } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import { parseRaw } from "../../core/raw-json.ts";
import type { Leg, TokenUsage } from "../../core/route.ts";
import { launchCharge } from "../../kernel/replay.ts";
import { hasActions } from "../../models/formats/action-tools.ts";
import { fingerprint, withoutForm } from "../../models/formats/fingerprint.ts";
import type { Records } from "../../platform/records/records.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { type Copied, TeeReply } from "./tee-reply.ts";

// Caches whole answers for identical requests: of one account, for as long as its key or the request says, free of charge. They are stored
// in the records, so that all processes share them, with one size limit for all accounts, divided into parts.

const KIND = "cached-answer";
const CACHE_HEADER = "x-tollgate-cache";
const SECONDS_MAX = 86_400;
/** Longer requests are not cached: parsing one again costs more than most of its answers. */
const REQUEST_BYTES_MAX = 1024 * 1024;
const ANSWER_BYTES_MAX = 1024 * 1024;
/** The cache has this many equal parts; accounts whose ids hash to the same part share it. */
const PARTS = 16;
const KEPT_HEADERS = [
  "content-type",
  "x-tollgate-model",
  "x-tollgate-dropped",
  "x-tollgate-lowered",
  "x-tollgate-stand-in",
  "cache-control",
];

interface CacheOrder {
  readonly id: string;
  /** The requested form of the answer: an answer in another form is converted. */
  readonly form: string;
  readonly payer: string;
  readonly seconds: number;
}

interface CachedAnswer extends MadeOf {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly keptAtMs: number;
}

interface MadeOf {
  readonly form: string;
  readonly usage: TokenUsage | null;
  readonly legs: readonly Leg[];
}

/** Null: the call bypasses the cache. With a guard, what it allows one key does not reach another key. */
export function cacheOrder(
  request: GatewayRequest,
  caller: Caller,
  isGuarded: boolean,
): CacheOrder | null | GatewayError {
  const said = request.headers.get(CACHE_HEADER);
  const seconds = said === undefined ? (caller.cacheSeconds ?? 0) : Number(/^\d{1,6}$/.exec(said)?.[0] ?? Number.NaN);
  if (!(seconds <= SECONDS_MAX)) {
    const detail = `${CACHE_HEADER}: must be a number of seconds from 0 to ${SECONDS_MAX}`;
    return new GatewayError("bad_request", { detail, param: CACHE_HEADER });
  }
  // A cached answer repeats no effect, so calls with actions use the cache only if the request itself asks for it, not because of the key's
  // setting.
  if (seconds === 0 || caller.frozen || caller.paused) return null;
  if (request.headers.has("idempotency-key") || request.body.length > REQUEST_BYTES_MAX) return null;
  const read = readJson(request.body, parseRaw);
  if ("wrong" in read || (said === undefined && isRecord(read.json) && hasActions(read.json.tools))) return null;
  const { headers, query } = request;
  const { path, body } = withoutForm(request.path, read.json);
  // What a key may call is part of the cache key: a key that may not call a model gets no answer of it.
  const asked = {
    body,
    allows: caller.allows,
    key: isGuarded ? caller.payer.keyId : null,
    query: String(new URLSearchParams([...query].filter(([name]) => name !== "alt"))),
    beta: headers.get("anthropic-beta") ?? null,
    trace: headers.get("x-tollgate-trace") ?? null,
  };
  const { id: payer } = caller.payer;
  const { stream, stream_options: options } = isRecord(read.json) ? read.json : {};
  const form = JSON.stringify([path === request.path && stream !== true, query.get("alt"), options]);
  return { id: `${payer} ${fingerprint(path, asked)}`, form, payer, seconds };
}

/** Nested member names, down to a member that is set to 0. */
interface Places {
  readonly [name: string]: Places | null;
}

const COST: Places = { cost: null };
const USAGE: Places = { usage: COST, usageMetadata: COST };
const COSTS: Places = { ...USAGE, response: USAGE, message: USAGE };
const [NOTHING, OPEN_OBJECT] = [Buffer.from("0"), 0x7b];

/** A JSON text with 0 at the given places. All other bytes stay: parsing and serializing would change large numbers. */
function withoutCost(json: Buffer, places: Places): Buffer {
  if (json[0] !== OPEN_OBJECT) return json;
  const parts: Buffer[] = [];
  let behind = 0;
  for (const member of membersOf(json)) {
    const inner = Object.hasOwn(places, member.name) ? places[member.name] : undefined;
    if (inner === undefined) continue;
    const { start, end } = memberValue(json, member);
    parts.push(json.subarray(behind, start), inner === null ? NOTHING : withoutCost(json.subarray(start, end), inner));
    behind = end;
  }
  return Buffer.concat([...parts, json.subarray(behind)]);
}

/** An answer's message as a cached answer has it: it costs nothing. */
function free(json: string): string {
  return json.includes('"cost"') ? withoutCost(Buffer.from(json), COSTS).toString("utf8") : json;
}

export function freeAnswer(type: string, text: string): string {
  if (!type.startsWith("text/event-stream")) return free(text);
  return text
    .split("\n")
    .map((line) => (line.startsWith("data: ") ? `data: ${free(line.slice("data: ".length))}` : line))
    .join("\n");
}

function partOf(payer: string): string {
  return `cache:${Number.parseInt(hash("sha256", payer).slice(0, 8), 16) % PARTS}`;
}

/** The answer that concurrent identical requests wait for; null: there was none. */
type Flight = Promise<CachedAnswer | null>;

interface AnswerCacheOptions {
  readonly records: Records;
  readonly bytesMax: number;
  readonly epochMs: () => number;
}

export class AnswerCache {
  readonly #options: AnswerCacheOptions;
  readonly #flights = new Map<string, Flight>();

  constructor(options: AnswerCacheOptions) {
    this.#options = options;
  }

  /**
   * Of concurrent identical requests one proceeds: it gets a function and must call it with its answer, which the others receive. If the
   * answer is null the next request proceeds, so that failures do not make all of them call upstream together.
   */
  async enter({ id }: CacheOrder): Promise<CachedAnswer | ((answer: CachedAnswer | null) => void)> {
    for (let flight = this.#flights.get(id); flight !== undefined; flight = this.#flights.get(id)) {
      const answer = await flight;
      if (answer !== null) return answer;
    }
    const { promise, resolve } = Promise.withResolvers<CachedAnswer | null>();
    this.#flights.set(id, promise);
    return (answer) => {
      this.#flights.delete(id);
      resolve(answer);
    };
  }

  async find({ id }: CacheOrder): Promise<CachedAnswer | null> {
    const found = await this.#options.records.get(KIND, id);
    if (found === null) return null;
    const kept = JSON.parse(found.value) as Omit<CachedAnswer, "keptAtMs">;
    return { ...kept, keptAtMs: found.createdAtMs };
  }

  ageSeconds({ keptAtMs }: CachedAnswer): number {
    return Math.max(0, Math.floor((this.#options.epochMs() - keptAtMs) / 1_000));
  }

  answerOf({ headers, bytes }: Copied, made: MadeOf): CachedAnswer {
    const kept: Record<string, string> = {};
    for (const name of KEPT_HEADERS) if (headers[name] !== undefined) kept[name] = headers[name];
    const text = freeAnswer(headers["content-type"] ?? "", bytes.toString("utf8"));
    return { ...made, headers: kept, text, keptAtMs: this.#options.epochMs() };
  }

  async keep({ id, payer, seconds }: CacheOrder, { keptAtMs: _, ...kept }: CachedAnswer): Promise<void> {
    const { records, bytesMax } = this.#options;
    const share = { bytesMax: Math.floor(bytesMax / PARTS), full: "oldest_leave" } as const;
    const value = JSON.stringify(kept);
    await records.put({ kind: KIND, id, payer: partOf(payer), value, ttlMs: seconds * 1_000, ifVersion: 0, share });
  }
}

const FREE = { chargeNano: ZERO, upstreamNano: ZERO, estimated: false, priceVersion: "" };

export function answerFromCache(call: Call, { cache, guard, answerGuard, onBroken }: ServeDeps): Promise<void> | void {
  const { caller, endpoint, request } = call;
  if (cache === undefined || caller === null || endpoint.cached !== true) return;
  const order = call.orRefuse(cacheOrder(request, caller, guard !== undefined));
  if (order !== null) return findOrKeep(call, order, { cache, isAnswerGuarded: answerGuard !== undefined, onBroken });
}

async function findOrKeep(
  call: Call,
  order: CacheOrder,
  {
    cache,
    isAnswerGuarded,
    onBroken,
  }: { cache: AnswerCache; isAnswerGuarded: boolean; onBroken: ServeDeps["onBroken"] },
): Promise<void> {
  const { record } = call;
  const inForm = async (kept: CachedAnswer | null) => {
    if (kept === null || kept.form === order.form) return kept;
    // The guard sees only whole answers: one that was streamed past it must not be returned whole.
    return isAnswerGuarded ? null : inFormOf(call, kept);
  };
  const entered = await cache.enter(order);
  if (typeof entered !== "function") {
    const answer = await inForm(entered);
    if (answer !== null) send(call, answer, cache.ageSeconds(answer));
    return;
  }
  let answer: CachedAnswer | null = null;
  call.onEnd(() => entered(answer));
  // While the store is down, serve the call without the cache.
  answer = await inForm(await cache.find(order).catch(() => null));
  if (answer !== null) return send(call, answer, cache.ageSeconds(answer));
  call.reply.header(CACHE_HEADER, "miss");
  const tee = new TeeReply(call.reply, ANSWER_BYTES_MAX);
  call.reply = tee;
  call.onEnd(async (error) => {
    const { copied } = tee;
    if (error !== null || copied === null || record.outcome !== "success" || record.status !== 200) return;
    answer = cache.answerOf(copied, { form: order.form, usage: record.usage, legs: record.attempts });
    await cache.keep(order, answer).catch((fault: unknown) => onBroken(fault, record.requestId));
  });
}

/** A cached answer in the form that this call requests; null: it cannot be converted. */
async function inFormOf(call: Call, kept: CachedAnswer): Promise<CachedAnswer | null> {
  const { endpoint } = call;
  if (!("plan" in endpoint)) return null;
  const planning = async () => endpoint.plan(call);
  const framed = await planning().catch(refusalIn);
  if (framed instanceof GatewayError) return null;
  framed.ended?.();
  const { headers, text, usage, legs, keptAtMs } = kept;
  const again = framed.retell?.({
    text,
    type: headers["content-type"] ?? "",
    model: headers["x-tollgate-model"] ?? legs.at(-1)?.model ?? "",
    createdS: Math.floor(keptAtMs / 1_000),
    cost: { ...FREE, usage },
    charge: launchCharge("", null),
    legs,
  });
  if (again === null || again === undefined) return null;
  const type = framed.plan.streamed && framed.frame.keepAlive !== null ? "text/event-stream" : "application/json";
  return {
    ...kept,
    headers: { ...headers, "content-type": type },
    text: Buffer.from(again as string).toString("utf8"),
  };
}

function send(call: Call, { headers, text }: CachedAnswer, ageSeconds: number): void {
  const { reply, rateLimit, record } = call;
  call.isAnswered = true;
  rateLimit.tell();
  addHeaders(reply, headers);
  addHeaders(reply, { [CACHE_HEADER]: "hit", age: String(ageSeconds), "x-tollgate-cost-usd": "0" });
  record.outcome = "replayed";
  record.status = 200;
  record.bytesOut = Buffer.byteLength(text);
  if (headers["content-type"]?.startsWith("text/event-stream")) {
    reply.begin(200);
    reply.end(text);
  } else reply.send(200, text);
}
