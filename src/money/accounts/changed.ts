// Makes what is remembered of an account follow what was changed in it.

import type { Answer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";

/** Runs a change and calls `forget` after it, unless it was refused. A change that broke may have happened: forget too. */
export async function changed(
  change: () => Promise<Answer | GatewayError>,
  forget: () => void,
): Promise<Answer | GatewayError> {
  let refused = false;
  try {
    const answer = await change();
    refused = answer instanceof GatewayError;
    return answer;
  } finally {
    if (!refused) forget();
  }
}
