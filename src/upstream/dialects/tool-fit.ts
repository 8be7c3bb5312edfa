// One rule for the ids, names and schemas of tools in a request: each becomes what its vendor takes, and what comes back is mapped back.
import type { ChatWire, DialectName } from "../../catalog/chat-wire.ts";
import { isRecord, type Json, wordOf } from "../../json.ts";
import { argumentsText } from "../../raw-json.ts";
import { hashedName } from "../../short-name.ts";
import { FittedIds, type IdRule } from "./tool-ids.ts";
import { fittedSchema, type SchemaRule } from "./tool-schemas.ts";

interface ToolRules extends SchemaRule {
  readonly ids: IdRule;
  readonly names: RegExp;
}

const WORD = /^[a-zA-Z0-9_-]{1,64}$/;

/** What the vendors of a dialect take, where their adapters say nothing else. */
const RULES: Readonly<Record<DialectName, ToolRules>> = {
  "chat-completions": { ids: "any", names: WORD, isPlain: false, hasProperties: true },
  responses: { ids: "any", names: WORD, isPlain: true, hasProperties: true },
  messages: { ids: "word", names: /^[a-zA-Z0-9_-]{1,128}$/, isPlain: true, hasProperties: false },
  "generate-content": { ids: "any", names: /^[a-zA-Z_][\w.:-]{0,63}$/, isPlain: false, hasProperties: false },
  converse: { ids: "word", names: /^[a-zA-Z][\w-]{0,63}$/, isPlain: true, hasProperties: false },
};

/** What stands at a place: `thought` is the call that a thought belongs to, `ahead` the same before the call. */
type Slot = "call" | "result" | "thought" | "ahead" | "name" | "arguments" | "schema";

/** Where a format has them; a function says it by the object around, a list is one of whatever many. */
export type ToolPlaces =
  | Slot
  | ((holder: Json) => Slot | null)
  | readonly [ToolPlaces]
  | { readonly [field: string]: ToolPlaces };

type Change = (slot: Slot, value: unknown, holder: Json) => unknown;

/** The same value where nothing changes. */
function changed(value: unknown, places: ToolPlaces, change: Change, holder: Json): unknown {
  if (typeof places === "string" || typeof places === "function") {
    const slot = typeof places === "string" ? places : places(holder);
    return slot === null ? value : change(slot, value, holder);
  }
  if (isList(places)) {
    if (!Array.isArray(value)) return value;
    const list = value.map((one) => changed(one, places[0], change, holder));
    return list.some((one, at) => one !== value[at]) ? list : value;
  }
  if (!isRecord(value)) return value;
  let copy: Json | null = null;
  for (const field of Object.keys(places)) {
    const inner = changed(value[field], places[field] ?? {}, change, value);
    if (inner === value[field]) continue;
    copy ??= { ...value };
    copy[field] = inner;
  }
  return copy ?? value;
}

function isList(places: ToolPlaces): places is readonly [ToolPlaces] {
  return Array.isArray(places);
}

/** One request's tools at one vendor. What is read of the answer is read after the request was made. */
export class ToolFit {
  readonly #rules: ToolRules;
  /** The caller's names by the vendor's. */
  readonly #names = new Map<string, string>();
  /** The ids of the conversation, as its caller has them. */
  readonly #ids = new Set<string>();

  constructor(dialect: DialectName, { takes: { toolIds } = {}, toolSchemas }: ChatWire) {
    const rules = RULES[dialect];
    const ids = toolIds === undefined || toolIds === "none" ? rules.ids : toolIds;
    this.#rules = { ...rules, ids, isPlain: rules.isPlain || toolSchemas === "plain" };
  }

  /** A body in the vendor's wire, or a neutral request, with what its vendor takes. */
  fitted<Body>(body: Body, places: ToolPlaces): Body {
    const ids = new FittedIds(this.#rules.ids);
    const change: Change = (slot, value, holder) => {
      if (slot === "name") return typeof value === "string" && value !== "" ? this.#name(value) : value;
      if (slot === "arguments") return value === undefined ? value : argumentsText(value);
      if (slot === "schema") return isRecord(value) ? fittedSchema(value, this.#rules, holder.strict === true) : value;
      const id = wordOf(value);
      if (slot === "thought" || slot === "ahead")
        return id === "" ? value : slot === "ahead" ? ids.ahead(id) : ids.of(id);
      this.#ids.add(id);
      return slot === "call" ? ids.call(id) : ids.result(id);
    };
    return changed(body, places, change, {}) as Body;
  }

  #name(name: string): string {
    const fitted = this.#rules.names.test(name) ? name : hashedName(name);
    this.#names.set(fitted, name);
    return fitted;
  }

  /** The caller's name of a tool. */
  original(name: string): string {
    return this.#names.get(name) ?? name;
  }

  /** Whether the vendor knows some tool by another name. */
  get renames(): boolean {
    return [...this.#names].some(([fitted, name]) => fitted !== name);
  }

  /** Whether a name that comes in pieces is surely all there. */
  isWhole(name: string): boolean {
    if (!this.#names.has(name)) return false;
    for (const other of this.#names.keys()) if (other !== name && other.startsWith(name)) return false;
    return true;
  }

  /** Whether a call of the conversation has this id. */
  hasId(id: string): boolean {
    return this.#ids.has(id);
  }
}

/** The places in a neutral request. */
export const NEUTRAL_TOOLS: ToolPlaces = {
  turns: [
    {
      blocks: [
        {
          id: ({ kind }) => (kind === "tool-call" ? "call" : null),
          callId: ({ kind }) => (kind === "tool-result" ? "result" : kind === "reasoning" ? "ahead" : null),
          name: ({ kind }) => (kind === "tool-call" || kind === "tool-result" ? "name" : null),
        },
      ],
    },
  ],
  tools: [{ name: ({ kind }) => (kind === "function" ? "name" : null), parameters: "schema" }],
  toolChoice: { name: "name" },
};

/** That of a call; by itself a request has one of its own. */
export function fitOf(
  { tools, wire }: { readonly tools?: ToolFit | undefined; readonly wire: ChatWire },
  dialect: DialectName,
): ToolFit {
  return tools ?? new ToolFit(dialect, wire);
}
