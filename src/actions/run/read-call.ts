// Checks a call before any hold: the action, the key's permission, the params, and the bound on the cost.

import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import type { PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import type { Nano } from "../../core/money.ts";
import type { Audience } from "../../core/plan.ts";
import { maxCostOf } from "../../models/formats/max-cost.ts";
import { parseJson } from "../../models/formats/parse-json.ts";
import { serviceRefusal } from "../../money/accounts/allowed.ts";
import { type CatalogAction, type CheckedAction, notConfigured } from "./action-catalog.ts";
import { addressWords, urlParamsOfRow, wrongUrl } from "./inner-urls.ts";
import { urlParamsOf } from "./params-schema.ts";
import { namedRow } from "./table-params.ts";

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
  if (code !== undefined)
    return new GatewayError(code, { param, detail: { detail: `in ${param} ${first?.message}` }, data });
  const named = param === "" ? {} : { param };
  return new GatewayError("bad_request", { ...named, detail: { detail }, data });
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
