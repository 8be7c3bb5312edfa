// What endpoints of models other than chat read of a request before they look at its model: its form, what of it is sent on, and what its caller says beside.
import type { z } from "zod";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { readFields } from "../../core/field-issues.ts";
import type { Plan } from "../../core/plan.ts";
import { isRecord } from "../../upstream/json-pointer.ts";
import type { Place } from "../formats/allow-list.ts";
import { callTags, type NamedBy } from "../formats/call-tags.ts";
import { maxCostOf } from "../formats/max-cost.ts";
import { invalid } from "../formats/parse-json.ts";
import { schemaError } from "../formats/schema-error.ts";
import { type Sifted, sift } from "../formats/sift.ts";

export interface ModelAsk<Body> {
  readonly body: Body;
  readonly sifted: Sifted;
  /** As it was sent. */
  readonly sent: Record<string, unknown>;
  readonly maxCostNano: Plan["maxCostNano"];
  readonly tags: readonly string[];
}

/** The body by its form, or what is wrong with it. */
export function readModelAsk<Body extends NamedBy>(
  sent: unknown,
  { schema, fields }: { readonly schema: z.ZodType<Body>; readonly fields: Place },
  request: GatewayRequest,
): ModelAsk<Body> | GatewayError {
  const sifted = isRecord(sent) ? sift(sent, fields) : null;
  const parsed = readFields(schema, sifted?.body ?? sent);
  if (!("data" in parsed)) return schemaError(parsed);
  if (sifted === null || !isRecord(sent)) return invalid("", "must be an object");
  if (sifted.refused !== null) return sifted.refused;
  const maxCostNano = maxCostOf(request, sent.max_cost_cents);
  if (maxCostNano instanceof GatewayError) return maxCostNano;
  const tags = callTags(request, parsed.data);
  return tags instanceof GatewayError ? tags : { body: parsed.data, sifted, sent, maxCostNano, tags };
}
