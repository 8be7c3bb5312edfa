// Typed tools: actions with their own name and schema; three that every client sees, and up to twenty that a URL names.

import type { Clock } from "../../core/clock.ts";
import { isRecord } from "../../core/json.ts";
import { putLast } from "../../core/maps.ts";
import { ownSlice } from "../../core/slices.ts";
import type { CallInside, InnerCaller } from "./inner-http.ts";
import { ASK_MODEL, actionTool, TOOLS, type Tool } from "./tools.ts";

const PINNED_MAX = 20;
const ID = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
const CORE = [
  ["core/onescrape", "onescrape"],
  ["core/onesearch", "onesearch"],
  ["core/onefind", "onefind"],
] as const;
const OWN_NAMES = [...TOOLS, ASK_MODEL].map(({ name }) => name).concat(CORE.map(([, name]) => name));
/** The parts of long schemas that are left to describe_action, to keep the tool list short for models. */
const BRIEF: Readonly<Record<string, readonly string[]>> = {
  onesearch: ["query", "facets", "recencyDays", "domains", "maxResults", "max_cost_cents", "idempotency_key"],
};

/** The action's own name as a tool name: clients accept letters, digits, `_` and `-`. */
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

type Pins = readonly (readonly [id: string, name: string])[];

/** Parses a URL's tools: `?tools=brave/search,exa/search`, each with a tool name; or what is wrong with them. */
export function readPins(query: URLSearchParams): { readonly pins: Pins } | { readonly wrong: string } {
  const ids = [...new Set((query.get("tools") ?? "").split(",").map((id) => id.trim()))].filter((id) => id !== "");
  const wrong = ids.find((id) => !ID.test(id));
  if (wrong !== undefined) return { wrong: `${wrong.slice(0, 80)} is not \`<service>/<action>\`` };
  if (ids.length > PINNED_MAX) return { wrong: `at most ${PINNED_MAX} actions, not ${ids.length}` };
  const names = new Set<string>(OWN_NAMES);
  const pins = ids.map((id) => {
    let name = nameOf(id);
    // Two actions may have the same tool name; the order in the URL numbers them.
    for (let more = 2; names.has(name); more++) name = `${nameOf(id).slice(0, 60)}_${more}`;
    names.add(name);
    return [id, name] as const;
  });
  return { pins };
}

/** How long an action's schema is cached: a reloaded catalog shows soon enough. */
const KNOWN_MS = 5_000;
/** More than the number of actions. */
const KNOWN_MAX = 1_000;

/** The tools of all clients. An action's params are the same for every caller, so they are cached instead of fetched for each list. */
export function createToolList({ callInside, clock }: { readonly callInside: CallInside; readonly clock: Clock }) {
  const kept = new Map<string, { readonly tool: Tool; readonly untilMs: number }>();

  async function described(id: string, name: string, caller: InnerCaller): Promise<Tool | number> {
    const answer = await callInside({ method: "GET", path: `/api/run/${id}` }, caller);
    if (answer.status !== 200) return answer.status;
    const envelope: unknown = JSON.parse(answer.bytes.toString("utf8"));
    const descriptor = isRecord(envelope) ? envelope.data : null;
    if (!isRecord(descriptor) || !isRecord(descriptor.params)) return 502;
    return brief(actionTool(id, name, descriptor));
  }

  /** The tool of an action, or the status of the failed look-up. */
  async function typed(id: string, name: string, caller: InnerCaller): Promise<Tool | number> {
    const nowMs = clock.elapsedMs();
    const key = `${id} ${name}`;
    const known = kept.get(key);
    if (known !== undefined && known.untilMs > nowMs) return known.tool;
    await ownSlice();
    const tool = await described(id, name, caller);
    if (typeof tool === "number") return tool;
    putLast(kept, key, { tool, untilMs: nowMs + KNOWN_MS }, KNOWN_MAX);
    return tool;
  }

  return {
    /** All tools of a client, in stable order; or the action in its URL that does not exist. */
    async all(query: URLSearchParams, caller: InnerCaller): Promise<readonly Tool[] | { readonly unknown: string }> {
      const tools: Tool[] = [];
      for (const [id, name] of typedIds(query)) {
        const tool = await typed(id, name, caller);
        if (tool === 404) return { unknown: id };
        // Omit a tool that this key may not see, or whose descriptor is unavailable now.
        if (typeof tool !== "number") tools.push(tool);
      }
      return [...TOOLS, ...tools, ASK_MODEL];
    },
    /** The tool of this name, without loading the others; null: there is none. */
    async named(name: string, query: URLSearchParams, caller: InnerCaller): Promise<Tool | null> {
      const fixed = [...TOOLS, ASK_MODEL].find((tool) => tool.name === name);
      if (fixed !== undefined) return fixed;
      const [id] = typedIds(query).find(([, called]) => called === name) ?? [];
      const tool = id === undefined ? 404 : await typed(id, name, caller);
      return typeof tool === "number" ? null : tool;
    },
    /** The typed tool of the action that a call names, to see what it buys; null: unavailable. */
    async ofAction(id: unknown, caller: InnerCaller): Promise<Tool | null> {
      if (typeof id !== "string" || !ID.test(id)) return null;
      const tool = await typed(id, nameOf(id), caller);
      return typeof tool === "number" ? null : tool;
    },
  };
}

function typedIds(query: URLSearchParams): Pins {
  const read = readPins(query);
  return [...CORE, ...("pins" in read ? read.pins : [])];
}
