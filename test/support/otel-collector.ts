// A mock OpenTelemetry collector: accepts traces as OTLP over HTTP, in JSON, and records them for a test.
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "./gateway.ts";

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number; readonly message?: string };
  readonly events: readonly { readonly name: string; readonly timeUnixNano: string }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

const SERVER = 2;

/** A value from OTLP's JSON, where it is under the name of its type. */
function plainOf(value: Record<string, unknown>): unknown {
  if ("arrayValue" in value) return (value.arrayValue as { values: Record<string, unknown>[] }).values.map(plainOf);
  return "intValue" in value ? Number(value.intValue) : Object.values(value)[0];
}

function attributesOf(rows: readonly { key: string; value: Record<string, unknown> }[]): Record<string, unknown> {
  return Object.fromEntries(rows.map(({ key, value }) => [key, plainOf(value)]));
}

/** A trace message in OTLP's JSON, with its spans nested. */
export function readTraces(json: string): {
  readonly resource: Record<string, unknown>;
  readonly spans: readonly Span[];
} {
  const { resourceSpans } = JSON.parse(json) as {
    resourceSpans: { resource: { attributes: [] }; scopeSpans: { spans: (Span & { attributes: [] })[] }[] }[];
  };
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  return {
    resource: attributesOf(resourceSpans[0]?.resource.attributes ?? []),
    spans: spans.map((span) => ({ ...span, attributes: attributesOf(span.attributes) })),
  };
}

/** Accepts and records traces as a collector does. `away`: it hangs and never answers. */
export class Collector {
  readonly spans: Span[] = [];
  readonly heads: IncomingHttpHeaders[] = [];
  resource: Record<string, unknown> = {};
  away = false;
  readonly #server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (this.away) return;
    this.heads.push(request.headers);
    const { resource, spans } = readTraces(Buffer.concat(parts).toString());
    this.resource = resource;
    this.spans.push(...spans);
    response.writeHead(request.url === "/v1/traces" ? 200 : 404, { "content-type": "application/json" }).end("{}");
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  of(requestId: string | null): Promise<Span> {
    const isIts = ({ attributes, kind }: Span) => attributes["tollgate.request_id"] === requestId && kind === SERVER;
    return eventually(() => this.spans.find(isIts), "a span");
  }

  below({ spanId, traceId }: Span): Span[] {
    return this.spans.filter((span) => span.parentSpanId === spanId && span.traceId === traceId);
  }
}
