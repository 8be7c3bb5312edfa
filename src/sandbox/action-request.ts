// Reads an action's request as strictly as its vendor would: address, method, key, headers, content type, body.
import type { IncomingHttpHeaders } from "node:http";
import type { Auth } from "../catalog/auth.ts";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { Json } from "../catalog/said.ts";
import { type Captures, matchTarget } from "./action-path.ts";
import type { ActionPlace } from "./action-vendors.ts";
import type { Arrival } from "./scenario.ts";

export class RequestRefusal {
  readonly status: number;
  readonly message: string;

  constructor(status: number, message: string) {
    this.status = status;
    this.message = message;
  }
}

type Fields = Readonly<Record<string, unknown>>;

export interface ActionReading {
  /** The values of the path template's placeholders. */
  readonly captures: Captures;
  /** The values of query and body, by the vendor's names. */
  readonly fields: Fields;
}

interface Expected {
  readonly method: string;
  /** One of the vendor's other hosts; undefined: the main one. */
  readonly origin: string | undefined;
  /** Any of these is a correct address. */
  readonly templates: readonly string[];
  readonly send: NonNullable<RequestSpec["send"]>;
  /** The body is the value of one param, of any type. */
  readonly isWhole: boolean;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
};

/** The path of an address from an answer, relative to the vendor's own. */
function pathOf(address: string, origin: string): string | null {
  const url = URL.parse(address, origin);
  const own = new URL(origin).pathname.replace(/\/$/, "");
  if (url === null) return null;
  const path = url.pathname.startsWith(`${own}/`) ? url.pathname.slice(own.length) : url.pathname;
  return path + url.search;
}

/** The requests that are acceptable: one per row of a table, or per address from the call's earlier answers. */
function expectations(place: ActionPlace, gave: (pointer: string) => readonly string[]): readonly Expected[] {
  const { step, action, vendor } = place;
  const request = (step ?? action).request;
  if (request === undefined) return [];
  const sendOf = (method: string) => {
    if (request.send !== undefined) return request.send;
    if (step !== null) return "none";
    return method === "GET" || method === "DELETE" ? "query" : "json";
  };
  if (step === null && action.table !== undefined) {
    const { method } = action.table;
    const rows = Object.values(vendor.table ?? {}).filter(
      (row) => row.ended === undefined && (method === undefined || row.method === method),
    );
    return rows.map(({ method: own, origin = request.origin, path, body }) => {
      return { method: own, origin, templates: [path], send: sendOf(own), isWhole: body !== undefined };
    });
  }
  const { method, pathAt, path } = request;
  const origin = request.origin === undefined ? vendor.spec.origin : vendor.spec.origins?.[request.origin];
  const templates =
    pathAt === undefined ? [path] : gave(pathAt).flatMap((one) => pathOf(one, origin ?? vendor.spec.origin) ?? []);
  return [{ method, origin: request.origin, templates, send: sendOf(method), isWhole: false }];
}

/** Splits an address in the sandbox: the vendor, one of its origins, and the path below. */
export function addressOf(pathname: string): {
  readonly adapter: string;
  readonly origin: string | undefined;
  readonly path: string;
} {
  const [, adapter = "", rest = ""] = /^\/([^/]+)(.*)$/s.exec(pathname) ?? [];
  const [, origin, path] = /^\/~([^/]+)(.*)$/s.exec(rest) ?? [];
  return { adapter, origin, path: path ?? rest };
}

/** The path below the adapter's origin; null if the request went elsewhere. */
function pathBelow({ adapter }: ActionPlace, origin: string | undefined, pathname: string): string | null {
  const base = `/${adapter}${origin === undefined ? "" : `/~${origin}`}`;
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : null;
  return below === "" || below?.startsWith("/") ? below : null;
}

function isSaid(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

/** Whether a key is where the vendor expects it. Any key is accepted. */
export function hasKey(auth: Auth, headers: IncomingHttpHeaders, query: URLSearchParams, fields: Fields): boolean {
  return auth.shown?.({ headers, query, fields }) ?? isSaid(headers.authorization);
}

/** A JSON body must be an object, unless one param is the whole body. */
function jsonFields(text: string, isWhole: boolean): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
    return isWhole ? {} : null;
  } catch {
    return null;
  }
}

function bodyFields({ send, isWhole }: Expected, headers: IncomingHttpHeaders, body: Buffer): Fields | RequestRefusal {
  const text = body.toString("utf8");
  const hasBody = send === "json" || send === "form";
  if (!hasBody && text === "") return {};
  const type = hasBody ? (CONTENT_TYPES[send] ?? "") : "application/json";
  const said = String(headers["content-type"] ?? "none");
  if (!said.startsWith(type)) return new RequestRefusal(415, `The content type is ${said} and must be ${type}.`);
  if (send === "form") return Object.fromEntries(new URLSearchParams(text));
  return jsonFields(text, isWhole) ?? new RequestRefusal(400, "The request body is no JSON object.");
}

function headerRefusal({ vendor, step, action }: ActionPlace, headers: IncomingHttpHeaders): RequestRefusal | null {
  const wanted = { ...vendor.spec.headers, ...(step ?? action).request?.headers };
  const missing = Object.entries(wanted).find(([name, value]) => headers[name.toLowerCase()] !== value);
  if (missing !== undefined) return new RequestRefusal(400, `The header ${missing[0]} is not as it must be.`);
  const nameless = vendor.spec.contact !== undefined && !isSaid(headers["user-agent"]);
  return nameless ? new RequestRefusal(403, "The User-Agent must say who calls.") : null;
}

/** Accepts a script's request at any address, if it has a key and the vendor's headers. */
function readScripted(place: ActionPlace, { target, body }: Arrival): ActionReading | RequestRefusal {
  if (body === null) return new RequestRefusal(413, "The request body is too large.");
  const fields = { ...Object.fromEntries(target.url.searchParams), ...jsonFields(body.toString("utf8"), true) };
  if (!hasKey(place.vendor.spec.auth, target.headers, target.url.searchParams, fields))
    return new RequestRefusal(401, "The API key is missing or not valid.");
  const refusal = headerRefusal(place, target.headers);
  if (refusal !== null) return refusal;
  return { captures: new Map(), fields };
}

/** `gave` returns the values at a pointer in this call's earlier answers: a step may use no others. */
export function readActionRequest(
  place: ActionPlace,
  arrival: Arrival,
  gave: (pointer: string) => readonly string[],
): ActionReading | RequestRefusal {
  if (place.action.run !== undefined) return readScripted(place, arrival);
  const { url, headers } = arrival.target;
  const found = expectations(place, gave).flatMap((expected) => {
    const path = pathBelow(place, expected.origin, url.pathname);
    return expected.templates.flatMap((template) => {
      const captures = path === null ? null : matchTarget(template, path, url.searchParams);
      return captures === null ? [] : [{ expected, captures }];
    });
  });
  if (found.length === 0) return new RequestRefusal(404, `There is nothing at ${url.pathname}.`);
  const match = found.find(({ expected }) => expected.method === arrival.method);
  if (match === undefined) return new RequestRefusal(405, `${arrival.method} is not possible here.`);
  const strange = [...match.captures].find(([name, value]) => name.startsWith("/") && !gave(name).includes(value));
  if (strange !== undefined) return new RequestRefusal(404, `There is no ${strange[1]}.`);
  if (arrival.body === null) return new RequestRefusal(413, "The request body is too large.");
  const body = bodyFields(match.expected, headers, arrival.body);
  const fields = body instanceof RequestRefusal ? {} : { ...Object.fromEntries(url.searchParams), ...body };
  if (!hasKey(place.vendor.spec.auth, headers, url.searchParams, fields))
    return new RequestRefusal(401, "The API key is missing or not valid.");
  if (body instanceof RequestRefusal) return body;
  return headerRefusal(place, headers) ?? { captures: match.captures, fields };
}

/** The value sent for a param, as far as its name tells the place: text in a path or query, JSON in a body. */
export function valueSentAs(
  param: string,
  { request }: { readonly request?: RequestSpec },
  reading: ActionReading,
): Json | undefined {
  const inPath = reading.captures.get(param);
  if (inPath !== undefined) return inPath;
  const name = request?.names?.[param] ?? param;
  const inside = name
    .split("/")
    .reduce<unknown>((value, part) => (value as Fields | undefined)?.[part], reading.fields);
  return (reading.fields[name] ?? inside) as Json | undefined;
}

/** The same as texts, one per item of an array. */
export function sentAs(
  param: string,
  of: { readonly request?: RequestSpec },
  reading: ActionReading,
): readonly string[] {
  const values = [valueSentAs(param, of, reading) ?? []].flat() as readonly Json[];
  return values.flatMap((value) => (typeof value === "string" || typeof value === "number" ? [String(value)] : []));
}
