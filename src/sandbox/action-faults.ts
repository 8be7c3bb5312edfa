// The table of all faults of action vendors: the header value, a description, and the behaviour.
import { FAILURES } from "../core/failures.ts";

/** What the sandbox sends instead of the usual answer. */
export type ResponseScript =
  | { readonly kind: "answer" }
  /** The vendor's refusal, with a message that fits the status. */
  | { readonly kind: "refuse"; readonly status: number; readonly retryAfterS?: number }
  /** An answer that the adapter's rules give this verdict. */
  | { readonly kind: "means"; readonly verdict: string }
  /** A 200 with an error in it. */
  | { readonly kind: "error" }
  | { readonly kind: "page" }
  | { readonly kind: "empty" }
  | { readonly kind: "malformed" }
  | { readonly kind: "redirect"; readonly to: "elsewhere" | "itself" }
  | { readonly kind: "silent" }
  | { readonly kind: "reset" }
  /** Half of the body, then the end of the connection, or silence. */
  | { readonly kind: "half"; readonly end: "closed" | "silence" }
  /** Fewer bytes than Content-Length announces. */
  | { readonly kind: "short" }
  | { readonly kind: "padded"; readonly bytes: number }
  /** More bytes than any client should read. */
  | { readonly kind: "endless"; readonly bytes: number };

export interface ActionConduct {
  readonly script: ResponseScript;
  /** Applies only to the first matching request of a call. */
  readonly once: boolean;
  readonly delayMs: number;
  /** The number of polls answered with "not ready". */
  readonly notReady: number;
  /** The only step it applies to; 0 for the action's own request; null for all. */
  readonly step: number | null;
}

export const USUAL: ActionConduct = { script: { kind: "answer" }, once: false, delayMs: 0, notReady: 0, step: null };

export interface ActionFault {
  /** `<n>` and `<ms>` stand for an integer, `<verdict>` for a word. */
  readonly name: string;
  readonly does: string;
  readonly conduct: (value: string) => Partial<ActionConduct>;
}

const MIB = 1024 * 1024;
const ENDLESS_BYTES = 10 * 1024 * MIB;
const RETRY_AFTER_S = 1;

function refuses(status: number, does: string, more: { retryAfterS?: number; once?: boolean } = {}): ActionFault {
  const { once = false, ...words } = more;
  const name = `${status}${once ? "-once" : ""}`;
  return { name, does, conduct: () => ({ once, script: { kind: "refuse", status, ...words } }) };
}

function scripted(name: string, does: string, script: ResponseScript, once = false): ActionFault {
  return { name, does, conduct: () => ({ script, once }) };
}

export const ACTION_FAULTS: readonly ActionFault[] = [
  refuses(400, "400: the vendor finds the request invalid."),
  refuses(401, "401: the vendor rejects our key."),
  refuses(402, "402: our account at the vendor is empty."),
  refuses(403, "403: the vendor forbids it."),
  refuses(404, "404: the vendor does not find it."),
  refuses(409, "409: the vendor is at work on too much for us at once."),
  refuses(422, "422: the vendor cannot work with the values."),
  refuses(429, "429 every time, with Retry-After: 1.", { retryAfterS: RETRY_AFTER_S }),
  refuses(429, "429 with Retry-After: 1 on the first attempt of a call.", { retryAfterS: RETRY_AFTER_S, once: true }),
  refuses(500, "500 every time."),
  refuses(503, "503 every time."),
  refuses(503, "503 on the first attempt of a call.", { once: true }),
  scripted("timeout", "Takes the request and never answers.", { kind: "silent" }),
  {
    name: "slow-<ms>",
    does: "The answer comes after this many milliseconds.",
    conduct: (value) => ({ delayMs: Number(value) }),
  },
  scripted("reset", "TCP reset before any byte.", { kind: "reset" }),
  scripted("reset-once", "TCP reset before any byte on the first attempt of a call.", { kind: "reset" }, true),
  scripted("cut", "Half of the body, then the connection ends.", { kind: "half", end: "closed" }),
  scripted("stall", "Half of the body, then nothing.", { kind: "half", end: "silence" }),
  scripted("short", "The whole body, but Content-Length promises more; then the connection ends.", { kind: "short" }),
  scripted("html", "A 200 with an HTML page.", { kind: "page" }),
  scripted(
    "error-200",
    'A 200 with an error as the adapter\'s rules know it; where they know none, `{"error": ...}`.',
    { kind: "error" },
  ),
  scripted("empty", "A 200 without a body.", { kind: "empty" }),
  scripted("malformed", "A 200 with half of the JSON, as a whole body.", { kind: "malformed" }),
  scripted("redirect", "302 to another host.", { kind: "redirect", to: "elsewhere" }),
  scripted(
    "redirect-once",
    "302 to the same address on the first attempt of a call.",
    { kind: "redirect", to: "itself" },
    true,
  ),
  {
    name: "large-<n>mb",
    does: "A good answer with an extra field of this many MiB.",
    conduct: (value) => ({ script: { kind: "padded", bytes: Number(value) * MIB } }),
  },
  scripted("huge", "An answer of 10 GiB.", { kind: "endless", bytes: ENDLESS_BYTES }),
  scripted("miss", "An answer that the action's rules take for a miss.", { kind: "means", verdict: "miss" }),
  {
    name: "means-<verdict>",
    does: "An answer that the adapter's rules take for this class of failure, such as `means-provider_billing`.",
    conduct: (verdict) => ({ script: { kind: "means", verdict } }),
  },
  {
    name: "poll-<n>",
    does: "The first n polls find the job unfinished, whether it runs inside the call or was launched by it.",
    conduct: (value) => ({ notReady: Number(value) }),
  },
];

const PLACES: Readonly<Record<string, string>> = {
  "<n>": "(\\d{1,6})",
  "<ms>": "(\\d{1,6})",
  "<verdict>": `(${["success", "miss", ...Object.keys(FAILURES)].join("|")})`,
};
const PATTERNS = ACTION_FAULTS.map((fault) => {
  const source = fault.name.replace(/<\w+>/, (place) => PLACES[place] ?? place);
  return { fault, pattern: new RegExp(`^${source}(?:@(\\d))?$`) };
});

/** A vendor, or one of its actions; a bare number is a step. */
const VENDORS = /^(?!\d*(?:\/|$))[a-z0-9-]+(?:\/[a-z0-9_-]+)?$/;

export interface FaultPlace {
  /** `<adapter id>/<action>`. */
  readonly action: string;
  isVendor(adapterId: string): boolean;
}

/** The fault that the header requests for this action's vendor; "" if none. */
function faultOf(header: string, { action, isVendor }: FaultPlace): string {
  for (const one of header.split(",").map((part) => part.trim())) {
    const at = one.lastIndexOf("@");
    const behind = one.slice(at + 1);
    const [fault, whose] = at > 0 && VENDORS.test(behind) ? [one.slice(0, at), behind] : ["", ""];
    if (!isVendor(whose.split("/")[0] ?? "")) return one;
    if (action === whose || action.startsWith(`${whose}/`)) return fault;
  }
  return "";
}

/**
 * The conduct that the header requests, such as `503-once` or `slow-200`. `500@2` applies to the second step only, `miss@exa` to one
 * vendor, `miss@exa/search` to one of its actions. Of several, separated by commas, the first that applies wins. Null if there is no such
 * fault.
 */
export function actionConductOf(header: string, place: FaultPlace): ActionConduct | null {
  const asked = faultOf(header, place);
  if (asked === "") return USUAL;
  for (const { fault, pattern } of PATTERNS) {
    const match = pattern.exec(asked);
    if (match === null) continue;
    const value = fault.name.includes("<") ? (match[1] ?? "") : "";
    const step = match[fault.name.includes("<") ? 2 : 1];
    return { ...USUAL, ...fault.conduct(value), step: step === undefined ? null : Number(step) };
  }
  return null;
}
