// Answers whose bytes are made once and sent many times, with a strong ETag that lets callers keep them.
import { createHash } from "node:crypto";
import type { Answer, GatewayRequest } from "../endpoint.ts";

const NOTHING = new Uint8Array(0);

/** An answer at rest: whole, and as the 304 of a caller who has it already. */
export interface ReadyAnswer {
  readonly etag: string;
  readonly whole: Answer;
  readonly unchanged: Answer;
}

/** Makes an answer of a text; `more` are headers of its own. Callers may keep it for five minutes without asking again. */
export function readyAnswer(
  text: string,
  contentType: string,
  more: Readonly<Record<string, string>> = {},
): ReadyAnswer {
  const body = Buffer.from(text);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  const headers = { etag, "cache-control": "max-age=300", ...more };
  return {
    etag,
    whole: { status: 200, body, headers: { "content-type": contentType, ...headers } },
    unchanged: { status: 304, body: NOTHING, headers },
  };
}

/** The value of `data` in the envelope of a free answer. */
export function readyEnvelope(data: unknown, more: Readonly<Record<string, string>> = {}): ReadyAnswer {
  return readyAnswer(JSON.stringify({ ok: true, data, charged_cents: 0 }), "application/json", more);
}

/** Whether If-None-Match names the answer (RFC 9110, 13.1.2): any of a list, weak ones too, or `*`. */
function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch === "*") return true;
  return ifNoneMatch.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

/** What a caller gets of an answer at rest. */
export function answerWith(ready: ReadyAnswer, request: GatewayRequest): Answer {
  const ifNoneMatch = request.headers.get("if-none-match");
  return ifNoneMatch !== undefined && isKnown(ifNoneMatch, ready.etag) ? ready.unchanged : ready.whole;
}
