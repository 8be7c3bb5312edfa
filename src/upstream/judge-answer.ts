// Decides what a vendor's answer to an action means: by rules in order, otherwise by status. Pure.
import type { IncomingHttpHeaders } from "node:http";
import type { ActionSpec } from "../catalog/action.ts";
import type { AnswerRule, Verdict, When } from "../catalog/answer-rule.ts";
import type { StepSpec } from "../catalog/request-spec.ts";
import type { ScriptAnswer } from "../catalog/script.ts";
import type { AdapterSpec } from "../catalog/spec.ts";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import type { AttemptFailure } from "../core/route.ts";
import { byStatus } from "./classify.ts";
import { atPointer, isRecord } from "./json-pointer.ts";

export interface VendorAnswer extends Omit<ScriptAnswer, "headers"> {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** The answer was long and went unread to the caller, or to a listening script: nothing is left to read. */
  readonly passedOn?: true;
}

export interface Judgement {
  readonly verdict: Verdict;
  readonly rule: AnswerRule | null;
}

function isIn(value: unknown, list: When["is"]): boolean {
  return Array.isArray(list) ? list.includes(value as string) : value === list;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function fits(value: unknown, when: When): boolean {
  if (when.is !== undefined && !isIn(value, when.is)) return false;
  if (when.not !== undefined && isIn(value, when.not)) return false;
  if (when.empty !== undefined && isEmpty(value) !== when.empty) return false;
  if (when.matches === undefined) return true;
  return (typeof value === "string" || typeof value === "number") && when.matches.test(String(value));
}

function statusFits(status: number, wanted: When["status"]): boolean {
  if (wanted === undefined) return status >= 200 && status < 300;
  return typeof wanted === "number" ? wanted === status : wanted.includes(status);
}

export function holds(when: When, { status, headers, json, text }: VendorAnswer): boolean {
  if (!statusFits(status, when.status)) return false;
  if (when.header !== undefined && headers[when.header] === undefined) return false;
  const at = when.at ?? "";
  // Something other than JSON, such as an HTML page, has no places: finding nothing there is neither a miss nor a success.
  if (at !== "" && json === undefined) return false;
  const value = at === "" ? (json === undefined ? text : json) : atPointer(json, at);
  if (when.each === undefined) return fits(value, when);
  const items = Array.isArray(value) ? value : [];
  return items.length > 0 && items.every((item) => fits(when.each ? atPointer(item, when.each) : item, when));
}

/** By status alone, if no rule matches. A vendor's 401 or 402 concerns our account there, never the caller's. */
function verdictByStatus(status: number): Verdict {
  if (status >= 200 && status < 300) return "success";
  return status === 404 ? "caller_invalid" : byStatus(status);
}

export interface Rulebook {
  readonly rules: readonly AnswerRule[];
  /** A good answer must be a JSON object or array. */
  readonly wantsJson: boolean;
  /** A top-level `error` in a good answer is a vendor failure, whatever the status, unless the action's examples have such a field. */
  readonly errorFails: boolean;
}

/** The rules for an action or one of its steps, in order: the step's, the action's, the vendor's. */
export function rulebookOf(adapter: AdapterSpec, action: ActionSpec, step: StepSpec | null): Rulebook {
  const rules = [...(step?.rules ?? []), ...(action.rules ?? []), ...(adapter.rules ?? [])];
  const wantsJson = (action.answer?.kind ?? "json") === "json";
  const hasError = action.example.answers.some((answer) => isRecord(answer) && "error" in answer);
  return { rules, wantsJson, errorFails: wantsJson && !hasError };
}

export function judge(answer: VendorAnswer, { rules, wantsJson, errorFails }: Rulebook): Judgement {
  if (answer.passedOn) return { verdict: "success", rule: null };
  const rule = rules.find((one) => holds(one, answer)) ?? null;
  if (rule !== null) return { verdict: rule.means, rule };
  const verdict = verdictByStatus(answer.status);
  if (verdict === "success" && wantsJson && !(typeof answer.json === "object" && answer.json !== null))
    return { verdict: "provider_malformed", rule };
  if (verdict === "success" && errorFails && isRecord(answer.json) && !isEmpty(answer.json.error))
    return { verdict: "provider_server_error", rule };
  return { verdict, rule };
}

const USUAL_PLACES = [
  "/message",
  "/error/message",
  "/error/detail",
  "/error/info",
  "/error",
  "/detail/error",
  "/detail/message",
  "/detail/0/msg",
  "/detail",
  "/errorDescription",
  "/error_description",
  "/errors/0/message",
  "/errors/0",
  "/title",
];
const PAGE_CHARS_MAX = 8_000;

function messageOf(answer: VendorAnswer, rule: AnswerRule | null): string {
  const places = rule?.messageAt === undefined ? USUAL_PLACES : [rule.messageAt, ...USUAL_PLACES];
  const found = places.map((place) => atPointer(answer.json, place)).find((value) => typeof value === "string");
  const words =
    found ?? (answer.json === undefined ? answer.text.slice(0, PAGE_CHARS_MAX).replace(/<[^<>]*>/g, " ") : "");
  return String(words).slice(0, PAGE_CHARS_MAX).replace(/\s+/g, " ").trim() || `status ${answer.status}`;
}

const BODY_BYTES_MAX = 64 * 1024;
/** Much deeper values cannot be serialized again. */
const BODY_DEPTH_MAX = 128;

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((inner) => isDeeper(inner, depth - 1));
}

/** Statuses with which a vendor rejects a request before acting on it. */
const NOT_BEGUN = [400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 422, 423, 429];

/** Whether the vendor may have acted on the request despite this answer. */
function mayHaveRun(status: number, kind: FailureKind): boolean {
  if (status >= 400) return !NOT_BEGUN.includes(status);
  const { fault } = FAILURES[kind];
  return !(fault === "caller" || fault === "policy" || kind === "provider_auth_failed" || kind === "provider_billing");
}

/** Makes the failure of an answer; with the vendor's body if the caller is at fault. */
export function failureOf(
  answer: VendorAnswer,
  kind: FailureKind,
  rule: AnswerRule | null,
  retryAfterMs: number | null,
): AttemptFailure {
  const { fault } = FAILURES[kind];
  const small = answer.text.length <= BODY_BYTES_MAX && !isDeeper(answer.json, BODY_DEPTH_MAX);
  const told = (fault === "caller" || fault === "policy") && small;
  return {
    kind,
    status: answer.status,
    message: messageOf(answer, rule),
    retryAfterMs: rule?.restMs ?? retryAfterMs,
    mayHaveRun: mayHaveRun(answer.status, kind),
    ...(rule?.restMs === undefined ? {} : { restMs: rule.restMs }),
    ...(rule?.todo === undefined ? {} : { todo: rule.todo }),
    ...(told ? { vendorBody: answer.json === undefined ? answer.text : answer.json } : {}),
  };
}

/** Whether a good answer must be judged or read; otherwise a long one passes through unparsed. */
export function looksIntoBody(adapter: AdapterSpec, action: ActionSpec): boolean {
  const { price, answer, issues, callerIds, steps, run } = action;
  const rules = [...(action.rules ?? []), ...(adapter.rules ?? [])];
  const looks = rules.some(({ status = 200 }) => [status].flat().some((one) => one >= 200 && one < 300));
  const shaped = answer !== undefined && (answer.kind !== "json" || answer.renamed !== undefined);
  const lists = [issues, callerIds, steps].some((list) => (list?.length ?? 0) > 0);
  return looks || shaped || lists || run !== undefined || price.counted !== undefined;
}
