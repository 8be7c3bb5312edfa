// The functions that a model is offered for the actions of a request, and what it calls by each of them.
import { hash } from "node:crypto";
import { GatewayError } from "../errors.ts";
import { isRecord, type Json, stringOf } from "../json.ts";
import type { HostedTool, NeutralTool } from "../neutral.ts";
import type { ActionsAsk, ActionTool } from "../wires/action-tools.ts";
import type { ActionsAudience, ActionsCatalog, KnownAction } from "./deps.ts";

/** Vendors take names of so many characters, and so many functions. */
const NAME_CHARS_MAX = 64;
const HASH_CHARS = 8;
const FUNCTIONS_MAX = 128;

/** What a call of a function comes to. */
export type Wanted =
  | { readonly kind: "action"; readonly action: KnownAction; readonly params: Json }
  /** It is answered from the catalog, for free. */
  | { readonly kind: "told"; readonly data: unknown }
  /** What the model is told instead. */
  | GatewayError;

/** What the caller lets all calls by one of its tools do together. */
export interface ToolBounds {
  readonly callsMax: number | null;
  readonly costCentsMax: number | null;
}

export interface OfferedTool {
  /** The function's name. */
  readonly name: string;
  readonly told: NeutralTool;
  readonly bounds: ToolBounds;
  readonly hosted: HostedTool | null;
  /** The actions that it is certain to be for; empty where the model chooses. */
  readonly actions: readonly KnownAction[];
  wanted(args: Json): Wanted;
}

export function functionName(service: string, action: string): string {
  const whole = `${service}__${action}`;
  if (whole.length <= NAME_CHARS_MAX) return whole;
  return `${whole.slice(0, NAME_CHARS_MAX - HASH_CHARS - 1)}_${hash("sha256", whole).slice(0, HASH_CHARS)}`;
}

/** The schema without what the caller has set: the model can neither read nor change it. */
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
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${detail}` } });
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

/** The functions by which a model looks for actions itself. What changes something has to be named by the caller. */
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

/** Why a model may not call an action that its caller has not named. */
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
): readonly OfferedTool[] | GatewayError {
  const bounds = { callsMax, costCentsMax };
  if (named === null) return finders(catalog, audience, bounds);
  const at = `${param}.action`;
  if (named.endsWith("/*")) {
    const service = named.slice(0, -2);
    const some = catalog.ofService(service, audience).filter((action) => unfitIn(action) === null);
    if (some.length === 0) return invalid(at, `${service} has no action that only reads and can be had`);
    return some.map((action) => offered(action, {}, bounds));
  }
  const action = catalog.find(named, audience);
  if (action instanceof GatewayError) return new GatewayError(action.code, { ...action.options, param: at });
  if (action.refusal !== null) return new GatewayError(action.refusal.code, { ...action.refusal.options, param: at });
  if (action.unfit !== null) return invalid(at, `${named} ${action.unfit}`);
  const { properties, additionalProperties } = action.schema;
  const unknown = Object.keys(params).find(
    (name) => additionalProperties === false && isRecord(properties) && !Object.hasOwn(properties, name),
  );
  if (unknown !== undefined) return invalid(`${param}.params.${unknown.slice(0, 100)}`, `is no param of ${named}`);
  return [offered(action, params, bounds)];
}

/** What a model is offered for what its caller asks, by names that are its own; or what is wrong with that. */
export function offeredTools(
  ask: ActionsAsk,
  callersNames: ReadonlySet<string>,
  { catalog, audience }: { readonly catalog: ActionsCatalog; readonly audience: ActionsAudience },
): ReadonlyMap<string, OfferedTool> | GatewayError {
  const byName = new Map<string, OfferedTool>();
  for (const tool of ask.tools) {
    const some = toolsOf(tool, catalog, audience);
    if (some instanceof GatewayError) return some;
    for (const one of some) {
      if (callersNames.has(one.name))
        return invalid(tool.param, `is called ${one.name}, as a function of the request is`);
      // What is named one by one has bounds of its own, wherever a pattern stands.
      if (tool.action?.endsWith("/*") === true && byName.has(one.name)) continue;
      byName.set(one.name, one);
    }
  }
  if (byName.size + callersNames.size <= FUNCTIONS_MAX) return byName;
  return invalid(
    "tools",
    `are ${byName.size + callersNames.size} functions in all; models take at most ${FUNCTIONS_MAX}`,
  );
}
