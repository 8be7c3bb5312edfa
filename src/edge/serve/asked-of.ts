// What a refused request asked for, where it was refused before a plan could say it: by its path, or by the model that its body names.
import type { GatewayRequest } from "../../core/endpoint.ts";
import { isRecord, stringOf } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";

/** A longer body is not read again for it. */
const BODY_BYTES_MAX = 64 * 1024;

/** Null: it names nothing that could be told. */
export function askedOf({ params, body }: Pick<GatewayRequest, "params" | "body">): string | null {
  const { service, action, model } = params;
  if (service !== undefined && action !== undefined) return `${service}/${action}`;
  if (model !== undefined || body.length === 0 || body.length > BODY_BYTES_MAX) return model ?? null;
  const read = readJson(body);
  return "wrong" in read || !isRecord(read.json) ? null : (stringOf(read.json.model) ?? null);
}
