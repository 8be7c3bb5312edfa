// Typed tools: actions with a name and a schema of their own, three that every client sees and up to twenty that an address names.
import type { Clock } from "../clock.ts";
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

async function described(id: string, name: string, { callInside, caller }: Asking): Promise<Tool | null> {
  const answer = await callInside({ method: "GET", path: `/api/run/${id}` }, caller);
  if (answer.status !== 200) return null;
  const envelope: unknown = JSON.parse(answer.bytes.toString("utf8"));
  const descriptor = isRecord(envelope) ? envelope.data : null;
  if (!isRecord(descriptor) || !isRecord(descriptor.params)) return null;
  return brief(actionTool(id, name, descriptor));
}

interface Asking {
  readonly callInside: CallInside;
  readonly caller: InnerCaller;
}

/** How long the schema of an action is believed: a catalog that is read again shows as soon. */
const KNOWN_MS = 5_000;
/** There are not more actions than this. */
const KNOWN_MAX = 1_000;

/** The tools of all clients. What an action takes is the same for everybody, so it is asked for once in a while and not for each list. */
export class ToolList {
  readonly #callInside: CallInside;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly tool: Tool; readonly untilMs: number }>();

  constructor({ callInside, clock }: { readonly callInside: CallInside; readonly clock: Clock }) {
    this.#callInside = callInside;
    this.#clock = clock;
  }

  /** All tools of a client, in an order that stays. */
  async all(query: URLSearchParams, caller: InnerCaller): Promise<readonly Tool[]> {
    const tools: Tool[] = [];
    for (const [id, name] of typedIds(query)) {
      const tool = await this.#typed(id, name, caller);
      if (tool !== null) tools.push(tool);
    }
    return [...TOOLS, ...tools, ASK_MODEL];
  }

  /** The tool of a name, without looking at the others; null: there is none. */
  async named(name: string, query: URLSearchParams, caller: InnerCaller): Promise<Tool | null> {
    const fixed = [...TOOLS, ASK_MODEL].find((tool) => tool.name === name);
    if (fixed !== undefined) return fixed;
    const [id] = typedIds(query).find(([, called]) => called === name) ?? [];
    return id === undefined ? null : this.#typed(id, name, caller);
  }

  async #typed(id: string, name: string, caller: InnerCaller): Promise<Tool | null> {
    const nowMs = this.#clock.elapsedMs();
    const key = `${id} ${name}`;
    const known = this.#known.get(key);
    if (known !== undefined && known.untilMs > nowMs) return known.tool;
    const tool = await described(id, name, { callInside: this.#callInside, caller });
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    if (tool !== null) this.#known.set(key, { tool, untilMs: nowMs + KNOWN_MS });
    return tool;
  }
}

function typedIds(query: URLSearchParams): readonly (readonly [string, string])[] {
  return [...CORE, ...pinnedIds(query).map((id) => [id, nameOf(id)] as const)];
}
