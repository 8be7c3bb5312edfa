// Tools in a request that the gateway runs for the model, in any format: catalog actions.
import { z } from "zod";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import { isRecord, type Json } from "../../core/json.ts";
import type { HostedTool } from "../../core/neutral.ts";
import { MAX_COST_CENTS } from "./max-cost.ts";
import { schemaError } from "./parse-json.ts";

export interface ActionTool {
  /** Its path in the body, such as `tools.2`. */
  readonly param: string;
  /** `<service>/<action>`, or `<service>/*` for all read-only actions; null: the model searches for actions. */
  readonly action: string | null;
  /** Limit of its calls in one answer; null: none. */
  readonly callsMax: number | null;
  /** Limit of the cost of all its calls; null: none. */
  readonly costCentsMax: number | null;
  /** Params set by the caller: the model neither sees nor changes them. */
  readonly params: Json;
}

export interface WantedHosted {
  readonly param: string;
  readonly tool: HostedTool;
  readonly callsMax: number | null;
  /** Allows only these domains and their subdomains; empty: all. */
  readonly domains: readonly string[];
  /** Excluded domains. */
  readonly without: readonly string[];
}

/** True if the gateway serves this tool in the vendor's place. */
export type Hosts = (tool: HostedTool) => boolean;

export const HOSTS_NOTHING: Hosts = () => false;

const DOMAINS_MAX = 100;
const DOMAIN = /^[\w.-]{1,253}$/;

/** A tool's domain list. A malformed list is an error, because without it the tool would search domains that the caller excludes. */
function domainsIn(list: unknown, param: string): readonly string[] {
  const wrong = (path: string, message: string) => schemaError([{ path, message }]);
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw wrong(param, "must be a list of domains, such as example.com");
  if (list.length > DOMAINS_MAX) throw wrong(param, `must have at most ${DOMAINS_MAX} domains`);
  const domains: string[] = [];
  for (const [at, one] of list.entries()) {
    if (typeof one !== "string" || !DOMAIN.test(one))
      throw wrong(`${param}.${at}`, "must be a domain without more, such as example.com");
    domains.push(one.toLowerCase());
  }
  return domains;
}

/** Adds a hosted tool to those of a request. Two of one kind would have two limits under one name. */
export function addHosted(
  hosted: WantedHosted[],
  of: Pick<WantedHosted, "param" | "tool"> & Partial<WantedHosted>,
  lists: readonly [fields: Json, at: string, allowed: string | null, blocked: string],
): void {
  if (hosted.some(({ tool }) => tool === of.tool))
    throw schemaError([{ path: of.param, message: `must not be a second ${of.tool}` }]);
  const [fields, at, allowed, blocked] = lists;
  const domains = allowed === null ? [] : domainsIn(fields[allowed], `${at}.${allowed}`);
  hosted.push({ callsMax: null, domains, without: domainsIn(fields[blocked], `${at}.${blocked}`), ...of });
}

/** The limit of calls in the field `param`; null: none. */
export function callsAt(most: unknown, param: string): number | null {
  const read = readFields(calls.nullish(), most);
  if (!("data" in read)) throw schemaError(read.map((issue) => ({ ...issue, path: param })));
  // The vendors' format has this field too, so a limit above ours is lowered, not refused.
  return read.data == null ? null : Math.min(read.data, CALLS_MAX);
}

export interface ActionsAsk {
  readonly tools: readonly ActionTool[];
  readonly hosted: readonly WantedHosted[];
  /** Limit of calls of actions in one answer; null: ours. */
  readonly callsMax: number | null;
  /** A non-streamed answer has a single text in this format, so the texts of several rounds need a separator. */
  readonly oneText: boolean;
}

const ACTION = /^[a-z0-9][a-z0-9_-]*\/([a-z0-9][a-z0-9_-]*|\*)$/;
/** The most functions that any vendor accepts. */
const TOOLS_MAX = 128;
export const CALLS_MAX = 64;

const calls = z.number().int().min(1);
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

/** True if any tool is an action. Runs on every request, so it checks nothing else. */
export function hasActions(tools: unknown): tools is unknown[] {
  return Array.isArray(tools) && tools.some(isActionTool);
}

function at(param: string, issues: readonly FieldIssue[]): readonly FieldIssue[] {
  return issues.map((issue) => ({ ...issue, path: issue.path === "" ? param : `${param}.${issue.path}` }));
}

/** The actions among a request's tools; null: none, as in nearly every request. `body` is the original body. */
export function readActions(
  { tools, max_tool_calls: most, n }: Json,
  how: {
    readonly oneText: boolean;
    readonly hosted?: readonly WantedHosted[];
    /** The requested number of answers, and its field. Default: `n`. */
    readonly choices?: readonly [param: string, count: unknown];
  },
): ActionsAsk | null {
  const { oneText, hosted = [], choices: [param, count] = ["n", n] } = how;
  const isActing = hasActions(tools);
  if (!isActing && hosted.length === 0) return null;
  const read = isActing ? actionsIn(tools) : [];
  if (typeof count === "number" && count > 1)
    throw schemaError([{ path: param, message: "must be 1 where tools are actions: they are run once" }]);
  return { tools: read, hosted, callsMax: callsAt(most, "max_tool_calls"), oneText };
}

function actionsIn(tools: readonly unknown[]): ActionTool[] {
  const read: ActionTool[] = [];
  for (const [place, tool] of tools.entries()) {
    if (!isActionTool(tool)) continue;
    const param = `tools.${place}`;
    const one = readFields(actionTool, tool);
    if (!("data" in one)) throw schemaError(at(param, one));
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
    throw schemaError([{ path: "tools", message: `must have at most ${TOOLS_MAX} actions` }]);
  return read;
}
