// Requests with one error each, and the expected answers: the tables of test/fixtures/bad-requests.json for the tests of bad input.
import { foldedJson } from "../../support/folded-json.ts";

export interface BadRequest {
  readonly what: string;
  /** Overrides of a valid request; an object `body` is sent as JSON, text or bytes as they are. */
  readonly body?: Record<string, unknown> | string | Buffer;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly path?: string;
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
}

export const CHAT = "/api/llm/v1/chat/completions";
export const RESPONSES = "/api/llm/v1/responses";
export const MESSAGES = "/api/llm/v1/messages";
/** The endpoints for models, with a valid request in each wire. */
export const WIRES = [
  [CHAT, { model: "sandbox/ok", messages: [{ role: "user", content: "hello" }] }],
  [RESPONSES, { model: "sandbox/ok", input: "hello" }],
  [MESSAGES, { model: "sandbox/ok", max_tokens: 100, messages: [{ role: "user", content: "hello" }] }],
] as const;
export const USER = { role: "user", content: "hello" };
export const GOOD = { model: "sandbox/ok", messages: [USER] };

type Tables = "notJson" | "keys" | "models" | "fields" | "messages" | "responses" | "embeddings";
type Others = "priced" | "atTheEdge" | "idempotency";

interface File extends Record<Tables | Others, readonly BadRequest[]> {
  /** Fields whose value changes nothing, and null for optional fields. */
  readonly neutral: readonly Record<string, unknown>[];
}

export const BAD = foldedJson<File>("bad-requests.json");
