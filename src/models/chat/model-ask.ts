// Reads a request to a unit-priced model: its validated body, cost limit and tags.
import type { z } from "zod";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { readFields } from "../../core/field-issues.ts";
import type { Plan } from "../../core/plan.ts";
import { isRecord } from "../../upstream/json-pointer.ts";
import { callTags, type NamedBy } from "../formats/call-tags.ts";
import type { Field } from "../formats/field-table.ts";
import { type KnownBody, keepKnown } from "../formats/known-fields.ts";
import { maxCostOf } from "../formats/max-cost.ts";
import { schemaError } from "../formats/parse-json.ts";

export interface ModelAsk<Body> {
  readonly body: Body;
  readonly known: KnownBody;
  readonly sent: Record<string, unknown>;
  readonly maxCostNano: Plan["maxCostNano"];
  readonly tags: readonly string[];
}

export function readModelAsk<Body extends NamedBy>(
  sent: unknown,
  { schema, fields }: { readonly schema: z.ZodType<Body>; readonly fields: Field },
  request: GatewayRequest,
): ModelAsk<Body> {
  if (!isRecord(sent)) throw schemaError([{ path: "", message: "must be an object" }]);
  const known = keepKnown(sent, fields);
  const parsed = readFields(schema, known.body);
  if (!("data" in parsed)) throw schemaError(parsed);
  if (known.refused !== null) throw known.refused;
  const maxCostNano = maxCostOf(request, sent.max_cost_cents);
  return { body: parsed.data, known, sent, maxCostNano, tags: callTags(request, parsed.data) };
}
