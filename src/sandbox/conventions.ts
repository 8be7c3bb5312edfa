// Credential checks and error formats, for two conventions that several formats share.
import type { Dialect } from "./dialect.ts";
import { type Refusal, refusalStatus, refusalWords } from "./refusals.ts";

/** A dialect without its paths and its requests. */
type Convention = Omit<Dialect, "path" | "read">;

export function chatError(refusal: Refusal): Record<string, unknown> {
  const { message, type, code } = refusalWords(refusal, "chatCompletions");
  return { error: { message, type, param: refusal.param ?? null, code } };
}

export function hasBearer(authorization: string | undefined): boolean {
  return /^Bearer +\S/i.test(authorization ?? "");
}

export const CHAT_COMPLETIONS: Convention = {
  marks: [],
  lineEnd: "\n",
  hasCredential: ({ headers }) => hasBearer(headers.authorization) || Boolean(headers["api-key"]),
  error: chatError,
  errorEvent: (refusal) => ({ name: null, data: JSON.stringify(chatError(refusal)), tokens: 0, kind: "closing" }),
};

function generateError(refusal: Refusal) {
  const { status, message } = refusalWords(refusal, "generateContent");
  const { param, retryAfterS } = refusal;
  const details = [
    ...(param ? [{ "@type": "rpc.BadRequest", fieldViolations: [{ field: param, description: message }] }] : []),
    ...(retryAfterS === undefined ? [] : [{ "@type": "rpc.RetryInfo", retryDelay: `${retryAfterS}s` }]),
  ];
  return { error: { code: refusalStatus(refusal), message, status, ...(details.length > 0 && { details }) } };
}

export const GENERATE_CONTENT: Convention = {
  marks: ["x-goog-api-key"],
  lineEnd: "\r\n",
  hasCredential: ({ headers, url }) =>
    Boolean(headers["x-goog-api-key"]) || hasBearer(headers.authorization) || Boolean(url.searchParams.get("key")),
  error: generateError,
  errorEvent: (refusal) => ({ name: null, data: JSON.stringify(generateError(refusal)), tokens: 0, kind: "closing" }),
};
