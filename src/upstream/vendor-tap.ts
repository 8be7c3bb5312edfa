// Records vendors' answers byte for byte, without affecting their readers; for `tollgate certify`, which sends one request at a time.
import diagnosticsChannel from "node:diagnostics_channel";
import type { IncomingHttpHeaders } from "node:http";

/** The most that is kept of one answer. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;

export interface SeenAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first 4 MiB of the body. */
  readonly body: Buffer;
}

export interface VendorTap {
  /** The answers since the last call of this method, in the order in which they began. */
  take(): readonly SeenAnswer[];
  close(): void;
}

interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: Buffer[];
  bytes: number;
}

function isListed(raw: RawHeaders): raw is readonly Buffer[] {
  return Array.isArray(raw);
}

/** HTTP/1.1 alternates names and values; HTTP/2 maps names to values. */
type RawHeaders = readonly Buffer[] | IncomingHttpHeaders;

function headersOf(raw: RawHeaders): Record<string, string> {
  if (!isListed(raw)) return Object.fromEntries(Object.entries(raw).map(([name, value]) => [name, String(value)]));
  const names = raw.filter((_, at) => at % 2 === 0);
  return Object.fromEntries(names.map((name, at) => [String(name).toLowerCase(), String(raw[2 * at + 1] ?? "")]));
}

/** Every HTTP answer in this process, by undici's diagnostics channels. Misses web sockets and sidecars. */
export function tapVendors(): VendorTap {
  let heard = new Map<object, Heard>();
  const onHeaders = (message: unknown) => {
    const { request, response } = message as { request: object; response: { statusCode: number; headers: RawHeaders } };
    heard.set(request, { status: response.statusCode, headers: headersOf(response.headers), chunks: [], bytes: 0 });
  };
  const onChunk = (message: unknown) => {
    const { request, chunk } = message as { request: object; chunk: Buffer };
    const answer = heard.get(request);
    if (answer === undefined || answer.bytes > BODY_BYTES_MAX) return;
    answer.bytes += chunk.length;
    answer.chunks.push(Buffer.from(chunk));
  };
  diagnosticsChannel.subscribe("undici:request:headers", onHeaders);
  diagnosticsChannel.subscribe("undici:request:bodyChunkReceived", onChunk);
  return {
    take() {
      const taken = [...heard.values()].map(({ status, headers, chunks }) => {
        return { status, headers, body: Buffer.concat(chunks) };
      });
      heard = new Map();
      return taken;
    },
    close() {
      diagnosticsChannel.unsubscribe("undici:request:headers", onHeaders);
      diagnosticsChannel.unsubscribe("undici:request:bodyChunkReceived", onChunk);
    },
  };
}
