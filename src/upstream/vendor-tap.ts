// Listens to what vendors answer, byte for byte, beside those who read it: for `tollgate certify`, which asks one thing at a time.
import diagnosticsChannel from "node:diagnostics_channel";
import type { IncomingHttpHeaders } from "node:http";

/** More of one answer is not kept. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** One answer of a vendor as it came. */
export interface SeenAnswer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its first 4 MiB. */
  readonly body: Buffer;
}

export interface VendorTap {
  /** The answers since the last time, in the order in which they began. */
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

/** As HTTP/1.1 has them, names and values by turns, or as HTTP/2 has them, by name. */
type RawHeaders = readonly Buffer[] | IncomingHttpHeaders;

function headersOf(raw: RawHeaders): Record<string, string> {
  if (!isListed(raw)) return Object.fromEntries(Object.entries(raw).map(([name, value]) => [name, String(value)]));
  const names = raw.filter((_, at) => at % 2 === 0);
  return Object.fromEntries(names.map((name, at) => [String(name).toLowerCase(), String(raw[2 * at + 1] ?? "")]));
}

/**
 * Hears every answer over HTTP in this process, by undici's channels of diagnostics. Answers of web sockets and of helpers
 * that speak for a vendor are not heard.
 */
export function tapVendors(): VendorTap {
  let heard = new Map<object, Heard>();
  const onHeaders = (message: unknown) => {
    const { request, response } = message as {
      request: object;
      response: { statusCode: number; headers: RawHeaders };
    };
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
