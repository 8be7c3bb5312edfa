// Identifies equal requests by a hash of the canonical JSON, independent of key order.
import { hash } from "node:crypto";
import { isRecord } from "../../core/json.ts";
import { jsonText } from "../../core/raw-json.ts";

type Reviver = (key: string, value: unknown, context: { readonly source: string }) => unknown;
/** TypeScript lacks the types for JSON source text access. */
const { parse, rawJSON } = JSON as unknown as Record<"parse" | "rawJSON", (text: string, reviver?: Reviver) => unknown>;

/** Sorted keys, and numbers as written, because arguments may have more digits than a double can hold. */
function canonical(body: unknown): string {
  const ordered = parse(jsonText(body), (_, value, { source }) => {
    if (typeof value === "number") return rawJSON(source);
    return isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  });
  return JSON.stringify(ordered);
}

/** A request without the fields that choose between a whole and a streamed answer. */
export function withoutForm(path: string, body: unknown): { readonly path: string; readonly body: unknown } {
  const { stream: _, stream_options: __, ...asked } = isRecord(body) ? body : {};
  const whole = path.replace(/:streamGenerateContent$/, ":generateContent");
  return { path: whole, body: isRecord(body) ? asked : body };
}

/** The hex SHA-256 of a path and a canonical body. */
export function fingerprint(path: string, body: unknown): string {
  return hash("sha256", `${path}\n${canonical(body)}`);
}
