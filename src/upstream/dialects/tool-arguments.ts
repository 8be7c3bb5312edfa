// Converts a tool call's arguments to the object that some wires require.
import type { Json } from "../../core/json.ts";
import { rawObject } from "../../core/raw-json.ts";

/** Keeps text that is not a JSON object under `raw_arguments`, so that nothing is lost. */
export function argumentsOf(text: string): Json {
  // A model that was cut off may leave half an object, and the caller sends it back in the history.
  return text.trim() === "" ? {} : (rawObject(text) ?? { raw_arguments: text });
}
