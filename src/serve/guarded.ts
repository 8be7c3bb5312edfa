// Has the operator's guard look at a request, where there is one: before it is planned, held for or sent anywhere.
import type { GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { readJson } from "../json-bytes.ts";
import type { Caller } from "../plan.ts";
import type { Guard } from "../upstream/guard.ts";

/** Null: it may go on, with the body that the guard has given back, if it has. What cannot be read is refused as always. */
export async function guarded(
  request: GatewayRequest,
  caller: Caller | null,
  guard: Guard,
): Promise<GatewayError | null> {
  const read = readJson(request.body);
  if ("wrong" in read) return null;
  const { accountId = null, keyId = null } = caller?.payer ?? {};
  const verdict = await guard({ requestId: request.id, path: request.path, accountId, keyId, body: read.json });
  if (verdict instanceof GatewayError) return verdict;
  if (verdict.body !== undefined) request.body = Buffer.from(JSON.stringify(verdict.body));
  return null;
}
