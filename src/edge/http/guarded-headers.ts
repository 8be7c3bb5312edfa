// Headers that limit a call's cost, identify its payer, or make it repeatable: an invalid one is refused, never ignored.
import { GatewayError } from "../../core/errors.ts";
import { RUN_ID } from "../../core/run.ts";

/** The valid values of a header, and the end of a sentence that begins with its name. */
type Guard = readonly [text: RegExp, rule: string];

const ASCII: Guard = [/^[\x20-\x7e]+$/, "must be sent once, in visible ASCII characters, and not be empty"];
export const CREDENTIALS: readonly string[] = ["authorization", "x-api-key", "x-goog-api-key"];
const OF_RUN: Guard = [RUN_ID, "must be sent once, and be 1 to 64 letters, digits or `-_.:`"];
const KEY = "idempotency-key";

/** By lower-case name. uWebSockets drops non-ASCII bytes at either end of a value, so a value of only such bytes arrives empty. */
export const GUARDED_HEADERS: ReadonlyMap<string, Guard> = new Map<string, Guard>([
  ...["x-tollgate-max-cost-cents", "x-tollgate-cache", "payment-signature", "x-payment", ...CREDENTIALS].map(
    (name) => [name, ASCII] as const,
  ),
  ["x-tollgate-tags", [/^[^\ufffd]+$/, "must be sent once, in UTF-8, and not be empty"]],
  ["x-tollgate-run", OF_RUN],
  ["x-tollgate-run-parent", OF_RUN],
  [
    "x-tollgate-run-budget-cents",
    [/^[1-9]\d{0,8}$/, "must be sent once, and be a whole number of cents from 1 to 900000000"],
  ],
  ["x-tollgate-sandbox", [/^[01]$/, "must be sent once, and be 0 or 1"]],
  [KEY, [/^[\x21-\x7e]{1,257}$/, "1 to 255 visible ASCII characters, sent once"]],
]);

/** Checks the headers of one request, in order. */
export class HeaderGuard {
  /** Names, each preceded by a comma: cheaper than a set for the one or two that most requests have. */
  #seen = "";
  #wrong: string | null = null;

  see(name: string, value: string): void {
    const guard = GUARDED_HEADERS.get(name);
    if (guard === undefined) return;
    // An empty credential counts as missing: 401 if there is no other.
    if (value === "" && CREDENTIALS.includes(name)) return;
    if (this.#seen.includes(`,${name},`) || !guard[0].test(value)) this.#wrong ??= name;
    this.#seen += `,${name},`;
  }

  /** Why the request is refused; null: it is not. */
  refusal(): GatewayError | null {
    const name = this.#wrong;
    if (name === null) return null;
    const shown = name === KEY ? "Idempotency-Key" : name;
    return new GatewayError("bad_request", { param: shown, detail: `${shown}: ${GUARDED_HEADERS.get(name)?.[1]}` });
  }
}
