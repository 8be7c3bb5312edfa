// Answers whose bytes are made once and sent many times, with a strong ETag that lets callers keep them.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Answer, GatewayRequest } from "../../core/endpoint.ts";

const NOTHING = new Uint8Array(0);
/** Below this a compressed answer takes no fewer packets. */
const COMPRESSED_BYTES_MIN = 1_024;

/** Some 5 % larger than the utmost, and a twentieth of its time, for which the first who asks has to wait. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

/** What an answer can be compressed with, the smallest first. Both work in threads of their own. */
const CODINGS: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify<Buffer, object, Buffer>(brotliCompress)(bytes, BROTLI),
  gzip: promisify<Buffer, Buffer>(gzip),
};

/** An answer at rest: whole, and as the 304 of a caller who has it already. */
export interface ReadyAnswer {
  readonly etag: string;
  readonly whole: Answer;
  readonly unchanged: Answer;
  /** The same in a content coding, made when it is first asked for; null where it is too short for that to be worth it. */
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

/** Makes an answer of a text; `more` are headers of its own. Callers may keep it for five minutes without asking again. */
export function readyAnswer(text: string, contentType: string, more: Headers = {}): ReadyAnswer {
  const body = Buffer.from(text);
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  if (body.length < COMPRESSED_BYTES_MIN) return { ...atRest(body, `"${hash}"`, contentType, more), compressed: null };
  const varying = { vary: "accept-encoding", ...more };
  const made = new Map<string, Promise<ReadyAnswer>>();

  async function make(coding: string): Promise<ReadyAnswer> {
    const bytes = (await CODINGS[coding]?.(body)) ?? body;
    const headers = { "content-encoding": coding, ...varying };
    return { ...atRest(bytes, `"${hash}-${coding}"`, contentType, headers), compressed: null };
  }

  function compressed(coding: string): Promise<ReadyAnswer> {
    const known = made.get(coding) ?? make(coding);
    made.set(coding, known);
    return known;
  }

  return { ...atRest(body, `"${hash}"`, contentType, varying), compressed };
}

/** The envelope of a free answer. */
export function envelopeOf(data: unknown) {
  return { ok: true, data, charged_cents: 0 } as const;
}

/** The value of `data` in the envelope of a free answer. */
export function readyEnvelope(data: unknown, more: Readonly<Record<string, string>> = {}): ReadyAnswer {
  return readyAnswer(JSON.stringify(envelopeOf(data)), "application/json", more);
}

/** Whether If-None-Match names the answer (RFC 9110, 13.1.2): any of a list, weak ones too, or `*`. */
function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch === "*") return true;
  return ifNoneMatch.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

/** The first of our codings that Accept-Encoding names, unless at a weight of zero (RFC 9110, 12.5.3); null: none. */
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

/** What a caller gets of an answer at rest: compressed for those who can read that. */
export function answerWith(ready: ReadyAnswer, request: GatewayRequest): Answer | Promise<Answer> {
  const coding = codingFor(request.headers.get("accept-encoding") ?? "");
  if (coding === null || ready.compressed === null) return knownOrWhole(ready, request);
  return ready.compressed(coding).then((compressed) => knownOrWhole(compressed, request));
}
