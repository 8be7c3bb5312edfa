// The tools of a request that the gateway itself runs for the model, in whatever wire they came: actions of the catalog.
import { z } from "zod";
import type { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import { isRecord, type Json } from "../../core/json.ts";
import type { HostedTool } from "../../core/neutral.ts";
import { MAX_COST_CENTS } from "./max-cost.ts";
import { schemaError } from "./parse-json.ts";

/** One of the caller's tools of type `action`. */
export interface ActionTool {
  /** Where it stands, such as `tools.2`. */
  readonly param: string;
  /** `<service>/<action>`, or `<service>/*` for all that only read; null: the model looks for actions itself. */
  readonly action: string | null;
  /** Of its calls in one answer; null: no bound of its own. */
  readonly callsMax: number | null;
  /** What its calls may cost together; null: no bound of its own. */
  readonly costCentsMax: number | null;
  /** Params that the caller has set: the model neither sees nor changes them. */
  readonly params: Json;
}

/** A tool of the wire's own that vendors run, as its caller has asked for it. */
export interface WantedHosted {
  readonly param: string;
  readonly tool: HostedTool;
  readonly callsMax: number | null;
  /** Only what stands at these, with all below them; empty: anywhere. */
  readonly domains: readonly string[];
  /** Nothing that stands at these. */
  readonly without: readonly string[];
}

/** Whether the gateway serves a tool that vendors run themselves. */
export type Hosts = (tool: HostedTool) => boolean;

/** For who reads requests of which nothing is hosted. */
export const HOSTS_NOTHING: Hosts = () => false;

const DOMAINS_MAX = 100;
const DOMAIN = /^[\w.-]{1,253}$/;

/** The domains that a tool of a wire names. What is none is refused: without it, the tool would look where its caller has not let it. */
function domainsIn(list: unknown, param: string): readonly string[] | GatewayError {
  const wrong = (path: string, message: string) => schemaError([{ path, message }]);
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return wrong(param, "must be a list of domains, such as example.com");
  if (list.length > DOMAINS_MAX) return wrong(param, `must have at most ${DOMAINS_MAX} domains`);
  const domains: string[] = [];
  for (const [at, one] of list.entries()) {
    if (typeof one !== "string" || !DOMAIN.test(one))
      return wrong(`${param}.${at}`, "must be a domain without more, such as example.com");
    domains.push(one.toLowerCase());
  }
  return domains;
}

/** Where a hosted tool may look. */
export function placesIn(
  allowed: readonly [unknown, string],
  blocked: readonly [unknown, string],
): Pick<WantedHosted, "domains" | "without"> | GatewayError {
  const domains = domainsIn(...allowed);
  if (!isList(domains)) return domains;
  const without = domainsIn(...blocked);
  return isList(without) ? { domains, without } : without;
}

function isList(read: readonly string[] | GatewayError): read is readonly string[] {
  return Array.isArray(read);
}

/** A hosted tool is there once: two of a kind have two bounds and one name. */
export function secondHosted(param: string, tool: HostedTool): GatewayError {
  return schemaError([{ path: param, message: `must not be a second ${tool}` }]);
}

/** How often a tool may be called, as it is said at `param`; null: that is not said. */
export function callsAt(most: unknown, param: string): number | null | GatewayError {
  const read = readFields(mostCalls, most);
  if ("data" in read) return callsIn(read.data);
  return schemaError(read.map((issue) => ({ ...issue, path: param })));
}

/** What the gateway is to run for the model. */
export interface ActionsAsk {
  readonly tools: readonly ActionTool[];
  readonly hosted: readonly WantedHosted[];
  /** Of calls of actions in one answer; null: ours. */
  readonly callsMax: number | null;
  /** The wire gives a whole answer as one text, so what is said in several rounds needs something between. */
  readonly oneText: boolean;
}

const ACTION = /^[a-z0-9][a-z0-9_-]*\/([a-z0-9][a-z0-9_-]*|\*)$/;
/** More functions no vendor takes. */
const TOOLS_MAX = 128;
export const CALLS_MAX = 64;

const calls = z.number().int().min(1);
const mostCalls = calls.nullish();
const actionTool = z
  .strictObject({
    type: z.literal("action"),
    action: z
      .string()
      .max(200)
      .regex(ACTION, "must be an action as <service>/<action>, or <service>/* for all of a service that only read")
      .nullish(),
    find: z.literal(true, "must be true: the model looks for actions itself").nullish(),
    max_calls: calls.nullish(),
    max_cost_cents: z.number().min(0).max(MAX_COST_CENTS).nullish(),
    params: z.record(z.string().max(200), z.unknown()).nullish(),
  })
  .refine(({ action, find }) => (action == null) !== (find == null), {
    path: ["action"],
    message: "must be there, or find: true in its place",
  })
  .refine(({ action, params }) => params == null || (action != null && !action.endsWith("/*")), {
    path: ["params"],
    message: "must go with one action that is named",
  });

function isActionTool(tool: unknown): tool is Json {
  return isRecord(tool) && tool.type === "action";
}

/** Whether any of the tools is an action: what is asked of every request, so it looks at nothing else. */
export function hasActions(tools: unknown): tools is unknown[] {
  return Array.isArray(tools) && tools.some(isActionTool);
}

function at(param: string, issues: readonly FieldIssue[]): readonly FieldIssue[] {
  return issues.map((issue) => ({ ...issue, path: issue.path === "" ? param : `${param}.${issue.path}` }));
}

/**
 * The actions that a request has among its tools; null: none, as of nearly every request. `body` is as it was sent, and what is wrong with
 * it is said by the field's name.
 */
export function readActions(
  { tools, max_tool_calls: most, n }: Json,
  how: {
    readonly oneText: boolean;
    readonly hosted?: readonly WantedHosted[];
    /** How many answers are wanted, and the field that says it. Default: `n`. */
    readonly choices?: readonly [param: string, count: unknown];
  },
): ActionsAsk | GatewayError | null {
  const { oneText, hosted = [], choices: [param, count] = ["n", n] } = how;
  const isActing = hasActions(tools);
  if (!isActing && hosted.length === 0) return null;
  const read = isActing ? actionsIn(tools) : [];
  if (!Array.isArray(read)) return read;
  if (typeof count === "number" && count > 1)
    return schemaError([{ path: param, message: "must be 1 where tools are actions: they are run once" }]);
  const callsMax = callsAt(most, "max_tool_calls");
  if (callsMax !== null && typeof callsMax !== "number") return callsMax;
  return { tools: read, hosted, callsMax, oneText };
}

function actionsIn(tools: readonly unknown[]): ActionTool[] | GatewayError {
  const read: ActionTool[] = [];
  for (const [place, tool] of tools.entries()) {
    if (!isActionTool(tool)) continue;
    const param = `tools.${place}`;
    const one = readFields(actionTool, tool);
    if (!("data" in one)) return schemaError(at(param, one));
    const { action, max_calls, max_cost_cents, params } = one.data;
    read.push({
      param,
      action: action ?? null,
      callsMax: max_calls ?? null,
      costCentsMax: max_cost_cents ?? null,
      params: params ?? {},
    });
  }
  if (read.length > TOOLS_MAX)
    return schemaError([{ path: "tools", message: `must have at most ${TOOLS_MAX} actions` }]);
  return read;
}

/** What is more than we run is no mistake: the wire itself has the field. */
function callsIn(most: unknown): number | null {
  return typeof most === "number" ? Math.min(most, CALLS_MAX) : null;
}
