// PUT and GET /files/{id}: transfers bytes for the holder of a signed link. Browsers save files, and never render or run them.
import type { Clock } from "../../core/clock.ts";
import type { Answer, Call, EndpointShape, EndpointSpec, StreamAnswer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { FileRow } from "./file-rows.ts";
import type { ByteRange } from "./file-store.ts";
import type { Files } from "./files.ts";
import { FILE_BYTES_MAX, noSuchFile } from "./lifecycle.ts";
import { checkLink, type LinkMethod } from "./signed-links.ts";

const UNKNOWN = "application/octet-stream";
/** Types that a browser would run or render as a page of ours. */
const RUNS =
  /^(text\/(html|xml|javascript|ecmascript|xsl)|application\/(.*[+/])?(xml|xhtml|javascript|ecmascript)|image\/svg)\b/i;

/** A file's content type: the owner's, unless a browser could run it. */
export function safeMime(mime: string | null): string {
  return mime === null || RUNS.test(mime) ? UNKNOWN : mime;
}

/** A file's Content-Disposition (RFC 6266): the name in ASCII, and the exact name too where that differs. */
export function attachment(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  if (plain === filename) return `attachment; filename="${plain}"`;
  const exact = encodeURIComponent(filename).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/** Headers of every answer with a file in it. A browser that renders it anyway must not treat it as part of our origin. */
export const CONTENT_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
  "cross-origin-resource-policy": "cross-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "private, no-transform",
};

/** Null: the whole file, also where the header is malformed or names several ranges (RFC 9110, 14.2). */
export function byteRange(header: string | undefined, sizeBytes: number): ByteRange | null | "unsatisfiable" {
  const found = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? "");
  if (found === null) return null;
  const [, first = "", last = ""] = found;
  if (first === "") return last === "" ? null : lastBytes(Number(last), sizeBytes);
  if (last !== "" && Number(last) < Number(first)) return null;
  if (Number(first) >= sizeBytes) return "unsatisfiable";
  return { from: Number(first), to: last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

function lastBytes(count: number, sizeBytes: number): ByteRange | "unsatisfiable" {
  if (count === 0 || sizeBytes === 0) return "unsatisfiable";
  return { from: Math.max(0, sizeBytes - count), to: sizeBytes - 1 };
}

export interface FileEndpointParts {
  readonly files: Files;
  /** The secrets that may have signed a link. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
}

const BAD_LINK = {
  expired: "This link has expired.",
  wrong: "This link is not one of ours, or is for another method or file, or its key is not good any more.",
} as const;

/** A file never changes, so its id serves as its ETag. */
function headersOf(row: FileRow): Record<string, string> {
  return {
    ...CONTENT_HEADERS,
    "content-type": safeMime(row.mime),
    "content-disposition": attachment(row.filename),
    "accept-ranges": "bytes",
    etag: `"${row.id}"`,
    "last-modified": new Date(row.createdAtMs).toUTCString(),
  };
}

/** The requested range; the whole file where If-Range names another version (RFC 9110, 13.1.5). */
function rangeOf({ headers }: Call["request"], row: FileRow): ReturnType<typeof byteRange> {
  const ifRange = headers.get("if-range");
  const same = ifRange === undefined || ifRange === `"${row.id}"`;
  return same ? byteRange(headers.get("range"), row.sizeBytes) : null;
}

function holds(ifNoneMatch: string | undefined, row: FileRow): boolean {
  return (ifNoneMatch ?? "").split(",").some((tag) => ["*", `"${row.id}"`, `W/"${row.id}"`].includes(tag.trim()));
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function download({ request }: Call, { files }: FileEndpointParts): Promise<Answer | StreamAnswer> {
  const row = await files.stored(request.params.id ?? "");
  if (row === null) throw noSuchFile();
  const headers = headersOf(row);
  if (holds(request.headers.get("if-none-match"), row)) return { status: 304, headers, body: "" };
  const range = rangeOf(request, row);
  if (range === "unsatisfiable") {
    const unsatisfied = { ...CONTENT_HEADERS, "content-range": `bytes */${row.sizeBytes}` };
    return { status: 416, headers: { ...unsatisfied, "content-type": "text/plain" }, body: "" };
  }
  // HEAD gets the headers without the bytes.
  const bytes = request.method === "HEAD" ? nothing() : await files.read(row.id, range);
  if (bytes === null) throw noSuchFile();
  return { ...partOf(row, range, headers), bytes };
}

function partOf(row: FileRow, range: ByteRange | null, headers: Record<string, string>) {
  if (range === null) return { status: 200, headers, bytesTotal: row.sizeBytes };
  const { from, to } = range;
  const told = { ...headers, "content-range": `bytes ${from}-${to}/${row.sizeBytes}` };
  return { status: 206, headers: told, bytesTotal: to - from + 1 };
}

async function upload({ request }: Call, { files }: FileEndpointParts): Promise<Answer> {
  const length = request.headers.get("content-length");
  const row = await files.receive(
    request.params.id ?? "",
    request.incoming ?? nothing(),
    length === undefined ? null : Number(length),
  );
  return { status: 200, body: { ok: true, file_id: row.id, size_bytes: row.sizeBytes } };
}

export function fileEndpoints(parts: FileEndpointParts): EndpointSpec[] {
  const signed = (
    method: LinkMethod,
    bodyBytesMax: number,
    serve: (call: Call, parts: FileEndpointParts) => Promise<Answer | StreamAnswer>,
  ): EndpointSpec => {
    const shape: EndpointShape = { method, path: "/files/{id}", auth: "none", bodyBytesMax };
    const stream = async (call: Call) => {
      const { params, query } = call.request;
      const { id = "" } = params;
      const keyId = query.get("key");
      const stamp = keyId === null ? "" : await parts.files.stamp(id, keyId);
      const key = keyId === null || stamp === null ? undefined : { id: keyId, stamp };
      const link = checkLink(parts.secrets, { method, id, query, key }, parts.clock.epochMs());
      if (link === "good") return serve(call, parts);
      throw new GatewayError("link_invalid", { detail: BAD_LINK[link] });
    };
    return { ...shape, stream };
  };
  return [signed("PUT", FILE_BYTES_MAX, upload), signed("GET", 0, download)];
}
