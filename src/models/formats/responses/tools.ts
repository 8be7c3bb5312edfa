// Maps tools of the responses format to plain functions and back: other formats have one flat list of JSON functions.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import type { NeutralTool, ToolChoice } from "../../../core/neutral.ts";
import { shortName } from "../../../core/short-name.ts";
import type { ResponsesBody } from "./fields.ts";

/** The caller's tool behind a flat name. */
export interface CalledTool {
  readonly name: string;
  /** Null: it has no namespace. */
  readonly namespace: string | null;
  /** It takes text instead of JSON. */
  readonly custom: boolean;
}

/** A declared tool and its flat name. */
interface DeclaredTool extends CalledTool {
  readonly flat: string;
  readonly spec: Json;
}

const CUSTOM_PARAMETERS = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

/** A tool's flat name; one that is too long ends in a hash of the full name. */
export function flatName(namespace: string | null, name: string): string {
  return namespace === null ? name : shortName(`${namespace}__${name}`);
}

/** All tools of a body: in `tools`, and in items of the conversation. */
export function toolLists({ tools, input }: ResponsesBody): readonly Json[] {
  const lists: unknown[] = [tools];
  if (typeof input !== "string") for (const item of input) if (item.type === "additional_tools") lists.push(item.tools);
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isRecord) : []));
}

function declaredIn(tool: Json, namespace: string | null): DeclaredTool[] {
  const name = wordOf(tool.name);
  if (tool.type === "namespace" && namespace === null) {
    const inner = Array.isArray(tool.tools) ? tool.tools.filter(isRecord) : [];
    return inner.flatMap((one) => declaredIn(one, name));
  }
  if (name === "" || (tool.type !== "function" && tool.type !== "custom")) return [];
  return [{ name, namespace, custom: tool.type === "custom", flat: flatName(namespace, name), spec: tool }];
}

/** Appends a custom tool's grammar to its description: no other format can enforce it. */
function customDescription({ description, format }: Json): string | null {
  const spec = stringOf(description) ?? "";
  if (!isRecord(format) || format.type !== "grammar") return spec === "" ? null : spec;
  const { syntax, definition } = format;
  const grammar = `The input must follow this ${wordOf(syntax)} grammar:\n${stringOf(definition) ?? ""}`;
  return spec === "" ? grammar : `${spec}\n\n${grammar}`;
}

function functionOf({ flat, custom, spec }: DeclaredTool): NeutralTool {
  return {
    kind: "function",
    name: flat,
    description: custom ? customDescription(spec) : (stringOf(spec.description) ?? null),
    parameters: custom ? CUSTOM_PARAMETERS : isRecord(spec.parameters) ? spec.parameters : null,
    strict: spec.strict === true,
    cacheMark: false,
  };
}

/** Tools run by the caller that only the vendor's own models know. */
const KNOWN_TO_THE_MODEL: ReadonlySet<unknown> = new Set([
  "apply_patch",
  "local_shell",
  "shell",
  "computer",
  "computer_use_preview",
]);

export class ResponsesTools {
  readonly #declared = new Map<string, DeclaredTool>();
  readonly #others: readonly NeutralTool[];
  readonly #choice: unknown;

  constructor(body: ResponsesBody) {
    const lists = toolLists(body);
    for (const tool of lists.flatMap((one) => declaredIn(one, null))) {
      // Later declarations replace earlier ones.
      this.#declared.set(tool.flat, tool);
    }
    this.#others = lists
      .filter(({ type }) => KNOWN_TO_THE_MODEL.has(type))
      .map((json) => ({ kind: "server", format: "responses", type: wordOf(json.type), json }));
    this.#choice = body.tool_choice;
  }

  /** The tools that the model may call. */
  offered(): readonly NeutralTool[] {
    const allowed = allowedIn(this.#choice);
    const declared = [...this.#declared.values()];
    const some = allowed === null ? declared : declared.filter((tool) => allowed.some((one) => isNamed(tool, one)));
    return [...some.map(functionOf), ...(allowed === null ? this.#others : [])];
  }

  choice(): ToolChoice | null {
    const choice = this.#choice;
    if (choice === "auto" || choice === "none" || choice === "required") return { mode: choice };
    if (!isRecord(choice)) return null;
    if (choice.type === "allowed_tools") return { mode: choice.mode === "required" ? "required" : "auto" };
    const named = [...this.#declared.values()].find((tool) => isNamed(tool, choice));
    return typeof choice.name === "string" ? { mode: "named", name: named?.flat ?? choice.name } : null;
  }

  /** The flat name of a call in the conversation, even if its tool is no longer declared. */
  flatNameOf({ namespace, name }: Json): string {
    const bare = wordOf(name);
    if (typeof namespace === "string" && namespace !== "") return flatName(namespace, bare);
    if (this.#declared.has(bare)) return bare;
    // Some clients send a call back without its namespace.
    const known = [...this.#declared.values()].filter((tool) => tool.name === bare);
    return known.length === 1 && known[0] !== undefined ? known[0].flat : bare;
  }

  called(flat: string): CalledTool {
    return this.#declared.get(flat) ?? { name: flat, namespace: null, custom: false };
  }
}

function allowedIn(choice: unknown): readonly Json[] | null {
  if (!isRecord(choice) || choice.type !== "allowed_tools") return null;
  return Array.isArray(choice.tools) ? choice.tools.filter(isRecord) : [];
}

function isNamed(tool: CalledTool, { name, namespace, type }: Json): boolean {
  if (type === "namespace") return tool.namespace === name;
  return tool.name === name && (namespace === undefined || namespace === null || tool.namespace === namespace);
}
