// From an action's params to the bytes of its request, as the adapter's data says. Pure: it opens nothing.
import type { Adapter } from "../catalog/catalog.ts";
import type { TableEndpoint } from "../catalog/endpoint-table.ts";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { Json, JsonObject, Params } from "../catalog/said.ts";
import { connectFrame } from "./connect-frames.ts";
import { atPointer } from "./json-pointer.ts";

/** A request as it goes out, but for our key. */
export interface WireRequest {
  readonly method: RequestSpec["method"];
  /** Scheme and authority. */
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
  /** The vendor is not alone at this address, so our key is not shown there. */
  readonly keyless?: true;
  /** Nothing in its answer says where that ends: see `ExchangeRequest`. */
  readonly ownConnection?: true;
}

/** Where a request goes. */
interface Base {
  /** Scheme and authority. */
  readonly origin: string;
  /** What stands before every path; without a slash at its end. */
  readonly path: string;
}

function baseOf(address: string): Base {
  const { origin, pathname } = new URL(address);
  return { origin, path: pathname.replace(/\/$/, "") };
}

function addressOf({ origin, origins }: Adapter, host: string | undefined): string {
  return host === undefined ? origin : (origins[host] ?? origin);
}

/** The path and the query that a template says. */
interface Place {
  readonly path: string;
  readonly query: string;
}

function placeOf(text: string): Place {
  const [path = "", query = ""] = text.split(/\?(.*)/s);
  return { path, query };
}

const HAS_PLACES = /\{[^{}]+\}/;

/** What of a request is the same in every call: made once for the requests of an action, and each time for one that a script asks for. */
export class ReadyRequest {
  readonly names: ReadonlyMap<string, string | null>;
  /** Null: its address has places in it. */
  readonly base: Base | null;
  /** Null: its path has places in it, or is the vendor's to say. */
  readonly place: Place | null;
  readonly #adapter: Adapter;
  readonly #spec: RequestSpec;
  /** By the type of the body; "" without one. */
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
    const known = this.#headers.get(contentType);
    if (known !== undefined) return known;
    const { userAgent, spec } = this.#adapter;
    const made = {
      accept: "application/json",
      ...(contentType === "" ? {} : { "content-type": contentType }),
      ...(userAgent === null ? {} : { "user-agent": userAgent }),
      ...spec.headers,
      ...this.#spec.headers,
    };
    this.#headers.set(contentType, made);
    return made;
  }
}

export interface RequestParts {
  readonly adapter: Adapter;
  readonly spec: RequestSpec;
  readonly params: Params;
  /** The row of the endpoint table that the call names; its path, method and origin replace the spec's. */
  readonly row: TableEndpoint | null;
  /** What the steps before have answered; undefined in the first request, and in a script, whose pointers lead into its params. */
  readonly soFar: unknown;
  /** Of this adapter and spec. Default: it is made. */
  readonly ready?: ReadyRequest | undefined;
}

/** A request cannot be made of this; the sentence says why: a param that cannot stand in its place, or a vendor's strange answer. */
export class UnbuildableRequest extends Error {}

type Fields = Record<string, unknown>;

const HOST_PART = /^[a-z0-9-]+$/i;

function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What half of a character has no bytes for cannot be percent-encoded. */
function wellFormed(text: string, name: string): string {
  if (!text.isWellFormed()) throw new UnbuildableRequest(`${name} has half of a character in it`);
  return text;
}

/** A value inside a path. It cannot leave its place: slashes are encoded, and no segment is a dot or two. */
function segment(value: unknown, name: string): string {
  const text = textOf(value);
  if (value === undefined || value === null || ["", ".", ".."].includes(text)) {
    throw new UnbuildableRequest(`nothing to put for {${name}} in the path`);
  }
  return encodeURIComponent(wellFormed(text, name));
}

/** A value that keeps its slashes, such as an address inside of a path; what is encoded in it already stays so. */
function segments(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "") throw new UnbuildableRequest(`nothing to put for {${name}...}`);
  return encodeURI(wellFormed(value, name))
    .replaceAll("#", "%23")
    .replace(/%25(?=[0-9a-f]{2})/gi, "%");
}

/** Fills in a template and tells which params it used. */
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

/** The address, and the params that are used by then. */
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

/** The path of an address below a base address; the whole path where the address is not below it. */
function pathBelow(base: string, { pathname, search }: URL): string {
  const ownPath = (URL.parse(base)?.pathname ?? "").replace(/\/$/, "");
  return (pathname.startsWith(`${ownPath}/`) ? pathname.slice(ownPath.length) : pathname) + search;
}

/** The path of the vendor's own address for the next step. Its host is not believed: our key goes to our origin alone. */
function followed(spec: RequestSpec, adapter: Adapter, soFar: unknown): string {
  const address = atPointer(soFar, spec.pathAt ?? "");
  if (typeof address !== "string") throw new UnbuildableRequest("the vendor gave no address for the next step");
  const known = spec.origin === undefined ? adapter.spec.origin : (adapter.spec.origins?.[spec.origin] ?? "");
  const url = URL.parse(address, known);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UnbuildableRequest("the vendor's address for the next step is none");
  return pathBelow(known, url);
}

/**
 * Where a redirect leads: further on at the origin that was asked, or at one of the vendor's known hosts, for which the origin that is
 * configured stands in. Null: it leads elsewhere, and our key does not go there.
 */
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

/** The fields that are sent: fixed ones, and the params under the vendor's names. */
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

/** Makes the request of one step. Throws UnbuildableRequest. */
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

/** Where a request goes below its origin, and the params that this took. */
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
