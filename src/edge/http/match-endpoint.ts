// Finds the endpoint for a method and a path.

import type { Endpoint, ErrorCodec } from "../../core/endpoint.ts";
import { GatewayError, type HintOf } from "../../core/errors.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";

/** The endpoint of a request, or why there is none. `allow`: the Allow header of a 405. */
export type Match =
  | { readonly endpoint: Endpoint; readonly params: Readonly<Record<string, string>> }
  | { readonly error: GatewayError; readonly errors: ErrorCodec; readonly allow?: string };

export type MatchEndpoint = (method: string, path: string) => Match;

type ByMethod = Map<string, Endpoint>;

interface Found {
  readonly methods: ByMethod;
  readonly names: readonly string[];
  readonly values: readonly string[];
}

interface Pattern {
  readonly regex: RegExp;
  readonly names: readonly string[];
  readonly methods: ByMethod;
}

/** No served path is longer. */
const PATH_CHARS_MAX = 200;

/** The base paths of models: the version of nearly all clients, and that of clients with the model in the path. */
const BASES = ["/api/llm/v1", "/api/llm/v1beta"];
/** The most surplus segments that a client's base URL may have. */
const EXTRA_SEGMENTS_MAX = 6;

const MODELS = "/models/";
/** One wire format has the model in the path and, after a colon, the requested method. */
function isModelAndVerb(path: string): boolean {
  const [models, verb] = [path.indexOf(MODELS), path.lastIndexOf(":")];
  return models >= 0 && models < verb && /^[a-zA-Z]+$/.test(path.slice(verb + 1));
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** `/a/{b}/{c...}:verb` as a regular expression; `{c...}` takes the rest, slashes included. */
function compile(path: string): { regex: RegExp; names: string[] } {
  const names: string[] = [];
  const source = path.split("/").map((part) => {
    const name = /^\{(\w+)(\.\.\.)?\}(:\w+)?$/.exec(part);
    if (name === null) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    names.push(name[1] ?? "");
    return `${name[2] === undefined ? "([^/]+)" : "(.+)"}${name[3] ?? ""}`;
  });
  return { regex: new RegExp(`^${source.join("/")}$`), names };
}

/** The common prefix of neighboring paths: `/api/llm` of `/api/llm/v1/models`, `/v1` of `/v1/models`. */
function area(path: string): string {
  return path.split("/", path.startsWith("/api/") ? 3 : 2).join("/");
}

/** The intended path of a client with a wrong base URL: the version is missing, doubled, or below another path. */
function meantBy(path: string, find: (path: string) => Found | null) {
  const hasVerb = isModelAndVerb(path);
  const bases = hasVerb || path.includes("/v1beta/") ? BASES.toReversed() : BASES;
  const segments = path.slice(0, PATH_CHARS_MAX).split("/").filter(Boolean);
  for (let extra = 0; extra < Math.min(segments.length, EXTRA_SEGMENTS_MAX); extra++) {
    for (const base of bases) {
      const right = `${base}/${segments.slice(extra).join("/")}`;
      const [...served] = find(right)?.methods.values() ?? [];
      const endpoint = hasVerb ? served.find(({ method }) => method === "POST") : served[0];
      if (endpoint !== undefined) return { right, errors: endpoint.errors };
    }
  }
  return null;
}

/** The served path with another prefix: part of it was missing from the client's base URL, or was there twice. */
function elsewhere(path: string, served: Iterable<string>): string | undefined {
  if (path.length < 2) return undefined;
  for (const one of served) if (one.endsWith(path) || (one !== "/" && path.endsWith(one))) return one;
  return undefined;
}

function addTo<K>(table: Map<K, ByMethod>, key: K, endpoint: Endpoint): void {
  const methods = table.get(key) ?? new Map<string, Endpoint>();
  if (methods.has(endpoint.method)) throw new Error(`two endpoints for ${endpoint.method} ${endpoint.path}`);
  methods.set(endpoint.method, endpoint);
  if (endpoint.method === "GET") methods.set("HEAD", endpoint);
  table.set(key, methods);
}

/**
 * Compiles the endpoint table once. Exact paths win over patterns; patterns are tried in order. HEAD means GET. Throws on two endpoints
 * for the same method and path, which is a bug.
 */
export function matchEndpoint(endpoints: readonly Endpoint[], unknownPath: HintOf = "path"): MatchEndpoint {
  const exact = new Map<string, ByMethod>();
  const byPattern = new Map<string, ByMethod>();
  const wires = new Map<string, ErrorCodec>();
  for (const endpoint of endpoints) {
    for (const path of [endpoint.path, ...(endpoint.alias === undefined ? [] : [endpoint.alias])]) {
      addTo(path.includes("{") ? byPattern : exact, path, endpoint);
      wires.set(path, endpoint.errors);
      // An area's first endpoint determines the error format of unknown paths in it.
      if (!wires.has(area(path))) wires.set(area(path), endpoint.errors);
    }
  }
  const patterns: Pattern[] = [...byPattern].map(([path, methods]) => ({ ...compile(path), methods }));
  /** The error format of a path: that of its endpoint, or of the nearest one above it. */
  const wireOf = (path: string): ErrorCodec => {
    for (let at = path.slice(0, PATH_CHARS_MAX); at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
      const errors = wires.get(at);
      if (errors !== undefined) return errors;
    }
    return envelopeErrors;
  };

  const find = (path: string): Found | null => {
    const methods = exact.get(path);
    if (methods !== undefined) return { methods, names: [], values: [] };
    for (const { regex, names, methods } of patterns) {
      const found = regex.exec(path);
      if (found !== null) return { methods, names, values: found.slice(1) };
    }
    return null;
  };

  const notFound = (path: string): Match => {
    const slash = path.length > 1 && path.endsWith("/") && find(path.slice(0, -1)) !== null;
    const meant = slash || find(path) !== null ? null : meantBy(path, find);
    if (meant === null && isModelAndVerb(path)) {
      const detail = `There is nothing at ${path.slice(0, 200)}.`;
      const error = new GatewayError("not_found", { of: "model_verb", detail });
      return { error, errors: wireOf(`/v1beta${path.slice(path.lastIndexOf(MODELS))}`) };
    }
    const near = slash ? undefined : (meant?.right ?? elsewhere(path, exact.keys()));
    const there = near === undefined ? "" : ` There is ${near}.`;
    const hint = slash ? ` Leave the slash at the end out: ${path.slice(0, -1)}` : there;
    const detail = `There is nothing at ${path.slice(0, 200)}.${hint}`;
    return { error: new GatewayError("not_found", { of: unknownPath, detail }), errors: meant?.errors ?? wireOf(path) };
  };

  return (method, path) => {
    const found = find(path);
    if (found === null) return notFound(path);
    const endpoint = found.methods.get(method);
    if (endpoint === undefined && isModelAndVerb(path)) return notFound(path);
    if (endpoint === undefined) {
      const allow = [...found.methods.keys(), "OPTIONS"].join(", ");
      const detail = { method: method.slice(0, 20), allow };
      return { error: new GatewayError("method_not_allowed", { detail }), errors: wireOf(path), allow };
    }
    if (found.names.length === 0) return { endpoint, params: NO_PARAMS };
    const params = decodeParams(found.names, found.values);
    if (params !== null) return { endpoint, params };
    const detail = "The path has a percent sign that is not followed by the hexadecimal of UTF-8.";
    return { error: new GatewayError("bad_request", { detail }), errors: endpoint.errors };
  };
}

function decodeParams(names: readonly string[], values: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  try {
    for (const [i, name] of names.entries()) params[name] = decodeURIComponent(values[i] ?? "");
    return params;
  } catch {
    return null;
  }
}
