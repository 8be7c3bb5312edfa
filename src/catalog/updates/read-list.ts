// Detects a list's format and parses it, or reports in one line why it is not a list.
import { catalogList } from "./catalog-list.ts";
import { flatList } from "./flat-list.ts";
import { BadList, type ModelList } from "./list.ts";
import { modelsAnswer } from "./models-answer.ts";
import { rulesList } from "./rules-list.ts";

/** Every known list is a tenth of this size. */
export const LIST_BYTES_MAX = 24 * 1024 * 1024;
const DEPTH_MAX = 64;

/**
 * The first duplicate key within the outer four levels of a JSON text: a parser would silently use the last value. Throws where brackets are
 * nested deeper than in any known list.
 */
export function doubleKey(text: string): string | null {
  const keys: (Set<string> | null)[] = [];
  let isKey = false;
  let double: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    const known = keys.at(-1);
    if (char === 0x7b || char === 0x5b) {
      if (keys.push(char === 0x7b ? new Set() : null) > DEPTH_MAX)
        throw new BadList(`its JSON is nested deeper than ${DEPTH_MAX}`);
      isKey = char === 0x7b;
    } else if (char === 0x7d || char === 0x5d) {
      keys.pop();
      isKey = false;
    } else if (char === 0x2c) isKey = known != null;
    else if (char === 0x22) {
      const begin = at + 1;
      for (at = begin; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
      if (isKey && known != null && keys.length <= 4) {
        const key = text.slice(begin, at);
        if (known.has(key)) double ??= key;
        known.add(key);
      }
      isKey = false;
    }
  }
  return double;
}

function jsonOf(bytes: Uint8Array): unknown {
  if (bytes.byteLength > LIST_BYTES_MAX) throw new BadList(`it has more than ${LIST_BYTES_MAX / 1_048_576} MiB`);
  const text = new TextDecoder().decode(bytes);
  if (/^\s*</.test(text.slice(0, 200))) throw new BadList("it is a page of HTML or XML, no JSON");
  const twice = doubleKey(text);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new BadList("it is not complete JSON");
  }
  if (twice !== null) throw new BadList(`it has ${twice.slice(0, 100)} twice`);
  return json;
}

/** `vendor` is the adapter whose own list it is, if any; prices are those of `day` and later. Throws BadList. */
export function readList(bytes: Uint8Array, day: string, vendor: string | null): ModelList {
  const json = jsonOf(bytes);
  const list = rulesList(json, day) ?? modelsAnswer(json, vendor) ?? catalogList(json) ?? flatList(json);
  if (list === null) throw new BadList("it is not a list of models in a format that is known here");
  return list;
}
