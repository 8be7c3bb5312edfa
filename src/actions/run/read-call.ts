// Checks a call before any hold: the action, the key's permission, the params, and the bound on the cost.

import { isIP } from "node:net";
import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import type { PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, INNER_URL_WORDS, readFields, URL_WORDS } from "../../core/field-issues.ts";
import type { Nano } from "../../core/money.ts";
import type { Audience } from "../../core/plan.ts";
import { maxCostOf } from "../../models/formats/max-cost.ts";
import { parseJson } from "../../models/formats/parse-json.ts";
import { serviceRefusal } from "../../money/accounts/allowed.ts";
import { isPublicAddress } from "../../upstream/public-addresses.ts";
import { isInnerName } from "../../upstream/public-url.ts";
import { type CatalogAction, type CheckedAction, notConfigured } from "./action-catalog.ts";
import { urlParamsOf } from "./params-schema.ts";
import { namedRow } from "./table-params.ts";

/** Whether a text is an http(s) URL of a private, loopback or other internal host, in any spelling. Does not resolve names. */
function leadsInside(text: string): boolean {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isIP(host) === 0 ? isInnerName(host) : !isPublicAddress(host);
}

function innerWords(text: string): string | null {
  return leadsInside(text) ? INNER_URL_WORDS : null;
}

/** What is wrong with a param that must be a URL; null where nothing is. */
function addressWords(text: string): string | null {
  return /^https?:$/.test(URL.parse(text.trim())?.protocol ?? "") ? innerWords(text) : URL_WORDS;
}

/** The first of these params that is not a URL to open; null where all are. `names` lists params with a URL or a list of URLs. */
function wrongUrl(names: readonly string[], params: Params, wordsFor = innerWords): FieldIssue | null {
  for (const name of names) {
    const given = params[name];
    const isList = Array.isArray(given);
    for (const [at, one] of (isList ? given : [given]).entries()) {
      const message = typeof one === "string" ? wordsFor(one) : null;
      if (message !== null) return { path: isList ? `${name}.${at}` : name, message, code: "bad_url" };
    }
  }
  return null;
}

function urlParamsOfRow({ params }: TableEndpoint): readonly string[] {
  return Object.entries(params).flatMap(([name, { format }]) => (format === "uri" ? [name] : []));
}

export interface CheckedCall {
  readonly action: CheckedAction;
  /** As parsed by the action's schema, with defaults. For a table row, without the param that names it. */
  readonly params: Params;
  readonly row: TableEndpoint | null;
}

export interface ActionCall extends CheckedCall {
  readonly maxCostNano: Nano | null;
  /** The body as sent, for the fingerprint of its Idempotency-Key. */
  readonly body: unknown;
}

const ISSUES_SHOWN_MAX = 20;
/** Callers choose the names: a name of a megabyte must not come back three times. */
const NAME_CHARS_MAX = 200;

/** The error that names every invalid field. Bad URLs come first; the first field sets the code. */
export function fieldsError(issues: readonly FieldIssue[]): GatewayError {
  const fields = issues.toSorted((a, b) => Number(b.code === "bad_url") - Number(a.code === "bad_url"));
  const shown = fields
    .slice(0, ISSUES_SHOWN_MAX)
    .map(({ path, message }) => ({ path: path.slice(0, NAME_CHARS_MAX), message }));
  const [first] = shown;
  const param = first?.path ?? "";
  const detail = shown.map(({ path, message }) => `${path || "body"}: ${message}`).join("; ");
  const data = { fields: shown };
  const code = fields[0]?.code;
  if (code !== undefined) return new GatewayError(code, { param, detail: `in ${param} ${first?.message}`, data });
  const named = param === "" ? {} : { param };
  return new GatewayError("bad_request", { ...named, detail, data });
}

function bodyOf(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  const json = parseJson(bytes);
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return json as Record<string, unknown>;
  throw fieldsError([{ path: "", message: "must be a JSON object of the action's params" }]);
}

/** Parses params by the action's schema and, for an action with a table, by the row that they name. */
export function readParams(
  action: CatalogAction,
  given: Record<string, unknown>,
): { readonly params: Params; readonly row: TableEndpoint | null } | GatewayError {
  const wrong = wrongUrl(urlParamsOf(action), given, addressWords);
  if (wrong !== null) return fieldsError([wrong]);
  const read = readFields(action.facts.params, given);
  if (!("data" in read)) return fieldsError(read);
  if (action.table === undefined) return { params: read.data, row: null };
  const named = namedRow(action.table.rows, action.table.by, read.data);
  if (!("row" in named)) return fieldsError(named);
  const inside = wrongUrl(urlParamsOfRow(named.row), named.params);
  return inside === null ? named : fieldsError([inside]);
}

/** The refusal where the key's lists do not allow the action; null where they do. */
export function refusedBy({ allows }: Audience, { anyKey, service, action }: CatalogAction): GatewayError | null {
  return anyKey === true ? null : serviceRefusal(allows, service, action);
}

/** Reads a call. Its errors name the field. */
export function readCall({ request, audience }: PlanCall, action: CheckedAction): ActionCall {
  const body = bodyOf(request.body);
  const { max_cost_cents: maxCost, ...given } = body;
  const refused = refusedBy(audience, action);
  if (refused !== null) throw refused;
  const read = readParams(action, given);
  if (read instanceof GatewayError) throw read;
  const maxCostNano = maxCostOf(request, maxCost);
  if (!action.configured) throw notConfigured(action);
  return { action, ...read, maxCostNano, body };
}
