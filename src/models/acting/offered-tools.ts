// Offers a request's actions to the model as functions, and maps its function calls back to actions.
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import type { HostedTool, NeutralTool, Source } from "../../core/neutral.ts";
import { shortName } from "../../core/short-name.ts";
import type { ActionsAsk, ActionTool, WantedHosted } from "../formats/action-tools.ts";
import type { ActionsAudience, ActionsCatalog, KnownAction } from "./deps.ts";

/** The limit of vendors. */
const FUNCTIONS_MAX = 128;

export type Wanted =
  | { readonly kind: "action"; readonly action: KnownAction; readonly params: Json }
  /** Answered from the catalog, for free. */
  | { readonly kind: "told"; readonly data: unknown }
  /** An error for the model. */
  | GatewayError;

/** The caller's bounds on all calls of one tool together. */
export interface ToolBounds {
  readonly callsMax: number | null;
  readonly costCentsMax: number | null;
}

export interface OfferedTool {
  readonly name: string;
  readonly told: NeutralTool;
  readonly bounds: ToolBounds;
  readonly hosted: HostedTool | null;
  /** The only actions it can run; empty where the model chooses. */
  readonly actions: readonly KnownAction[];
  wanted(args: Json): Wanted;
  /** The sources in its result, for tools that return only those. */
  found?(data: unknown): readonly Source[];
}

export function functionName(service: string, action: string): string {
  return shortName(`${service}__${action}`);
}

/** The schema without params that the caller fixed: the model can neither see nor change them. */
function withoutFixed(schema: Json, fixed: Json): Json {
  const names = new Set(["max_cost_cents", ...Object.keys(fixed)]);
  const { properties, required, ...rest } = schema;
  const left = isRecord(properties) ? Object.entries(properties).filter(([name]) => !names.has(name)) : [];
  const needed = Array.isArray(required) ? required.filter((name) => !names.has(String(name))) : [];
  return { type: "object", ...rest, properties: Object.fromEntries(left), required: needed };
}

function functionOf(name: string, description: string, parameters: Json): NeutralTool {
  return { kind: "function", name, description, parameters, strict: false, cacheMark: false };
}

function invalid(param: string, detail: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${detail}` });
}

function offered(action: KnownAction, fixed: Json, bounds: ToolBounds): OfferedTool {
  const name = functionName(action.service, action.action);
  return {
    name,
    told: functionOf(name, action.description, withoutFixed(action.schema, fixed)),
    bounds,
    hosted: null,
    actions: [action],
    wanted: (args) => ({ kind: "action", action, params: { ...args, ...fixed } }),
  };
}

const QUERY = {
  type: "object",
  properties: { query: { type: "string", description: "What is to be done, in a few words" } },
  required: ["query"],
  additionalProperties: false,
};
const NAMED = { type: "string", description: "<service>/<action>, as core__discover tells it" };
const DESCRIBED = { type: "object", properties: { action: NAMED }, required: ["action"], additionalProperties: false };
const CALLED = {
  type: "object",
  properties: { action: NAMED, params: { type: "object", description: "As core__describe tells them" } },
  required: ["action", "params"],
  additionalProperties: false,
};

/** Functions that let a model find and run actions itself. Write actions have to be named by the caller. */
function finders(catalog: ActionsCatalog, audience: ActionsAudience, bounds: ToolBounds): readonly OfferedTool[] {
  const readable = (args: Json): KnownAction | GatewayError => {
    const found = catalog.find(stringOf(args.action) ?? "", audience);
    if (found instanceof GatewayError) return found;
    return unfitIn(found) ?? found;
  };
  const make = (name: string, description: string, schema: Json, wanted: OfferedTool["wanted"]): OfferedTool => {
    const told = functionOf(name, description, schema);
    return { name, told, bounds, hosted: null, actions: [], wanted };
  };
  return [
    make("core__discover", "Finds actions that do what is needed, best first, with their prices.", QUERY, (args) => {
      const query = stringOf(args.query)?.trim() ?? "";
      if (query === "") return invalid("query", "must be text");
      return { kind: "told", data: catalog.discover(query.slice(0, 1_000), audience) };
    }),
    make("core__describe", "Says what params an action takes, as JSON Schema.", DESCRIBED, (args) => {
      const action = readable(args);
      if (action instanceof GatewayError) return action;
      const { id, description, schema } = action;
      return { kind: "told", data: { action: id, description, params: schema } };
    }),
    make("core__call", "Calls an action.", CALLED, (args) => {
      const action = readable(args);
      if (action instanceof GatewayError) return action;
      if (!isRecord(args.params)) return invalid("params", "must be an object");
      return { kind: "action", action, params: args.params };
    }),
  ];
}

/** Why a model may not call an action that the caller did not name. */
function unfitIn({ id, effect, unfit, refusal }: KnownAction): GatewayError | null {
  if (refusal !== null) return refusal;
  if (unfit !== null) return invalid("action", `${id} ${unfit}`);
  if (effect === "write")
    return invalid("action", `${id} changes something: only a caller who names it can have it called`);
  return null;
}

function toolsOf(
  { param, action: named, params, callsMax, costCentsMax }: ActionTool,
  catalog: ActionsCatalog,
  audience: ActionsAudience,
): readonly OfferedTool[] {
  const bounds = { callsMax, costCentsMax };
  if (named === null) return finders(catalog, audience, bounds);
  const at = `${param}.action`;
  if (named.endsWith("/*")) {
    const service = named.slice(0, -2);
    const some = catalog.ofService(service, audience).filter((action) => unfitIn(action) === null);
    if (some.length === 0) throw invalid(at, `${service} has no action that only reads and can be had`);
    return some.map((action) => offered(action, {}, bounds));
  }
  const action = catalog.find(named, audience);
  if (action instanceof GatewayError) throw new GatewayError(action.code, { ...action.options, param: at });
  if (action.refusal !== null) throw new GatewayError(action.refusal.code, { ...action.refusal.options, param: at });
  if (action.unfit !== null) throw invalid(at, `${named} ${action.unfit}`);
  const { properties, additionalProperties } = action.schema;
  const unknown = Object.keys(params).find(
    (name) => additionalProperties === false && isRecord(properties) && !Object.hasOwn(properties, name),
  );
  if (unknown !== undefined) throw invalid(`${param}.params.${unknown.slice(0, 100)}`, `is no param of ${named}`);
  return [offered(action, params, bounds)];
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

/** True if the caller's domain lists allow this URL. */
function mayTell(url: string, { domains, without }: WantedHosted): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  if (without.some((domain) => isBelow(host, domain))) return false;
  return domains.length === 0 || domains.some((domain) => isBelow(host, domain));
}

/** Adds search operators for the domains; results from other domains are filtered out regardless. */
function withDomains(asked: string, { domains, without }: WantedHosted): string {
  const only = domains.map((domain) => `site:${domain}`).join(" OR ");
  const not = without.map((domain) => `-site:${domain}`).join(" ");
  return [asked, only, not].filter((part) => part !== "").join(" ");
}

/** A vendor's built-in tool, as a function of the same name. */
function hostedTool(wanted: WantedHosted, catalog: ActionsCatalog, audience: ActionsAudience): OfferedTool {
  const { tool, callsMax, param } = wanted;
  const served = catalog.hosted(tool, audience);
  if (served === null) throw invalid(param, `nothing here serves ${tool} to this key`);
  const { about, takes, action } = served;
  const schema = {
    type: "object",
    properties: { [takes]: { type: "string" } },
    required: [takes],
    additionalProperties: false,
  };
  return {
    name: tool,
    told: functionOf(tool, about, schema),
    bounds: { callsMax, costCentsMax: null },
    hosted: tool,
    actions: [action],
    wanted(args) {
      const asked = stringOf(args[takes])?.trim() ?? "";
      if (asked === "") return invalid(takes, "must be text");
      if (takes === "url" && !mayTell(asked, wanted))
        return invalid(takes, "is at none of the domains that may be read");
      return { kind: "action", action, params: served.params(takes === "url" ? asked : withDomains(asked, wanted)) };
    },
    found: (data) => served.found(data).filter(({ url }) => mayTell(url, wanted)),
  };
}

/** The tools that a request offers the model, under names distinct from the caller's. Throws where the request is wrong. */
export function offeredTools(
  ask: ActionsAsk,
  callersNames: ReadonlySet<string>,
  { catalog, audience }: { readonly catalog: ActionsCatalog; readonly audience: ActionsAudience },
): ReadonlyMap<string, OfferedTool> {
  const byName = new Map<string, OfferedTool>();
  for (const tool of ask.tools) {
    for (const one of toolsOf(tool, catalog, audience)) {
      if (callersNames.has(one.name))
        throw invalid(tool.param, `has the name of another function of the request, ${one.name}`);
      // An action named explicitly has its own bounds; a pattern never replaces it.
      if (tool.action?.endsWith("/*") === true && byName.has(one.name)) continue;
      byName.set(one.name, one);
    }
  }
  for (const wanted of ask.hosted) {
    const one = hostedTool(wanted, catalog, audience);
    if (callersNames.has(one.name) || byName.has(one.name))
      throw invalid(wanted.param, `is called ${one.name}, as another tool of the request is`);
    byName.set(one.name, one);
  }
  if (byName.size + callersNames.size <= FUNCTIONS_MAX) return byName;
  throw invalid(
    "tools",
    `are ${byName.size + callersNames.size} functions in all; models take at most ${FUNCTIONS_MAX}`,
  );
}
