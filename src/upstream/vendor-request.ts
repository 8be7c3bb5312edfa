// The shared parts of requests to one model vendor, and complete requests except for our key.
import { Readable } from "node:stream";
import type { Adapter, Offer } from "../catalog/catalog.ts";
import type { ModelPaths } from "../catalog/chat-wire.ts";
import type { Clock } from "../core/clock.ts";
import { withMembers } from "../core/json-bytes.ts";
import { jsonText } from "../core/raw-json.ts";
import type { ExchangeRequest } from "./exchange.ts";
import type { UpstreamBody } from "./format-kit/dialect.ts";
import { createKeyRing, type KeyRing } from "./key-ring.ts";

/** The shared parts of all requests to one vendor, built once. */
export interface Vendor {
  readonly ring: KeyRing;
  /** Scheme and authority of the base URL, and the path that prefixes every call's path. */
  readonly origin: string;
  readonly basePath: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The prefix of every path below a URL. */
function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/$/, "");
}

export function readyVendor(adapter: Adapter, clock: Clock): Vendor {
  return {
    ring: createKeyRing(adapter.keys.length === 0 ? [""] : adapter.keys, clock),
    origin: new URL(adapter.origin).origin,
    basePath: pathOf(new URL(adapter.origin)),
    headers: { "content-type": "application/json", ...adapter.spec.headers },
  };
}

/** Puts a request at the path that names its model, without fields that the path states, or headers that only the caller's wire has. */
export function placed(
  { body, bytes }: UpstreamBody,
  paths: ModelPaths,
  offer: Pick<Offer, "adapter" | "upstreamModel">,
  { stream, last }: { readonly stream: boolean; readonly last: string | undefined },
): UpstreamBody {
  const path = (stream ? paths.stream : paths.whole).replace(/\{([a-z]+)\}/g, (_, name: string) =>
    encodeURIComponent(name === "model" ? offer.upstreamModel : (offer.adapter.settings[name] ?? "")),
  );
  if (bytes !== undefined) {
    return {
      path,
      body,
      bytes: withMembers(bytes, Object.fromEntries(paths.without.map((field) => [field, undefined])), last),
    };
  }
  return { path, body: Object.fromEntries(Object.entries(body).filter(([field]) => !paths.without.includes(field))) };
}

/** Moves the growing field to the end. Bytes passed on as the caller sent them keep their order. */
export function growingLast(asked: UpstreamBody, field: string | undefined): UpstreamBody {
  if (field === undefined || asked.bytes !== undefined || asked.body[field] === undefined) return asked;
  const { [field]: growing, ...stable } = asked.body;
  return { ...asked, body: { ...stable, [field]: growing } };
}

export function exchangeRequest(
  vendor: Vendor,
  { path, body, bytes, headers: more, form, origin: named }: UpstreamBody,
  { adapter, requestId }: { readonly adapter: Adapter; readonly requestId: string },
): ExchangeRequest {
  const other = named === undefined ? null : new URL(adapter.origins[named] ?? adapter.origin);
  const { origin, basePath } = other === null ? vendor : { origin: other.origin, basePath: pathOf(other) };
  const headers: Record<string, string> = { ...vendor.headers, ...more, "x-request-id": requestId };
  if (form === undefined) return { origin, path: basePath + path, headers, body: bytes ?? jsonText(body) };
  const parts = Readable.from(form.bytes(), { objectMode: false });
  return { origin, path: basePath + path, headers: { ...headers, ...form.headers }, body: parts };
}
