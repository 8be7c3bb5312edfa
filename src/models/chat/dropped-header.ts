// Reports body fields that were not forwarded, so that the author of a client can find out why they have no effect.
import type { Adapter } from "../../catalog/catalog.ts";
import type { Frame, Reply } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Charge, Cost } from "../../core/plan.ts";
import type { Candidate, FinalPart, Leg } from "../../core/route.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { ModelRequest } from "../formats/model-request.ts";

const NAME = "x-tollgate-dropped";
/** Reverse proxies in front of callers accept only a few thousand characters of headers in total. */
const NAMES_SHOWN_MAX = 20;
const CHARS_MAX = 1_000;

/** The names as a header list, cut to a safe length, with a count of the rest. Always includes the first name. */
export function listed(names: readonly string[]): string {
  let text = "";
  let shown = 0;
  for (const name of names.slice(0, NAMES_SHOWN_MAX)) {
    if (shown > 0 && text.length + name.length >= CHARS_MAX) break;
    text += shown === 0 ? name : `,${name}`;
    shown++;
  }
  return shown === names.length ? text : `${text},+${names.length - shown} more`;
}

/** The operator's own server may receive fields that are not forwarded to vendors, because it bills nothing. */
export function isOwnServer({ adapter }: { readonly adapter: Adapter }): boolean {
  return adapter.spec.local === true;
}

/** True if the offer receives the body as it was sent. */
export function takesUnsifted(offer: ModelCandidate["offer"], { passesUnsifted, asked }: ModelRequest): boolean {
  return isOwnServer(offer) || (passesUnsifted === true && "chat" in offer && offer.chat.dialect === asked.wire);
}

/** The header for dropped fields; absent where every candidate is the operator's own server, which receives them. */
export function droppedHeader(dropped: readonly string[], ownServersOnly: boolean): Readonly<Record<string, string>> {
  return dropped.length === 0 || ownServersOnly ? {} : { [NAME]: listed(dropped) };
}

/** Also reports the fields that the serving vendor was not sent, and whether its answer was repaired. Several headers count as one list. */
export function tellingUnsent(frame: Frame): Frame {
  return new TellingUnsent(frame);
}

class TellingUnsent implements Frame {
  readonly #frame: Frame;
  readonly keepAlive: Frame["keepAlive"];

  constructor(frame: Frame) {
    this.#frame = frame;
    this.keepAlive = frame.keepAlive;
  }

  head(reply: Reply, served: Candidate, legs: readonly Leg[], charge: Charge | null): void {
    this.#frame.head(reply, served, legs, charge);
    const unsent = (served as ModelCandidate).unsent();
    if (unsent.length > 0) reply.header(NAME, listed(unsent));
    if ((served as ModelCandidate).repaired()) reply.header("x-tollgate-repaired", "1");
  }

  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string {
    return this.#frame.last(final, cost, charge, legs);
  }

  broken(error: GatewayError, legs: readonly Leg[]): Uint8Array | string | null {
    return this.#frame.broken(error, legs);
  }
}
