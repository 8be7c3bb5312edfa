// Answers whose bytes are made once and sent many times, with a strong ETag; and the compression of others.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Answer, GatewayRequest } from "../../core/endpoint.ts";
import { getOrLoad } from "../../core/maps.ts";

const NOTHING = new Uint8Array(0);
/** Below this size, compression saves no packets. Fonts are compressed already. */
const COMPRESSED_BYTES_MIN = 1_024;

/** Output is some 5 % larger than at the highest quality, in a twentieth of the time, which the first caller must wait. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

/** The content codings that we offer, the smallest output first. Both run in their own threads. */
const CODINGS: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify<Buffer, object, Buffer>(brotliCompress)(bytes, BROTLI),
  gzip: promisify<Buffer, Buffer>(gzip),
};

/** A prepared answer: whole, and as the 304 for a caller that has it already. */
export interface ReadyAnswer {
  readonly etag: string;
  readonly whole: Answer;
  readonly unchanged: Answer;
  /** The answer in a content coding, made at first use; null where it is too short to be worth it. */
  readonly compressed: ((coding: string) => Promise<ReadyAnswer>) | null;
}

type Headers = Readonly<Record<string, string>>;

function atRest(body: Buffer, etag: string, contentType: string, more: Headers) {
  const headers = { etag, "cache-control": "max-age=300", ...more };
  return {
    etag,
    whole: { status: 200, body, headers: { "content-type": contentType, ...headers } },
    unchanged: { status: 304, body: NOTHING, headers },
  };
}

/** Prepares an answer; `more` adds headers. Callers may cache it for five minutes without revalidation. */
export function readyAnswer(content: string | Buffer, contentType: string, more: Headers = {}): ReadyAnswer {
  const body = Buffer.from(content);
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  if (body.length < COMPRESSED_BYTES_MIN || contentType.startsWith("font/"))
    return { ...atRest(body, `"${hash}"`, contentType, more), compressed: null };
  const varying = { vary: "accept-encoding", ...more };
  const made = new Map<string, Promise<ReadyAnswer>>();

  async function make(coding: string): Promise<ReadyAnswer> {
    const bytes = (await CODINGS[coding]?.(body)) ?? body;
    const headers = { "content-encoding": coding, ...varying };
    return { ...atRest(bytes, `"${hash}-${coding}"`, contentType, headers), compressed: null };
  }

  const compressed = (coding: string) => getOrLoad(made, coding, make);
  return { ...atRest(body, `"${hash}"`, contentType, varying), compressed };
}

export function envelopeOf(data: unknown) {
  return { ok: true, data, charged_cents: 0 } as const;
}

export function readyEnvelope(data: unknown, more: Readonly<Record<string, string>> = {}): ReadyAnswer {
  return readyAnswer(JSON.stringify(envelopeOf(data)), "application/json", more);
}

/** Whether If-None-Match matches the ETag (RFC 9110, 13.1.2): a list, weak tags and `*` count too. */
function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch === "*") return true;
  return ifNoneMatch.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

/** The first of our codings that Accept-Encoding allows with a weight above zero (RFC 9110, 12.5.3); null: none. */
function codingFor(accepted: string): string | null {
  const named = accepted
    .toLowerCase()
    .split(",")
    .map((one) => one.split(";").map((part) => part.trim()));
  const weightOf = (parts: readonly string[]) => parts.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
  const welcome = new Set(named.filter((parts) => Number(weightOf(parts)) > 0).map(([coding]) => coding));
  return Object.keys(CODINGS).find((coding) => welcome.has(coding)) ?? null;
}

function knownOrWhole(ready: ReadyAnswer, request: GatewayRequest): Answer {
  const ifNoneMatch = request.headers.get("if-none-match");
  return ifNoneMatch !== undefined && isKnown(ifNoneMatch, ready.etag) ? ready.unchanged : ready.whole;
}

/**
 * An answer made for one person, compressed where the browser accepts that and says that the request comes from our own pages or its user:
 * another site could try texts in our URL and learn from the sizes what else the page contains (BREACH).
 */
export async function compressedFor({ headers }: GatewayRequest, answer: Answer): Promise<Answer> {
  const coding = codingFor(headers.get("accept-encoding") ?? "");
  const isOurs = /^(?:same-origin|none)$/.test(headers.get("sec-fetch-site") ?? "");
  if (coding === null || !isOurs || typeof answer.body !== "string") return answer;
  if (answer.body.length < COMPRESSED_BYTES_MIN) return answer;
  const body = await CODINGS[coding]?.(Buffer.from(answer.body));
  return { ...answer, body, headers: { ...answer.headers, "content-encoding": coding } };
}

/** The prepared answer for a request: compressed where the caller accepts that. */
export function answerWith(ready: ReadyAnswer, request: GatewayRequest): Answer | Promise<Answer> {
  const coding = codingFor(request.headers.get("accept-encoding") ?? "");
  if (coding === null || ready.compressed === null) return knownOrWhole(ready, request);
  return ready.compressed(coding).then((compressed) => knownOrWhole(compressed, request));
}
