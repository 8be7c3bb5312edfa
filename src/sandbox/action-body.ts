// Reads and sets values in answer bodies, and matches answers against rules.
import type { When } from "../catalog/answer-rule.ts";
import type { Json } from "../catalog/said.ts";

/** A vendor's answer, before it is written. */
export interface VendorWords {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
  readonly isText: boolean;
  /** Sent instead of the body. */
  readonly bytes?: Buffer;
  /** Messages to send on a web socket before closing it. */
  readonly messages?: readonly (string | Uint8Array)[];
}

type JsonRecord = { [name: string]: Json };

function partsOf(pointer: string): readonly string[] {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value at a JSON pointer (RFC 6901); undefined if the path does not exist. */
export function valueAt(body: Json, pointer: string): Json | undefined {
  let value: Json | undefined = body;
  for (const part of partsOf(pointer)) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as JsonRecord)[part];
  }
  return value;
}

function withPart(body: Json | undefined, parts: readonly string[], value: Json): Json {
  const [name, ...rest] = parts;
  if (name === undefined) return value;
  const isPlace = typeof body === "object" && body !== null;
  if (Array.isArray(body) || (!isPlace && /^\d+$/.test(name))) {
    const items: readonly Json[] = Array.isArray(body) ? body : [];
    const filled = Array.from({ length: Math.max(items.length, Number(name) + 1) }, (_, at) => items[at] ?? null);
    return filled.map((item, at) => (String(at) === name ? withPart(item, rest, value) : item));
  }
  const record = isPlace ? (body as JsonRecord) : {};
  return { ...record, [name]: withPart(record[name], rest, value) };
}

/** Replaces the value at a pointer in a copy of the body; creates missing objects and arrays on the way. */
export function withValueAt(body: Json, pointer: string, value: Json): Json {
  return withPart(body, partsOf(pointer), value);
}

function isIn(value: Json | undefined, list: When["is"]): boolean {
  return [list].flat().some((one) => one === value);
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Whether a value matches `when`, regardless of its place. */
export function valueFits(value: Json | undefined, when: When): boolean {
  if (when.is !== undefined && !isIn(value, when.is)) return false;
  if (when.not !== undefined && isIn(value, when.not)) return false;
  if (when.empty !== undefined && isEmpty(value) !== when.empty) return false;
  if (when.matches === undefined) return true;
  return (typeof value === "string" || typeof value === "number") && when.matches.test(String(value));
}

/** Whether an answer matches `when`. Deliberately independent of the gateway's code: the sandbox exists to check that both agree. */
export function wordsFit(words: VendorWords, when: When): boolean {
  const wanted = when.status === undefined ? null : [when.status].flat();
  const isWanted = wanted === null ? words.status >= 200 && words.status < 300 : wanted.includes(words.status);
  if (!isWanted || (when.header !== undefined && words.headers[when.header] === undefined)) return false;
  const at = when.at ?? "";
  if (words.isText && at !== "") return false;
  const value = valueAt(words.body, at);
  if (when.each === undefined) return valueFits(value, when);
  const inside = when.each;
  return Array.isArray(value) && value.length > 0 && value.every((item) => valueFits(valueAt(item, inside), when));
}

const REFUSALS: Readonly<Record<number, readonly [type: string, message: string]>> = {
  400: ["invalid_request", "The request is not valid."],
  401: ["invalid_api_key", "The API key is missing or not valid."],
  402: ["insufficient_credits", "The account has no credit left."],
  403: ["forbidden", "This key may not do that."],
  404: ["not_found", "There is nothing of that name."],
  405: ["method_not_allowed", "The method is not possible here."],
  409: ["conflict", "Too many requests of this account are running."],
  413: ["too_large", "The request body is too large."],
  415: ["unsupported_media_type", "The content type is not the one that is read here."],
  422: ["unprocessable", "The values are not such as can be worked with."],
  429: ["rate_limited", "Too many requests."],
  500: ["internal_error", "The server had an error."],
  503: ["unavailable", "The server is overloaded."],
};

/** An error body in the form most vendors use. */
export function refusalBody(status: number, message?: string): Json {
  const [type, usual] = REFUSALS[status] ?? ["error", "The request has failed."];
  return { error: { type, message: message ?? usual } };
}
