// Turns an action's params into the bytes of a request, as the adapter's spec says. Pure: does no I/O.
import type { UnsignedRequest } from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { TableEndpoint } from "../catalog/endpoint-table.ts";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { Json, JsonObject, Params } from "../catalog/said.ts";
import { getOrMake } from "../core/maps.ts";
import { connectFrame } from "./connect-frames.ts";
import { atPointer } from "./json-pointer.ts";

/** A request ready to send, except for our key. */
export interface WireRequest extends UnsignedRequest {
  readonly method: RequestSpec["method"];
  readonly body: string | Buffer | null;
  /** The answer's framing does not mark its end: see `ExchangeRequest`. */
  readonly ownConnection?: true;
}

interface Base {
  readonly origin: string;
  /** The prefix of every path, without a trailing slash. */
  readonly path: string;
}

function baseOf(address: string): Base {
  const { origin, pathname } = new URL(address);
  return { origin, path: pathname.replace(/\/$/, "") };
}

function addressOf({ origin, origins }: Adapter, host: string | undefined): string {
  return host === undefined ? origin : (origins[host] ?? origin);
}

interface Place {
  readonly path: string;
  readonly query: string;
}

function placeOf(text: string): Place {
  const [path = "", query = ""] = text.split(/\?(.*)/s);
  return { path, query };
}

const HAS_PLACES = /\{[^{}]+\}/;

/** The parts of a request that never vary between calls. Built once per request of an action, but each time for a script's request. */
export class ReadyRequest {
  readonly names: ReadonlyMap<string, string | null>;
  /** Null if the address has placeholders. */
  readonly base: Base | null;
  /** Null if the path has placeholders, or the vendor supplies it. */
  readonly place: Place | null;
  readonly #adapter: Adapter;
  readonly #spec: RequestSpec;
  /** By content type; "" for no body. */
  readonly #headers = new Map<string, Readonly<Record<string, string>>>();

  constructor(adapter: Adapter, spec: RequestSpec) {
    this.#adapter = adapter;
    this.#spec = spec;
    this.names = new Map(Object.entries(spec.names ?? {}));
    const address = addressOf(adapter, spec.origin);
    this.base = HAS_PLACES.test(address) ? null : baseOf(address);
    this.place = spec.pathAt !== undefined || HAS_PLACES.test(spec.path) ? null : placeOf(spec.path);
  }

  headers(contentType: string): Readonly<Record<string, string>> {
    const { userAgent, spec } = this.#adapter;
    return getOrMake(this.#headers, contentType, () => ({
      accept: "application/json",
      ...(contentType === "" ? {} : { "content-type": contentType }),
      ...(userAgent === null ? {} : { "user-agent": userAgent }),
      ...spec.headers,
      ...this.#spec.headers,
    }));
  }
}

export interface RequestParts {
  readonly adapter: Adapter;
  readonly spec: RequestSpec;
  readonly params: Params;
  /** The row of the endpoint table that the call selects; its path, method and origin override the spec's. */
  readonly row: TableEndpoint | null;
  /** The answers of earlier steps; undefined for the first request, and in a script, whose pointers refer to its params. */
  readonly soFar: unknown;
  /** For this adapter and spec. Default: built on the fly. */
  readonly ready?: ReadyRequest | undefined;
}

/** The request cannot be built; the message says why: a param unfit for its placeholder, or an unexpected answer of the vendor's. */
export class UnbuildableRequest extends Error {}

type Fields = Record<string, unknown>;

const HOST_PART = /^[a-z0-9-]+$/i;

function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Rejects lone surrogates, which cannot be percent-encoded. */
function wellFormed(text: string, name: string): string {
  if (!text.isWellFormed()) throw new UnbuildableRequest(`${name} has half of a character in it`);
  return text;
}

/** Encodes a value as one path segment. It cannot escape it: slashes are encoded, and `.` and `..` are refused. */
function segment(value: unknown, name: string): string {
  const text = textOf(value);
  if (value === undefined || value === null || ["", ".", ".."].includes(text))
    throw new UnbuildableRequest(`nothing to put for {${name}} in the path`);
  return encodeURIComponent(wellFormed(text, name));
}

/** Encodes a value that keeps its slashes, such as a URL inside a path; existing percent-encodings stay. */
function segments(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "") throw new UnbuildableRequest(`nothing to put for {${name}...}`);
  return encodeURI(wellFormed(value, name))
    .replaceAll("#", "%23")
    .replace(/%25(?=[0-9a-f]{2})/gi, "%");
}

function fill(template: string, params: Params, soFar: unknown): { readonly text: string; readonly used: Set<string> } {
  const used = new Set<string>();
  const text = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    if (name.startsWith("/")) return segment(atPointer(soFar, name), name);
    const bare = name.replace(/\.\.\.$/, "");
    used.add(bare);
    return bare === name ? segment(params[bare], bare) : segments(params[bare], bare);
  });
  return { text, used };
}

/** Fills in the host; returns the base address and all params used so far. */
function fillHost(origin: string, params: Params, before: ReadonlySet<string>) {
  const used = new Set(before);
  const address = origin.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = String(params[name] ?? "");
    if (!HOST_PART.test(value)) throw new UnbuildableRequest(`{${name}} cannot stand in a host`);
    used.add(name);
    return value;
  });
  return { base: baseOf(address), used };
}

/** The path of a URL relative to a base address; its whole path if it is not below the base. */
function pathBelow(base: string, { pathname, search }: URL): string {
  const ownPath = (URL.parse(base)?.pathname ?? "").replace(/\/$/, "");
  return (pathname.startsWith(`${ownPath}/`) ? pathname.slice(ownPath.length) : pathname) + search;
}

/** The path of the URL that the vendor gave for the next step. Ignores its host, because our key goes only to our configured origin. */
function followed(spec: RequestSpec, adapter: Adapter, soFar: unknown): string {
  const address = atPointer(soFar, spec.pathAt ?? "");
  if (typeof address !== "string") throw new UnbuildableRequest("the vendor gave no address for the next step");
  const known = spec.origin === undefined ? adapter.spec.origin : (adapter.spec.origins?.[spec.origin] ?? "");
  const url = URL.parse(address, known);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UnbuildableRequest("the vendor's address for the next step is none");
  return pathBelow(known, url);
}

/** Resolves a redirect to the same origin or a known host of the vendor. Null if it leads elsewhere: our key must not go there. */
export function redirected(
  location: string,
  { origin, path }: WireRequest,
  { spec, origins, origin: ownOrigin }: Adapter,
): Pick<WireRequest, "origin" | "path"> | null {
  const target = URL.parse(location, origin + path);
  if (target === null || !/^https?:$/.test(target.protocol)) return null;
  if (target.origin === origin) return { origin, path: target.pathname + target.search };
  const known = [
    [spec.origin, ownOrigin] as const,
    ...Object.entries(spec.origins ?? {}).map(([name, one]) => [one, origins[name] ?? ownOrigin] as const),
  ];
  const at = known.find(([theirs]) => URL.parse(theirs)?.host === target.host);
  const base = at === undefined ? null : URL.parse(at[1]);
  if (at === undefined || base === null) return null;
  const below = pathBelow(at[0], target);
  const isBelow = below !== target.pathname + target.search || new URL(at[0]).pathname === "/";
  return { origin: base.origin, path: isBelow ? base.pathname.replace(/\/$/, "") + below : below };
}

function put(target: Fields, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const inner = target[name];
  const next: Fields = typeof inner === "object" && inner !== null ? { ...(inner as Fields) } : {};
  put(next, rest, value);
  target[name] = next;
}

function add(fields: Fields, name: string, value: unknown, nested: boolean): void {
  if (nested && name.includes("/")) put(fields, name.split("/"), value);
  else fields[name] = value;
}

/** The fields to send: the fixed ones, and the params under the vendor's names. */
function fieldsOf({ spec, names }: Named, params: Params, used: ReadonlySet<string>, nested: boolean): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries<Json>(spec.fixed ?? NO_FIELDS)) add(fields, name, value, nested);
  for (const name of Object.keys(params)) {
    const value = params[name];
    const wireName = names.has(name) ? names.get(name) : name;
    if (value !== undefined && typeof wireName === "string" && !used.has(name)) add(fields, wireName, value, nested);
  }
  return fields;
}

interface Named {
  readonly spec: RequestSpec;
  readonly names: ReadonlyMap<string, string | null>;
}

const NO_FIELDS = {};
const NONE_USED: ReadonlySet<string> = new Set();

function queryOf(fields: Fields): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, textOf(item));
  }
  return query;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
  connect: "application/connect+json",
};

/** Builds the request of one step. Throws UnbuildableRequest. */
export function buildRequest({ adapter, spec, params: given, row, soFar, ready: made }: RequestParts): WireRequest {
  const ready = made ?? new ReadyRequest(adapter, spec);
  const isStep = soFar !== undefined;
  const params = spec.params === undefined ? given : spec.params(given);
  const method = row !== null && !isStep ? row.method : spec.method;
  const send = spec.send ?? (isStep ? "none" : method === "GET" || method === "DELETE" ? "query" : "json");
  const own = row === null || isStep ? ready.place : null;
  const { place, used } =
    own === null
      ? placed({ adapter, spec, params, row: isStep ? null : row, source: isStep ? soFar : given })
      : { place: own, used: NONE_USED };
  const host = (isStep ? undefined : row?.origin) ?? spec.origin;
  const known = host === spec.origin ? ready.base : null;
  const { base, used: taken } =
    known === null ? fillHost(addressOf(adapter, host), params, used) : { base: known, used };
  const keyless = host !== undefined && adapter.spec.keylessOrigins?.includes(host) === true;
  const nested = send === "json" || send === "connect";
  const said = send === "none" ? { ...spec.fixed } : fieldsOf({ spec, names: ready.names }, params, taken, nested);
  const fields = isStep || row === null ? said : { ...said, ...row.fixed };
  const inQuery = send === "query" || method === "GET" || method === "DELETE";
  const query = inQuery ? queryOf(fields).toString() : "";
  const search = place.query === "" || query === "" ? place.query + query : `${place.query}&${query}`;
  const whole = isStep || inQuery ? undefined : row?.body;
  const parts = () => (inQuery ? null : bodyOf(send, fields));
  const body = whole === undefined ? parts() : JSON.stringify(fields[whole]);
  const path = base.path + place.path + (search === "" ? "" : `?${search}`);
  const headers = ready.headers(body === null ? "" : (CONTENT_TYPES[send] ?? "application/json"));
  const request = { method, origin: base.origin, path, headers, body };
  return keyless ? { ...request, keyless: true } : request;
}

interface Unplaced extends Pick<RequestParts, "adapter" | "spec" | "params" | "row"> {
  readonly source: unknown;
}

/** The path and query below the origin, and the params they used. */
function placed({ adapter, spec, params, row, source }: Unplaced) {
  if (spec.pathAt !== undefined) return { place: placeOf(followed(spec, adapter, source)), used: NONE_USED };
  const { text, used } = fill(row === null ? spec.path : row.path, params, source);
  return { place: placeOf(text), used };
}

function bodyOf(send: string, fields: Fields | JsonObject): string | Buffer | null {
  if (send === "json") return JSON.stringify(fields);
  if (send === "connect") return connectFrame(JSON.stringify(fields));
  if (send === "form") return queryOf({ ...fields }).toString();
  return Object.keys(fields).length === 0 ? null : JSON.stringify(fields);
}
