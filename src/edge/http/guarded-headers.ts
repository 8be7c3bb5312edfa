// Headers that bound what a call costs, say who pays for it, or make it repeatable: one that cannot be read is refused, never ignored.
import { GatewayError } from "../../core/errors.ts";

/** What a header may hold, and the end of a sentence that begins with its name. */
type Guard = readonly [text: RegExp, rule: string];

const ASCII: Guard = [/^[\x20-\x7e]+$/, "must be sent once, in visible ASCII characters, and not be empty"];
export const CREDENTIALS: readonly string[] = ["authorization", "x-api-key", "x-goog-api-key"];
const KEY = "idempotency-key";

/** By lower-case name. uWebSockets drops bytes beyond ASCII at either end of a value, so that of such bytes alone nothing is left. */
export const GUARDED_HEADERS: ReadonlyMap<string, Guard> = new Map<string, Guard>([
  ...["x-tollgate-max-cost-cents", "x-tollgate-cache", "payment-signature", "x-payment", ...CREDENTIALS].map(
    (name) => [name, ASCII] as const,
  ),
  ["x-tollgate-tags", [/^[^\ufffd]+$/, "must be sent once, in UTF-8, and not be empty"]],
  ["x-tollgate-sandbox", [/^[01]$/, "must be sent once, and be 0 or 1"]],
  [KEY, [/^[\x21-\x7e]{1,257}$/, "1 to 255 visible ASCII characters, sent once"]],
]);

/** Looks at the headers of one request, in their order. */
export class HeaderGuard {
  /** Names, each behind a comma: no set for the one or two that most requests have. */
  #seen = "";
  #wrong: string | null = null;

  see(name: string, value: string): void {
    const guard = GUARDED_HEADERS.get(name);
    if (guard === undefined) return;
    // An empty credential is a missing one, which is 401 where no other is sent.
    if (value === "" && CREDENTIALS.includes(name)) return;
    if (this.#seen.includes(`,${name},`) || !guard[0].test(value)) this.#wrong ??= name;
    this.#seen += `,${name},`;
  }

  /** Why the request is refused; null: nothing is wrong. */
  refusal(): GatewayError | null {
    const name = this.#wrong;
    if (name === null) return null;
    const shown = name === KEY ? "Idempotency-Key" : name;
    const detail = `${shown}: ${GUARDED_HEADERS.get(name)?.[1]}`;
    return new GatewayError("bad_request", { param: shown, detail: { detail } });
  }
}
