// Normalizes input and tools of the responses format before the field table applies: adds implied types and removes hosted tools.
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, wordOf } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { addHosted, HOSTS_NOTHING, type Hosts, type WantedHosted } from "../action-tools.ts";
import { invalid } from "../parse-json.ts";
import { summaryMessage } from "./compaction.ts";

/** Tools that the caller runs or that shape calls. All others are run by a provider and billed separately. */
const CALLERS_TOOLS: ReadonlySet<unknown> = new Set([
  "function",
  "custom",
  "namespace",
  "tool_search",
  "computer",
  "computer_use_preview",
  "local_shell",
  "apply_patch",
]);
/** Calls of hosted tools in earlier turns. The answers after them contain their findings. */
const HOSTED_CALLS: ReadonlySet<unknown> = new Set(["web_search_call", "image_generation_call", "mcp_call"]);
/** Web search under all of its names. */
const SEARCH = /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/;

export interface PlainBody {
  readonly body: Json;
  readonly dropped: readonly string[];
  /** Tools that the gateway runs in a vendor's place. */
  readonly hosted: readonly WantedHosted[];
}

function isCallers(tool: Json): boolean {
  if (tool.type !== "shell") return CALLERS_TOOLS.has(tool.type);
  return !isRecord(tool.environment) || tool.environment.type === "local";
}

function isReference(item: Json): boolean {
  return item.type === "item_reference";
}

function idsIn(items: readonly unknown[]): ReadonlySet<unknown> {
  return new Set(items.filter(isRecord).flatMap((item) => (isReference(item) ? [] : [item.id])));
}

/** The ids of items that the input refers to but does not contain. */
export function namedItems(input: unknown, earlier: readonly unknown[]): string[] {
  if (!Array.isArray(input)) return [];
  const references = input.filter(isRecord).filter(isReference);
  if (references.length === 0) return [];
  const there = idsIn([...earlier, ...input]);
  const ids = references.map(({ id }) => wordOf(id)).filter((id) => id !== "" && !there.has(id));
  return [...new Set(ids)];
}

class Plainer {
  readonly dropped = new Set<string>();
  readonly hosted: WantedHosted[] = [];
  readonly #hosts: Hosts;
  readonly #seal: ThoughtSeal;
  readonly #named: ReadonlyMap<string, Json>;
  readonly #ids = new Set<unknown>();
  #left = 0;
  #hasSearch: boolean | null = null;

  constructor(seal: ThoughtSeal, named: ReadonlyMap<string, Json>, hosts: Hosts) {
    this.#hosts = hosts;
    this.#seal = seal;
    this.#named = named;
  }

  input(input: unknown): unknown {
    if (!Array.isArray(input)) return input;
    for (const id of idsIn(input)) this.#ids.add(id);
    return input.flatMap((item, at) => this.#item(item, at));
  }

  /** The request's own tools, without those that the gateway runs. */
  ownTools(tools: unknown): unknown {
    if (!Array.isArray(tools)) return tools;
    const left = tools.filter((tool, at) => !this.#runs(tool, `tools.${at}`));
    this.#left += tools.length - left.length;
    return this.tools(left);
  }

  #runs(tool: unknown, param: string): boolean {
    if (!isRecord(tool)) return false;
    if (tool.type === "action") return true;
    // Without live web access, the caller means an index that only the vendor has.
    const isSearch = SEARCH.test(wordOf(tool.type)) && tool.external_web_access !== false;
    if (!isSearch || !this.#searches()) return false;
    const filters = isRecord(tool.filters) ? tool.filters : {};
    const lists = [filters, `${param}.filters`, "allowed_domains", "blocked_domains"] as const;
    addHosted(this.hosted, { param, tool: "web_search" }, lists);
    return true;
  }

  #searches(): boolean {
    this.#hasSearch ??= this.#hosts("web_search");
    return this.#hasSearch;
  }

  tools(tools: unknown): unknown {
    if (!Array.isArray(tools)) return tools;
    const kept = tools.filter((tool) => this.#keeps(tool)).map((tool) => this.#withInner(tool));
    this.#left += kept.length;
    return kept;
  }

  /** Refuses a choice that forces a removed tool, because any answer would be false. */
  choice(choice: unknown): unknown {
    if (isRecord(choice) && SEARCH.test(wordOf(choice.type)) && this.hosted.length > 0)
      return { type: "function", name: "web_search" };
    const forced = isRecord(choice) ? choice.type : undefined;
    const isHosted =
      typeof forced === "string" && forced !== "allowed_tools" && forced !== "shell" && !CALLERS_TOOLS.has(forced);
    const wantsAny = choice === "required" || (isRecord(choice) && choice.mode === "required");
    if (isHosted || (wantsAny && this.#left === 0 && this.dropped.size > 0)) {
      const detail = "tools that a provider runs are billed apart, so none can be forced";
      throw new GatewayError("unsupported_field", { param: "tool_choice", detail });
    }
    return choice;
  }

  #keeps(tool: unknown): boolean {
    if (!isRecord(tool) || typeof tool.type !== "string" || isCallers(tool)) return true;
    this.dropped.add(`tools.${tool.type}`);
    return false;
  }

  #withInner(tool: unknown): unknown {
    if (!isRecord(tool) || !Array.isArray(tool.tools)) return tool;
    return { ...tool, tools: tool.tools.filter((inner) => this.#keeps(inner)) };
  }

  #item(item: unknown, at: number): readonly unknown[] {
    if (!isRecord(item)) return [item];
    const { type } = item;
    if (type === undefined && item.role !== undefined) return [{ type: "message", ...item }];
    // Items can also add tools: those found by a client's search, or declared later.
    if (Array.isArray(item.tools)) return [{ ...item, tools: this.tools(item.tools) }];
    if (HOSTED_CALLS.has(type)) {
      this.dropped.add(`input.${type}`);
      return [];
    }
    if (type === "compaction") return [this.#summary(item, at)];
    return type === "item_reference" ? this.#reference(item, at) : [item];
  }

  #summary(item: Json, at: number): unknown {
    const message = summaryMessage(item, this.#seal);
    if (message !== null) return message;
    throw invalid(`input.${at}.encrypted_content`, "this summary was not made here, for this account");
  }

  /** A referenced item: already in the conversation, stored with an answer, or missing. */
  #reference(item: Json, at: number): readonly unknown[] {
    if (this.#ids.has(item.id)) return [];
    const id = wordOf(item.id);
    const kept = this.#named.get(id);
    if (kept !== undefined) {
      this.#ids.add(id);
      return [kept];
    }
    if (id.startsWith("rs_")) {
      this.dropped.add("input.item_reference");
      return [];
    }
    const why = `the item ${id.slice(0, 80)} is not kept: items are for a day, of answers to requests without store: false; send the item itself, as the AI SDK does with store: false`;
    throw invalid(`input.${at}.id`, why);
  }
}

/** The body with typed items and resolved references, and without hosted tools. */
export function plainBody(
  sent: Json,
  seal: ThoughtSeal,
  named: ReadonlyMap<string, Json> = new Map(),
  hosts: Hosts = HOSTS_NOTHING,
): PlainBody {
  const plainer = new Plainer(seal, named, hosts);
  const body: Json = {};
  // Last, because the choice depends on the remaining tools.
  const input = plainer.input(sent.input);
  const tools = plainer.ownTools(sent.tools);
  for (const field of Object.keys(sent)) {
    if (field === "__proto__") continue;
    body[field] = field === "input" ? input : field === "tools" ? tools : sent[field];
  }
  const choice = plainer.choice(sent.tool_choice);
  if (choice !== sent.tool_choice) body.tool_choice = choice;
  return { body, dropped: [...plainer.dropped], hosted: plainer.hosted };
}
