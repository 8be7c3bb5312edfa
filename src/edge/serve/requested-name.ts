// The action or model that a request names in its path or body, for the record of a request refused before it had a plan.
import type { GatewayRequest } from "../../core/endpoint.ts";
import { isRecord, stringOf } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";

/** Longer bodies are not parsed for it. */
const BODY_BYTES_MAX = 64 * 1024;

/** Null: it names none. */
export function requestedName({ params, body }: Pick<GatewayRequest, "params" | "body">): string | null {
  const { service, action, model } = params;
  if (service !== undefined && action !== undefined) return `${service}/${action}`;
  if (model !== undefined || body.length === 0 || body.length > BODY_BYTES_MAX) return model ?? null;
  const read = readJson(body);
  return "wrong" in read || !isRecord(read.json) ? null : (stringOf(read.json.model) ?? null);
}
