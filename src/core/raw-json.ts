// Keeps the original text of tool arguments through parsing and writing: large numbers, number forms such as 1.0, and the order of keys
// like "2" and "1" would not survive.
import { randomBytes } from "node:crypto";
import { isRecord, type Json } from "./json.ts";

/** The fields in which wires carry arguments and results as objects. */
const NAMES: ReadonlySet<unknown> = new Set(["input", "args", "arguments", "response"]);
/** Most texts have no such field and are only parsed. */
const HAS_ARGUMENTS = /"(?:input|args|arguments|response)"\s*:\s*\{/;

/** Placeholder for a kept text while JSON is written. It never leaves the process, so no input can contain it. */
const MARK = randomBytes(16).toString("hex");
const QUOTED_MARK = `"${MARK}"`;
/** The kept texts met by the running `jsonText`, in order; null while none runs. */
const writing: { texts: string[] | null } = { texts: null };

/** Only `jsonText` writes the kept text; JSON.stringify writes the object as usual. */
function keep(object: Json, text: string): Json {
  if (Object.hasOwn(object, "toJSON")) return object;
  const toJSON = () => {
    if (writing.texts === null) return object;
    writing.texts.push(text);
    return MARK;
  };
  return Object.defineProperty(object, "toJSON", { value: toJSON });
}

/** JSON.stringify with a mark in place of each kept text, and those texts. */
function marked(value: unknown): { readonly written: string; readonly texts: readonly string[] } {
  const texts: string[] = [];
  writing.texts = texts;
  try {
    return { written: JSON.stringify(value), texts };
  } finally {
    writing.texts = null;
  }
}

/** JSON.stringify with kept texts in place of their objects. `original`: arguments written unchanged keep the text that they have there. */
export function jsonText(value: unknown, original: unknown = null): string {
  const { written, texts } = marked(value);
  if (texts.length === 0) return written;
  const before = Map.groupBy(marked(original).texts, (text) => JSON.stringify(JSON.parse(text)));
  let at = 0;
  return written.replaceAll(QUOTED_MARK, () => {
    const text = texts[at++] ?? "";
    // Raw line breaks can only be whitespace between values, and would break an event stream.
    return (before.get(text)?.shift() ?? text).replace(/[\r\n]+/g, " ");
  });
}

/** Arguments as text; vendors and callers also send an object or null. */
export function argumentsText(told: unknown): string {
  return typeof told === "string" ? told : told === undefined || told === null ? "" : jsonText(told);
}

export function rawObject(text: string): Json | null {
  try {
    const object: unknown = JSON.parse(text);
    return isRecord(object) ? keep(object, text) : null;
  } catch {
    return null;
  }
}

interface Open {
  readonly value: unknown;
  /** Null: the next string is a key. */
  key: string | number | null;
  /** Where the kept text begins; -1: none is kept. */
  readonly start: number;
}

function memberOf({ value, key }: Open): unknown {
  if (Array.isArray(value)) return typeof key === "number" ? value[key] : undefined;
  return isRecord(value) && typeof key === "string" && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The position of the closing quote of the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Walks a valid text and its parsed value in parallel. The last duplicate key counts, as in JSON.parse. */
function keepTexts(text: string, root: unknown): void {
  const open: Open[] = [];
  const kept = new Map<Json, string>();
  let isKeeping = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    const top = open.at(-1);
    if (char === '"') {
      const end = endOfString(text, at);
      if (top?.key === null) top.key = String(JSON.parse(text.slice(at, end + 1)));
      at = end;
    } else if (char === "{" || char === "[") {
      const isKept: boolean = char === "{" && !isKeeping && NAMES.has(top?.key);
      isKeeping ||= isKept;
      const value = top === undefined ? root : memberOf(top);
      open.push({ value, key: char === "[" ? 0 : null, start: isKept ? at : -1 });
    } else if (char === "}" || char === "]") {
      const { value, start = -1 } = open.pop() ?? {};
      if (start < 0) continue;
      isKeeping = false;
      // A slice would keep the whole text in memory.
      if (isRecord(value)) kept.set(value, Buffer.from(text.slice(start, at + 1)).toString());
    } else if (char === "," && top !== undefined) top.key = typeof top.key === "number" ? top.key + 1 : null;
  }
  for (const [value, own] of kept) keep(value, own);
}

/** JSON.parse that keeps the text of arguments. */
export function parseRaw(text: string): unknown {
  const json: unknown = JSON.parse(text);
  if (HAS_ARGUMENTS.test(text)) keepTexts(text, json);
  return json;
}
