// From the bytes of a body to JSON, with what is wrong with it in the words of a wire's error.
import { GatewayError } from "../../core/errors.ts";
import { readJson } from "../../core/json-bytes.ts";
import { parseRaw } from "../../core/raw-json.ts";

/** Says what is wrong with the field `param` of a body; an empty one means the body itself. */
export function invalid(param: string, detail: string): GatewayError {
  const named = param === "" ? {} : { param };
  return new GatewayError("bad_request", { ...named, detail: { detail: `${param || "body"}: ${detail}` } });
}

/** The body as JSON. Arguments of tool calls keep their text. */
export function parseJson(bytes: Buffer): unknown | GatewayError {
  const read = readJson(bytes, parseRaw);
  return "json" in read ? read.json : invalid("", read.wrong);
}
