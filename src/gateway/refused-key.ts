// Refusals that only the operator can resolve: a vendor refuses our key or our account there is empty, or no key is set. The log, the
// start, `doctor`, the console and the failed calls show them; a caller learns only that no provider can serve the call.

import type { Adapter, Catalog } from "../catalog/catalog.ts";
import { envName } from "../catalog/configure.ts";
import { keyVariablesOf, variablesOf } from "../catalog/variables.ts";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import type { AttemptFailure } from "../core/route.ts";
import type { FailedCall, FailedCalls } from "../core/usage-rows.ts";
import type { Refusal } from "../money/accounts/admin-endpoints.ts";
import type { Log } from "../platform/observe/log.ts";
import { lineOf, type RouteFailures } from "../upstream/route-failures.ts";
import type { RefusedKey } from "../upstream/upstream.ts";

export type CheckVerdict =
  | "fine"
  | "slow"
  | "key bad"
  | "empty"
  | "model missing"
  | "rate limited"
  | "unreachable"
  | "failing"
  | "refused"
  | "not asked";

export const VERDICTS: Partial<Record<FailureKind, CheckVerdict>> = {
  provider_auth_failed: "key bad",
  provider_billing: "empty",
  provider_model_missing: "model missing",
  provider_rate_limited: "rate limited",
  provider_connection_failed: "unreachable",
  gateway_proxy_failed: "unreachable",
  provider_timeout: "slow",
  caller_invalid: "refused",
  caller_unsupported: "refused",
  caller_context_length: "refused",
  policy_content: "refused",
};

const ALL = { sandbox: true };
const LIVE = { sandbox: false };
const VARIABLES_MAX = 4;
const SAYS: Partial<Record<FailureKind, readonly [says: string, todo: string]>> = {
  provider_auth_failed: ["refuses our key", "put a good one there and start again"],
  provider_billing: ["has nothing left for our key", "add credit at the vendor"],
  provider_model_missing: ["does not know the model for our key", "check what that account may use"],
};

/** The operator's own servers have no key, so their address identifies them. */
function variableOf({ id, spec }: Adapter): string {
  return keyVariablesOf(id, spec).join(" + ") || envName(id, "BASE_URL");
}

/** One line: the vendor, the variable, the remedy and the vendor's message; `place` says which of several keys. */
function sentence(
  adapter: Adapter,
  { kind, status, message, todo }: Pick<AttemptFailure, "kind" | "status" | "message" | "todo">,
  place = "",
): string {
  const [says, usual] = SAYS[kind] ?? ["cannot serve us", "see `tollgate check`"];
  return `${adapter.spec.name} ${says} (${VERDICTS[kind]}): ${variableOf(adapter)}${place}; ${todo ?? usual}. It said ${status}: ${lineOf(message).replace(/\.$/, "")}`;
}

/** Logs each refused key once per rest. The sandbox never receives our keys. */
export function logRefusedKeys({ logger }: Log): (refused: RefusedKey) => void {
  return ({ adapter, key, failure }) => {
    const { id, keys, isSandbox } = adapter;
    if (isSandbox === true) return;
    const place = keys.length > 1 ? `, key ${keys.indexOf(key) + 1} of ${keys.length}` : "";
    const { kind, status } = failure;
    const told = { provider: id, status, verdict: VERDICTS[kind], variable: variableOf(adapter) };
    logger.warn(told, sentence(adapter, failure, place));
  };
}

/** Vendors' refusals since the gateway started: one row per vendor and verdict, newest first. */
export function refusalsIn(failures: Pick<RouteFailures, "all">, catalog: Catalog): readonly Refusal[] {
  const found = new Map<string, Refusal & Readonly<Record<string, string | number>>>();
  for (const { provider, reason: kind, status, words, sandbox, lastAtMs } of failures.all()) {
    const adapter = catalog.adapters(LIVE).get(provider);
    const verdict = VERDICTS[kind] ?? kind;
    const name = `${provider} ${verdict}`;
    if (FAILURES[kind].code !== "upstream_not_configured" || sandbox || !adapter || found.has(name)) continue;
    const message = sentence(adapter, { kind, status, message: words });
    const last_at = new Date(lastAtMs).toISOString();
    found.set(name, { provider, verdict, variable: variableOf(adapter), status, message, last_at });
  }
  return [...found.values()];
}

/** The variables that would enable a model, an action or a tier's entries, whether enabled or not. */
function variablesFor(asked: string, catalog: Catalog): readonly string[] {
  const tier = catalog.tiers.get(asked.replace(/^core\//, ""));
  const slugs = new Set(tier?.models ?? [asked, ...catalog.slugsNamed(asked, "chat", ALL)]);
  const sold = [...catalog.listed(ALL), ...catalog.unitModels(ALL), ...catalog.models(ALL)];
  const ofModels = sold.flatMap(({ slug, offers }) => (slugs.has(slug) ? offers.map(({ adapter }) => adapter) : []));
  const ofAction = catalog.action(asked, ALL)?.offers.map(({ adapter }) => adapter) ?? [];
  const ways = [...ofModels, ...ofAction].map(({ id, spec }) => variablesOf(id, spec).join(" + "));
  return [...new Set(ways)].filter(Boolean).slice(0, VARIABLES_MAX);
}

/** Why a call failed or was refused: the vendor's refusal, or what would enable the call. */
function reasonOf({ attempts, code, asked, message = null }: FailedCall, catalog: Catalog): string | null {
  const last = attempts.findLast(
    ({ refusal, reason }) =>
      refusal !== undefined && FAILURES[reason as FailureKind]?.code === "upstream_not_configured",
  );
  const adapter = catalog.adapters(LIVE).get(last?.vendor ?? "");
  if (last?.refusal !== undefined && adapter !== undefined)
    return sentence(adapter, { kind: last.reason as FailureKind, status: last.status, message: last.refusal });
  const variables = code === "upstream_not_configured" && asked !== null ? variablesFor(asked, catalog) : [];
  return variables.length === 0 ? message : `No key is set for ${asked}: set ${variables.join(" or ")}`;
}

/** Uncharged calls, each with its reason for the operator. */
export function explained(calls: FailedCalls, catalog: () => Catalog): FailedCalls {
  return {
    async find(search) {
      const { rows, next } = await calls.find(search);
      return { rows: rows.map((call) => ({ ...call, reason: reasonOf(call, catalog()) })), next };
    },
  };
}
