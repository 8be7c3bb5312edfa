// A tool call's arguments as the object that some wires want.
import type { Json } from "../../core/json.ts";
import { rawObject } from "../../core/raw-json.ts";

/** Text that is not a JSON object is kept under `raw_arguments`, so that nothing is lost. */
export function argumentsOf(text: string): Json {
  // A model that was cut off, or another vendor's, wrote half an object; the caller sends its words back all the same.
  return text.trim() === "" ? {} : (rawObject(text) ?? { raw_arguments: text });
}
