// Headers that bound what a call costs, say who pays for it, or make it repeatable: one that cannot be read is refused, never ignored.
import { GatewayError } from "../errors.ts";

/** `text` has what a header may hold; `rule` ends a sentence that begins with the header's name. */
interface Guard {
  readonly text: RegExp;
  readonly rule: string;
  /** As errors name it, where that is not in lower case. */
  readonly shown?: string;
  /** Empty beside another header that says who pays, it says nothing. */
  readonly names?: "payer";
}

const ASCII = { text: /^[\x20-\x7e]+$/, rule: "must be sent once, in visible ASCII characters, and not be empty" };
const CREDENTIAL: Guard = { ...ASCII, names: "payer" };

/** By lower-case name. uWebSockets drops what is no ASCII at either end of a value, so that of such bytes alone nothing is left. */
export const GUARDED_HEADERS: ReadonlyMap<string, Guard> = new Map<string, Guard>([
  ["x-tollgate-max-cost-cents", ASCII],
  ["x-tollgate-cache", ASCII],
  ["x-tollgate-tags", { text: /^[^\ufffd]+$/, rule: "must be sent once, in UTF-8, and not be empty" }],
  ["x-tollgate-sandbox", { text: /^[01]$/, rule: "must be sent once, and be 0 or 1" }],
  [
    "idempotency-key",
    {
      text: /^"?[\x21-\x7e]{1,255}"?$/,
      rule: "1 to 255 visible ASCII characters, sent once",
      shown: "Idempotency-Key",
    },
  ],
  ["payment-signature", ASCII],
  ["x-payment", ASCII],
  ["authorization", CREDENTIAL],
  ["x-api-key", CREDENTIAL],
  ["x-goog-api-key", CREDENTIAL],
]);

function refusal(name: string, { rule, shown = name }: Guard): GatewayError {
  return new GatewayError("bad_request", { param: shown, detail: { detail: `${shown}: ${rule}` } });
}

/** Looks at the guarded headers of one request, in their order. */
export class HeaderGuard {
  readonly #seen = new Set<string>();
  #error: GatewayError | null = null;
  #noCredential: GatewayError | null = null;

  see(name: string, value: string): void {
    const guard = GUARDED_HEADERS.get(name);
    if (guard === undefined) return;
    const isAgain = this.#seen.has(name);
    this.#seen.add(name);
    if (value === "" && guard.names === "payer" && !isAgain) this.#noCredential ??= refusal(name, guard);
    else if (isAgain || !guard.text.test(value)) this.#error ??= refusal(name, guard);
  }

  /** Why the request is refused; null: nothing is wrong with them. */
  error(hasCredential: boolean): GatewayError | null {
    return this.#error ?? (hasCredential ? null : this.#noCredential);
  }
}
