// A tool call's arguments as the object that some wires want.
import { isRecord, type Json } from "../../json.ts";

/** What is no JSON object is kept under `raw_arguments`, so that nothing is lost. */
export function argumentsOf(text: string): Json {
  if (text.trim() === "") return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (isRecord(parsed)) return parsed;
  } catch {
    // A model that was cut off, or another vendor's, wrote half an object; the caller sends its words back all the same.
  }
  return { raw_arguments: text };
}
