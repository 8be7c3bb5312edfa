// Identifies equal requests: a hash of the canonical JSON, whatever the order of keys.
import { hash } from "node:crypto";
import { isRecord } from "../../core/json.ts";
import { jsonText } from "../../core/raw-json.ts";

type Reviver = (key: string, value: unknown, context: { readonly source: string }) => unknown;
/** TypeScript does not have the types for source texts yet. */
const { parse, rawJSON } = JSON as unknown as Record<"parse" | "rawJSON", (text: string, reviver?: Reviver) => unknown>;

/** Sorted keys, and numbers as written: arguments may have more digits than a number can hold. */
function canonical(body: unknown): string {
  const ordered = parse(jsonText(body), (_, value, { source }) => {
    if (typeof value === "number") return rawJSON(source);
    return isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  });
  return JSON.stringify(ordered);
}

/** A request without the fields that choose between a whole answer and a stream. */
export function withoutForm(path: string, body: unknown): { readonly path: string; readonly body: unknown } {
  const { stream: _, stream_options: __, ...asked } = isRecord(body) ? body : {};
  const whole = path.replace(/:streamGenerateContent$/, ":generateContent");
  return { path: whole, body: isRecord(body) ? asked : body };
}

/** SHA-256, in hex, of a path and a canonical body. */
export function fingerprint(path: string, body: unknown): string {
  return hash("sha256", `${path}\n${canonical(body)}`);
}
