// Tells the operator in the log that a vendor refuses our key: the caller hears only that no provider can serve the call.
import { envName } from "../catalog/configure.ts";
import { keyVariablesOf } from "../catalog/variables.ts";
import type { Log } from "../observe/log.ts";
import type { RefusedKey } from "../upstream/upstream.ts";

/** What to do about it is in the sentence; the vendor's own words are not, because some repeat the key. */
export function logRefusedKeys({ logger }: Log): (refused: RefusedKey) => void {
  return ({ adapter: { id, spec, keys }, key, failure }) => {
    // A server of the operator's own is known by its address.
    const variable = keyVariablesOf(id, spec).join(" + ") || envName(id, "BASE_URL");
    const place = keys.length > 1 ? `, key ${keys.indexOf(key) + 1} of ${keys.length}` : "";
    const empty = failure.kind === "provider_billing";
    const verdict = empty ? "empty" : "key bad";
    const says = empty ? "has nothing left for our key" : "refuses our key";
    const todo = failure.todo ?? (empty ? "add credit at the vendor" : "put a good one there and start again");
    const words = `${spec.name} ${says} (${verdict}): ${variable}${place}; ${todo}`;
    logger.warn({ provider: id, status: failure.status, verdict, variable }, words);
  };
}
