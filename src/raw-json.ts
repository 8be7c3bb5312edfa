// JSON objects that keep the text they were read from. The arguments of a tool call are passed on as they were written: with digits that no
// number here holds, forms of numbers, and the order of keys.
import { randomBytes } from "node:crypto";
import { isRecord, type Json } from "./json.ts";

/** The members in which wires carry arguments, and what a function answered. */
const NAMES: ReadonlySet<unknown> = new Set(["input", "args", "arguments", "response"]);
/** Most texts have none of them with an object for its value, and need no second look. */
const HAS_ARGUMENTS = /"(?:input|args|arguments|response)"\s*:\s*\{/;

/** Stands in written JSON for a kept text. It is never sent, so no caller can write it. */
const MARK = randomBytes(16).toString("hex");
const QUOTED_MARK = `"${MARK}"`;
/** The kept texts of the value that `jsonText` is writing, in order; null: nothing is being written. */
const writing: { texts: string[] | null } = { texts: null };

/** Anything but `jsonText` writes the object as usual. */
function keep(object: Json, text: string): Json {
  if (Object.hasOwn(object, "toJSON")) return object;
  const toJSON = () => {
    if (writing.texts === null) return object;
    writing.texts.push(text);
    return MARK;
  };
  return Object.defineProperty(object, "toJSON", { value: toJSON });
}

/** The value as JSON, with kept texts as they are. */
export function jsonText(value: unknown): string {
  const texts: string[] = [];
  writing.texts = texts;
  try {
    const written = JSON.stringify(value);
    // Line ends stand between values alone, and would end a line of an event stream.
    if (texts.length === 0) return written;
    let at = 0;
    return written.replaceAll(QUOTED_MARK, () => texts[at++]?.replace(/[\r\n]+/g, " ") ?? "");
  } finally {
    writing.texts = null;
  }
}

/** Arguments as text: some write the object itself, or null for none. */
export function argumentsText(told: unknown): string {
  return typeof told === "string" ? told : told === undefined || told === null ? "" : jsonText(told);
}

/** The object that a text says, which keeps the text; null: it is no object. */
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
  /** Where the text to keep begins; -1: there is none. */
  readonly start: number;
}

function memberOf({ value, key }: Open): unknown {
  if (Array.isArray(value)) return typeof key === "number" ? value[key] : undefined;
  return isRecord(value) && typeof key === "string" && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The position of the quote that ends the string which begins at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Walks a valid text and what it says side by side. Of a key that is there twice the last counts, as for the parser. */
function keepTexts(text: string, root: unknown): void {
  const open: Open[] = [];
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
      // A copy: a slice would hold on to the whole text.
      if (isRecord(value)) keep(value, Buffer.from(text.slice(start, at + 1)).toString());
    } else if (char === "," && top !== undefined) top.key = typeof top.key === "number" ? top.key + 1 : null;
  }
}

/** JSON.parse, where objects of arguments keep their texts. */
export function parseRaw(text: string): unknown {
  const json: unknown = JSON.parse(text);
  if (HAS_ARGUMENTS.test(text)) keepTexts(text, json);
  return json;
}
