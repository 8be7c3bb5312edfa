// Makes the ids, names and schemas of tools in a request valid for its vendor, and restores the caller's names in the answer.
import type { ChatWire, DialectName } from "../../catalog/chat-wire.ts";
import { isRecord, type Json, wordOf } from "../../core/json.ts";
import { argumentsText } from "../../core/raw-json.ts";
import { hashedName } from "../../core/short-name.ts";
import { FittedIds, type IdRule } from "./tool-ids.ts";
import { fittedSchema, type SchemaRule } from "./tool-schemas.ts";

interface ToolRules extends SchemaRule {
  readonly ids: IdRule;
  readonly names: RegExp;
}

const WORD = /^[a-zA-Z0-9_-]{1,64}$/;

/** Defaults for the vendors of each dialect. Adapters override them with `toolIds` and `toolSchemas`. */
const RULES: Readonly<Record<DialectName, ToolRules>> = {
  "chat-completions": { ids: "any", names: WORD, isPlain: false, hasProperties: true },
  responses: { ids: "any", names: WORD, isPlain: true, hasProperties: true },
  messages: { ids: "word", names: /^[a-zA-Z0-9_-]{1,128}$/, isPlain: true, hasProperties: false },
  "generate-content": { ids: "any", names: /^[a-zA-Z_][\w.:-]{0,63}$/, isPlain: false, hasProperties: false },
  converse: { ids: "word", names: /^[a-zA-Z][\w-]{0,63}$/, isPlain: true, hasProperties: false },
};

/** The kind of a field. `thought` and `ahead` hold the id of the call that a thought belongs to, after and before that call. */
type Slot = "call" | "result" | "thought" | "ahead" | "name" | "arguments" | "schema";

/** The fields of a format that hold slots. A function decides by the object around the field; `[places]` describes each item of a list. */
export type ToolPlaces =
  | Slot
  | ((holder: Json) => Slot | null)
  | readonly [ToolPlaces]
  | { readonly [field: string]: ToolPlaces };

type Change = (slot: Slot, value: unknown, holder: Json) => unknown;

/** Copies only the parts that change. */
function changed(value: unknown, places: ToolPlaces, change: Change, holder: Json): unknown {
  if (typeof places === "string" || typeof places === "function") {
    const slot = typeof places === "string" ? places : places(holder);
    return slot === null ? value : change(slot, value, holder);
  }
  if (isList(places)) {
    if (!Array.isArray(value)) return value;
    let list: unknown[] | null = null;
    for (let at = 0; at < value.length; at++) {
      const one = changed(value[at], places[0], change, holder);
      if (one === value[at]) continue;
      list ??= [...value];
      list[at] = one;
    }
    return list ?? value;
  }
  if (!isRecord(value)) return value;
  let copy: Json | null = null;
  for (const field of Object.keys(places)) {
    const inside = places[field] as ToolPlaces;
    if (value[field] === undefined && typeof inside === "object") continue;
    const inner = changed(value[field], inside, change, value);
    if (inner === value[field]) continue;
    copy ??= { ...value };
    copy[field] = inner;
  }
  return copy ?? value;
}

function isList(places: ToolPlaces): places is readonly [ToolPlaces] {
  return Array.isArray(places);
}

/** The tools of one call at one vendor. Reading answers depends on what `fitted` saw in the request; most calls have no tools. */
export class ToolFit {
  readonly #dialect: DialectName;
  readonly #wire: ChatWire;
  /** Maps the vendor's names to the caller's. */
  #names: Map<string, string> | null = null;
  #ids: Set<string> | null = null;

  constructor(dialect: DialectName, wire: ChatWire) {
    this.#dialect = dialect;
    this.#wire = wire;
  }

  /** Made when a request has tools, which most have not. */
  #rules(): ToolRules {
    const { takes: { toolIds } = {}, toolSchemas } = this.#wire;
    const rules = RULES[this.#dialect];
    const ids = toolIds === undefined || toolIds === "none" ? rules.ids : toolIds;
    return { ...rules, ids, isPlain: rules.isPlain || toolSchemas === "plain" };
  }

  /** Returns the same body if nothing has to change. */
  fitted<Body>(body: Body, places: ToolPlaces): Body {
    let fittedIds: FittedIds | null = null;
    let made: ToolRules | null = null;
    const rules = () => {
      made ??= this.#rules();
      return made;
    };
    const change: Change = (slot, value, holder) => {
      if (slot === "name") return typeof value === "string" && value !== "" ? this.#name(value, rules()) : value;
      if (slot === "arguments") return value === undefined ? value : argumentsText(value);
      if (slot === "schema") return isRecord(value) ? fittedSchema(value, rules(), holder.strict === true) : value;
      const id = wordOf(value);
      fittedIds ??= new FittedIds(rules().ids);
      const ids = fittedIds;
      if (slot === "thought" || slot === "ahead")
        return id === "" ? value : slot === "ahead" ? ids.ahead(id) : ids.of(id);
      this.#ids ??= new Set();
      this.#ids.add(id);
      return slot === "call" ? ids.call(id) : ids.result(id);
    };
    return changed(body, places, change, {}) as Body;
  }

  #name(name: string, { names }: ToolRules): string {
    const fitted = names.test(name) ? name : hashedName(name);
    this.#names ??= new Map();
    this.#names.set(fitted, name);
    return fitted;
  }

  original(name: string): string {
    return this.#names?.get(name) ?? name;
  }

  /** Whether the vendor got any name other than the caller's. */
  get renames(): boolean {
    return this.#names !== null && [...this.#names].some(([fitted, name]) => fitted !== name);
  }

  /** Whether a name that may arrive in pieces is complete: a tool has it, and no other tool's name begins with it. */
  isWhole(name: string): boolean {
    if (!this.#names?.has(name)) return false;
    for (const other of this.#names.keys()) if (other !== name && other.startsWith(name)) return false;
    return true;
  }

  /** Whether a call in the conversation already has this id. */
  hasId(id: string): boolean {
    return this.#ids?.has(id) === true;
  }
}

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

/** Returns the call's own fit, or a new one for a request built outside a call. */
export function fitOf(
  { tools, wire }: { readonly tools?: ToolFit | undefined; readonly wire: ChatWire },
  dialect: DialectName,
): ToolFit {
  return tools ?? new ToolFit(dialect, wire);
}
