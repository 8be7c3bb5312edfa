// Parses the data of a stream event as an object; most dialects accept nothing else.
import { isRecord, type Json } from "../../core/json.ts";
import { parseRaw } from "../../core/raw-json.ts";

/** Null: not JSON, or not an object. */
export function eventJson(bytes: Buffer, start: number, end: number): Json | null {
  try {
    const data = parseRaw(bytes.toString("utf8", start, end));
    return isRecord(data) ? data : null;
  } catch {
    return null;
  }
}
