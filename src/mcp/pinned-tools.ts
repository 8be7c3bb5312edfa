// Typed tools: actions with a name and a schema of their own, three that every client sees and up to twenty that an address names.
import { isRecord } from "../json.ts";
import type { CallInside, InnerCaller } from "./inner-http.ts";
import { ASK_MODEL, actionTool, TOOLS, type Tool } from "./tools.ts";

const PINNED_MAX = 20;
const CORE = [
  ["core/onescrape", "onescrape"],
  ["core/onesearch", "onesearch"],
  ["core/onefind", "onefind"],
] as const;
/** What of a long schema is left to describe_action, so that all tools stay within a model's patience. */
const BRIEF: Readonly<Record<string, readonly string[]>> = {
  onesearch: ["query", "facets", "recencyDays", "domains", "maxResults", "max_cost_cents"],
};

/** The action's own name as a tool's: clients take letters, digits, `_` and `-`. */
function nameOf(id: string): string {
  return id.replaceAll(/[^\w-]/g, "_").slice(0, 64);
}

function brief(tool: Tool): Tool {
  const kept = BRIEF[tool.name];
  const { properties } = tool.inputSchema;
  if (kept === undefined || !isRecord(properties)) return tool;
  const left = Object.entries(properties).filter(([name]) => kept.includes(name));
  return {
    ...tool,
    inputSchema: { ...tool.inputSchema, properties: Object.fromEntries(left), additionalProperties: true },
  };
}

/** What an address asks for: `?tools=brave/search,exa/search`. */
export function pinnedIds(query: URLSearchParams): readonly string[] {
  const ids = (query.get("tools") ?? "").split(",").map((id) => id.trim());
  return [...new Set(ids.filter((id) => /^[\w.-]{1,100}\/[\w.-]{1,100}$/.test(id)))].slice(0, PINNED_MAX);
}

async function typed(
  ids: readonly (readonly [string, string])[],
  callInside: CallInside,
  caller: InnerCaller,
): Promise<Tool[]> {
  const tools: Tool[] = [];
  for (const [id, name] of ids) {
    const answer = await callInside({ method: "GET", path: `/api/run/${id}` }, caller);
    if (answer.status !== 200) continue;
    const envelope: unknown = JSON.parse(answer.bytes.toString("utf8"));
    const descriptor = isRecord(envelope) ? envelope.data : null;
    if (isRecord(descriptor) && isRecord(descriptor.params)) tools.push(brief(actionTool(id, name, descriptor)));
  }
  return tools;
}

/** The tool of a name, without looking at the others; null: there is none. */
export async function toolNamed(
  name: string,
  query: URLSearchParams,
  asking: { readonly callInside: CallInside; readonly caller: InnerCaller },
): Promise<Tool | null> {
  const fixed = [...TOOLS, ASK_MODEL].find((tool) => tool.name === name);
  if (fixed !== undefined) return fixed;
  const ids = [...CORE, ...pinnedIds(query).map((id) => [id, nameOf(id)] as const)];
  const [found] = await typed(
    ids.filter(([, called]) => called === name),
    asking.callInside,
    asking.caller,
  );
  return found ?? null;
}

/** All tools of a client, in an order that stays. */
export async function toolsFor(
  query: URLSearchParams,
  callInside: CallInside,
  caller: InnerCaller,
): Promise<readonly Tool[]> {
  const pinned = pinnedIds(query).map((id) => [id, nameOf(id)] as const);
  return [...TOOLS, ...(await typed([...CORE, ...pinned], callInside, caller)), ASK_MODEL];
}
