// Stores a file from an address that the caller names: a restricted client fetches it, and the body is streamed to the store.
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import type { PublicAnswer } from "../../upstream/public-fetch.ts";
import { type Files, keyOf, type LinkedView } from "./files.ts";
import { FILE_BYTES_MAX } from "./lifecycle.ts";

const FETCH_MS_MAX = 100_000;
const SOURCE_CHARS_MAX = 500;

/** Fetches an address that a caller supplied, or returns why not. */
export type OpenPublic = (
  url: string,
  bounds: { readonly bytesMax: number; readonly msMax: number; readonly signal: AbortSignal },
) => Promise<PublicAnswer | GatewayError>;

export interface UrlUpload {
  readonly url: string;
  readonly filename: string | null;
  readonly tags: readonly string[];
  readonly note: string | null;
}

/** A filename from the last part of an address's path. */
function nameOf(address: string): string {
  const last = URL.parse(address)?.pathname.split("/").at(-1) ?? "";
  let name = last;
  try {
    name = decodeURIComponent(last);
  } catch {
    // Keep a stray percent sign.
  }
  return (
    name
      .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}/\\]/gu, "_")
      .trim()
      .replace(/^\.+/, "")
      .slice(0, 200) || "file"
  );
}

/** An address without its query, which may contain secrets. */
function sourceOf(address: string): string {
  const url = URL.parse(address);
  return (url === null ? "" : `${url.origin}${url.pathname}`).slice(0, SOURCE_CHARS_MAX);
}

function sizeOf(headers: PublicAnswer["headers"]): number | null {
  const length = headers["content-length"] ?? "";
  return /^[1-9]\d{0,14}$/.test(length) ? Number(length) : null;
}

async function* some(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let any = false;
  for await (const part of bytes) {
    any ||= part.length > 0;
    yield part;
  }
  if (!any) throw unfit("answered with nothing");
}

function unfit(what: string): GatewayError {
  return new GatewayError("bad_request", { detail: `url: the address ${what}.`, param: "url" });
}

/** Stores what an address returns. Anything but a plain 200 is the caller's error, and free. */
export async function keepFromUrl(
  files: Files,
  openPublic: OpenPublic,
  payer: Payer,
  upload: UrlUpload,
): Promise<LinkedView> {
  const stop = new AbortController();
  const bounds = { bytesMax: FILE_BYTES_MAX, msMax: FETCH_MS_MAX, signal: stop.signal };
  const answer = await openPublic(upload.url, bounds);
  if (answer instanceof GatewayError) throw answer;
  try {
    const { status, headers, finalUrl, body } = answer;
    if (status !== 200) throw unfit(`answered with status ${status}`);
    const { tags, note } = upload;
    const filename = upload.filename ?? nameOf(finalUrl);
    const mime = mimeOf(headers["content-type"]);
    const sizeBytes = sizeOf(headers);
    const file = { filename, mime, tags, note, source: sourceOf(finalUrl), sizeBytes };
    return await files.keep(payer.id, file, some(body), keyOf(payer));
  } finally {
    stop.abort();
  }
}

function mimeOf(header: string | undefined): string | null {
  const mime = header?.split(",", 1)[0]?.trim() ?? "";
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\x20-\x7e]*)?$/.test(mime) && mime.length <= 127 ? mime : null;
}
