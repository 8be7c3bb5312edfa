// Tells whether two bodies ask for the same: a hash of the canonical JSON, whatever the order of keys.
import { hash } from "node:crypto";
import { isRecord } from "../../core/json.ts";

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, canonical(inner)]));
}

/** A question alone, without what says in which form its answer comes: whole or streamed. */
export function withoutForm(path: string, body: unknown): { readonly path: string; readonly body: unknown } {
  const { stream: _, stream_options: __, ...asked } = isRecord(body) ? body : {};
  const whole = path.replace(/:streamGenerateContent$/, ":generateContent");
  return { path: whole, body: isRecord(body) ? asked : body };
}

/** SHA-256, in hex, of a path and a body with its keys in order. */
export function fingerprint(path: string, body: unknown): string {
  return hash("sha256", `${path}\n${JSON.stringify(canonical(body))}`);
}
