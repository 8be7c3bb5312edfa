// `tollgate certify`: calls vendors for real to verify their adapters, and reports answers that differ from the expected ones. The expected
// answer is that of the vendor's stand-in to the same question: it follows our adapters.

import { randomBytes } from "node:crypto";
import { upstreamCentsTaken } from "../../actions/run/action-price.ts";
import type { Adapter, Catalog } from "../../catalog/catalog.ts";
import { costOfUsage, priceAt } from "../../catalog/price.ts";
import { systemClock } from "../../core/clock.ts";
import { isRecord } from "../../core/json.ts";
import { add, least, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import { DIFFERS_MAX, TEXT_CHARS_MAX, type VendorCertificate } from "../../edge/web/console/certificates.ts";
import { type Asked, askOnce } from "../../gateway/check-provider.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import type { UnpricedUsage } from "../../upstream/model-candidate.ts";
import { lineOf } from "../../upstream/route-failures.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { SeenAnswer, VendorTap } from "../../upstream/vendor-tap.ts";
import { jsonIn, type Shape, shapeDifferences, shapeOf } from "./answer-shape.ts";
import { NEEDS_ANOTHER, type Question, type QuestionKind, questionsFor } from "./questions.ts";

const CONTENT_MS_MAX = 60_000;
const WHOLE_MS_MAX = 120_000;
/** A vendor's own cost may differ from ours by this fraction without a finding: prices are rounded. */
const COST_PARTS = 20;
const STOPPED = "it was stopped";
const LIMIT_HEADER = /ratelimit|rate-limit|^retry-after/;

/** One difference between the answer and the adapter. Contains no content of the answer. */
export interface Finding {
  readonly what: "failed" | "answered" | "content" | "usage" | "events" | "price" | "field" | "type" | "status";
  /** For people: only names, numbers and types. */
  readonly detail: string;
}

export interface CertifiedCall {
  readonly provider: string;
  readonly asked: string;
  readonly kind: QuestionKind;
  readonly verdict: "fine" | "differs" | "not asked";
  /** The vendor's last HTTP status; 0 where there was none. */
  readonly status: number;
  readonly ms: number;
  /** In nano-USD: by our price, and by the vendor's own statement where it makes one. */
  readonly cost_nano_usd: number;
  readonly told_nano_usd: number | null;
  readonly findings: readonly Finding[];
  /** Fields that the stand-in does not have. */
  readonly new_fields: readonly string[];
  readonly limit_headers: readonly string[];
  /** Why the question was skipped; "" where it was not. */
  readonly note: string;
}

export interface Certificate {
  /** True: the stand-ins were called, on request or for lack of keys. */
  readonly stand_ins: boolean;
  /** Why the run stopped early; null: it is complete. */
  readonly stopped: "max_cents" | "interrupted" | null;
  readonly spent_nano_usd: number;
  readonly calls: readonly CertifiedCall[];
}

export interface CertifyDeps {
  readonly catalog: Catalog;
  readonly upstream: Upstream;
  readonly signal: AbortSignal;
  readonly tap: VendorTap;
  /** Vendor counters without a price here, since the last call. */
  readonly unpriced: () => readonly UnpricedUsage[];
}

export interface CertifyOrder {
  readonly adapters: readonly Adapter[];
  readonly centsMax: number;
  /** Called after each call, with the cost so far, and the vendor's message of a failure. */
  onCall(call: CertifiedCall, spentNano: Nano, words: string): void;
  onShape(call: CertifiedCall, shape: Shape): void;
}

interface Came {
  readonly asked: Asked;
  readonly answers: readonly SeenAnswer[];
  readonly shape: Shape;
  readonly ms: number;
}

/** The shape of the last answer: how often an action polls before it depends on the vendor's speed. */
function lastShape(answers: readonly SeenAnswer[]): Shape {
  const last = answers.at(-1);
  return last === undefined ? {} : shapeOf(last.body, last.headers["content-type"] ?? "");
}

async function comeOf(question: Question, sandbox: boolean, { catalog, upstream, signal, tap }: CertifyDeps) {
  const requestId = `req_certify${randomBytes(8).toString("hex")}`;
  const createdS = Math.floor(systemClock.epochMs() / 1000);
  const open = question.open({ catalog, upstream, requestId, createdS, msMax: CONTENT_MS_MAX }, sandbox);
  if (typeof open === "string") return open;
  tap.take();
  const startedMs = systemClock.elapsedMs();
  const asked = await askOnce(open.candidate, { contentMsMax: CONTENT_MS_MAX, wholeMsMax: WHOLE_MS_MAX, signal });
  const answers = tap.take();
  const ms = Math.round(systemClock.elapsedMs() - startedMs);
  return { asked, answers, shape: lastShape(answers), ms } satisfies Came;
}

/** What the vendor charges by our price; null where its answer does not say enough. */
function ourCost({ offer, boundNano }: Question, { asked }: Came, nowMs: number): Nano | null {
  // A refused call costs nothing; for an answer that was cut off or unreadable it is unknown.
  if (asked.failure !== null) return asked.failure.status >= 400 ? ZERO : null;
  if (offer.of === "action") {
    const { spec } = offer.offer;
    const listed = nanoFromCents(upstreamCentsTaken(spec, offer.params, null, asked.reading.miss === true));
    // An action paid per call costs what the vendor asked for, up to the listed price.
    return spec.price.paid === undefined ? listed : least(listed, asked.reading.upstreamCostNano ?? listed);
  }
  const { usage } = asked.reading;
  return usage === null ? null : least(boundNano, costOfUsage(priceAt(offer.offer.cost, nowMs), usage));
}

/** Whether the answer has the requested content, as callers would have read it. */
function contentFindings(kind: QuestionKind, { final, streamed, reading }: Asked): readonly Finding[] {
  const missing = (detail: string): readonly Finding[] => [{ what: "content", detail }];
  if (kind === "streamed") return streamed.length > 0 ? [] : missing("no content was streamed");
  if (kind === "action") return [];
  const message = final?.kind === "body" ? atPointer(final.body, "/choices/0/message") : undefined;
  if (kind === "whole") {
    const said = atPointer(message, "/content") || atPointer(message, "/reasoning") || reading.usage?.reasoningTokens;
    return said ? [] : missing("the answer has no text");
  }
  if (kind === "tools") {
    const call = atPointer(message, "/tool_calls/0/function");
    if (atPointer(call, "/name") !== "note_word") return missing("the tool was not called");
    const sent = jsonIn(String(atPointer(call, "/arguments")));
    return isRecord(sent) ? [] : missing("the tool's arguments are no JSON object");
  }
  const made = jsonIn(String(atPointer(message, "/content")));
  return typeof atPointer(made, "/word") === "string" ? [] : missing("the answer does not follow the schema");
}

function priceFindings(ours: Nano | null, { reading }: Asked): readonly Finding[] {
  const told = reading.upstreamCostNano;
  if (told === null || ours === null || Math.abs(told - ours) * COST_PARTS <= ours) return [];
  return [{ what: "price", detail: `the vendor took ${told} nano-USD, by our price it is ${ours}` }];
}

function failureFindings({ kind }: Question, { failure }: Asked): readonly Finding[] {
  if (failure === null)
    return kind === "refusal" ? [{ what: "answered", detail: "a model that does not exist was answered" }] : [];
  const { status } = failure;
  const isRefused = status >= 400 && status < 500 && !failure.kind.startsWith("provider_auth");
  return kind === "refusal" && isRefused ? [] : [{ what: "failed", detail: `${failure.kind}, status ${status}` }];
}

function usageFindings({ offer }: Question, { reading, failure }: Asked): readonly Finding[] {
  if (offer.of === "action" || failure !== null) return [];
  const { usage, skippedEvents } = reading;
  const events: readonly Finding[] =
    skippedEvents === 0 ? [] : [{ what: "events", detail: `${skippedEvents} events could not be read` }];
  if (usage === null) return [...events, { what: "usage", detail: "the answer tells no usage" }];
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const isCounted = prompt > 0 && usage.outputTokens > 0;
  return isCounted ? events : [...events, { what: "usage", detail: `${prompt} in, ${usage.outputTokens} out` }];
}

/** The differences between the answer's shape and the stand-in's. */
function shapeFindings(expected: Came | null, came: Came) {
  if (expected === null || Object.keys(expected.shape).length === 0) return { findings: [], newFields: [] };
  const all = shapeDifferences(expected.shape, came.shape);
  const findings = all.flatMap(({ at, difference, expected: types, came: found }): Finding[] => {
    const name = at === "" ? "the whole body" : at;
    if (difference === "missing") return [{ what: "field", detail: `${name} (${types.join(" or ")}) is missing` }];
    if (difference === "new") return [];
    return [{ what: "type", detail: `${name} is ${found.join(" or ")}, not ${types.join(" or ")}` }];
  });
  return { findings, newFields: all.flatMap(({ at, difference }) => (difference === "new" ? [at] : [])) };
}

function limitHeaders(answers: readonly SeenAnswer[]): readonly string[] {
  const names = answers.flatMap(({ headers }) => Object.keys(headers).filter((name) => LIMIT_HEADER.test(name)));
  return [...new Set(names)].sort();
}

function notAsked(adapter: Adapter, { kind, asked }: Question, note: string): CertifiedCall {
  const nothing = { status: 0, ms: 0, cost_nano_usd: 0, told_nano_usd: null };
  const lists = { findings: [], new_fields: [], limit_headers: [] };
  return Object.assign({ provider: adapter.id, asked, kind, verdict: "not asked" as const, note }, nothing, lists);
}

/** Whether the stand-in does not know what the example names, such as an id that callers choose. */
function isUnmade({ kind }: Question, came: Came | string): boolean {
  return kind === "action" && typeof came !== "string" && came.asked.failure?.status === 404;
}

interface Judged {
  readonly call: CertifiedCall;
  readonly came: Came | null;
  readonly takenNano: Nano;
}

async function judge(adapter: Adapter, question: Question, deps: CertifyDeps): Promise<Judged> {
  const none = (note: string): Judged => ({ call: notAsked(adapter, question, note), came: null, takenNano: ZERO });
  const isStandIn = adapter.isSandbox === true;
  // The stand-in first: a live call with nothing to compare would be a waste of money.
  const expected = isStandIn ? null : await comeOf(question, true, deps);
  deps.unpriced();
  if (deps.signal.aborted) return none(STOPPED);
  if (expected !== null && isUnmade(question, expected)) return none(NEEDS_ANOTHER);
  const came = await comeOf(question, isStandIn, deps);
  if (typeof came === "string") return none(came);
  if (isStandIn && isUnmade(question, came)) return none(NEEDS_ANOTHER);
  const { asked, answers, ms } = came;
  // The call may have been charged, and its result says nothing about the vendor.
  if (deps.signal.aborted && asked.failure !== null) return { ...none(STOPPED), takenNano: question.boundNano };
  const ours = ourCost(question, came, systemClock.epochMs());
  const inShape = shapeFindings(typeof expected === "string" ? null : expected, came);
  const unpriced = deps.unpriced().map(({ counter }): Finding => {
    return { what: "price", detail: `the vendor counts ${counter}, which has no price here` };
  });
  const expectsAnswer = question.kind !== "refusal" && asked.failure === null;
  const findings = [
    ...failureFindings(question, asked),
    ...(expectsAnswer ? contentFindings(question.kind, asked) : []),
    ...(question.kind === "refusal" ? [] : usageFindings(question, asked)),
    ...priceFindings(ours, asked),
    ...unpriced,
    ...inShape.findings,
  ];
  const call: CertifiedCall = {
    provider: adapter.id,
    asked: question.asked,
    kind: question.kind,
    verdict: findings.length === 0 ? "fine" : "differs",
    status: answers.at(-1)?.status ?? asked.failure?.status ?? 0,
    ms,
    cost_nano_usd: ours ?? question.boundNano,
    told_nano_usd: asked.reading.upstreamCostNano,
    findings,
    new_fields: inShape.newFields,
    limit_headers: limitHeaders(answers),
    note: "",
  };
  // For an answer without usage only the maximum cost is known.
  return { call, came, takenNano: asked.reading.upstreamCostNano ?? ours ?? question.boundNano };
}

/** Asks one question at a time, until the money spent plus the next maximum exceeds `centsMax`, or the signal. Stand-ins are free. */
export async function certify(deps: CertifyDeps, order: CertifyOrder): Promise<Certificate> {
  const calls: CertifiedCall[] = [];
  const mostNano = nanoFromCents(order.centsMax);
  const standIns = order.adapters.every(({ isSandbox }) => isSandbox === true);
  let spentNano = ZERO;
  let stopped: Certificate["stopped"] = null;
  for (const adapter of order.adapters) {
    for (const question of questionsFor(adapter, deps.catalog, systemClock.epochMs())) {
      if (deps.signal.aborted) stopped = "interrupted";
      const isTooDear = !standIns && add(spentNano, question.boundNano) > mostNano;
      if (isTooDear && stopped === null) stopped = "max_cents";
      const why =
        question.without ??
        (stopped === "interrupted" ? STOPPED : null) ??
        (isTooDear ? "it may cost more than is left" : null);
      if (why !== null) {
        calls.push(notAsked(adapter, question, why));
        continue;
      }
      const { call, came, takenNano } = await judge(adapter, question, deps);
      if (!standIns) spentNano = add(spentNano, takenNano);
      calls.push(call);
      order.onCall(call, spentNano, lineOf(came?.asked.failure?.message ?? ""));
      if (came !== null) order.onShape(call, came.shape);
    }
  }
  if (deps.signal.aborted) stopped = "interrupted";
  return { stand_ins: standIns, stopped, spent_nano_usd: spentNano, calls };
}

export type Made = Pick<VendorCertificate, "at" | "version">;

/** The result of a run per vendor. Runs against stand-ins are not stored: they prove nothing about a vendor. */
export function byVendor({ calls, stand_ins }: Certificate, made: Made): ReadonlyMap<string, VendorCertificate> {
  const kept = new Map<string, VendorCertificate>();
  if (stand_ins) return kept;
  for (const { provider, asked, kind, status, verdict, findings } of calls) {
    const { fine, not_asked, differs } = kept.get(provider) ?? { fine: 0, not_asked: 0, differs: [] };
    const detail = findings.map((one) => one.detail).join("; ");
    const other = { asked: asked.slice(0, TEXT_CHARS_MAX), kind, status, detail: detail.slice(0, TEXT_CHARS_MAX) };
    kept.set(provider, {
      ...made,
      fine: fine + Number(verdict === "fine"),
      not_asked: not_asked + Number(verdict === "not asked"),
      differs: verdict === "differs" ? [...differs, other].slice(0, DIFFERS_MAX) : differs,
    });
  }
  // A vendor without any question keeps its last certificate.
  for (const [provider, { fine, differs }] of kept) if (fine + differs.length === 0) kept.delete(provider);
  return kept;
}
