// Tells the caller which fields of the body were not sent, so that a client with extras keeps working and its author is not left guessing.
import type { Adapter } from "../../catalog/catalog.ts";
import type { Frame, Reply } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Charge, Cost } from "../../core/plan.ts";
import type { Candidate, FinalPart, Leg } from "../../core/route.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { ModelRequest } from "../formats/model-request.ts";

const NAME = "x-tollgate-dropped";
/** Servers in front of callers take a few thousand characters of all headers together. */
const NAMES_SHOWN_MAX = 20;
const CHARS_MAX = 1_000;

/** The names as a header's list, as far as it may be long, and how many more there are. The first is always there. */
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

/** A server of the operator's own takes fields that no vendor is sent: it sends no bill for them. */
export function isOwnServer({ adapter }: { readonly adapter: Adapter }): boolean {
  return adapter.spec.local === true;
}

/** Whether a body goes to an offer as it was sent. */
export function takesUnsifted(offer: ModelCandidate["offer"], { passesUnsifted, asked }: ModelRequest): boolean {
  return isOwnServer(offer) || (passesUnsifted === true && "chat" in offer && offer.chat.dialect === asked.wire);
}

/** The header of a body's dropped fields; none where every candidate is a server of the operator's own, which is sent them. */
export function droppedHeader(dropped: readonly string[], ownServersOnly: boolean): Readonly<Record<string, string>> {
  return dropped.length === 0 || ownServersOnly ? {} : { [NAME]: listed(dropped) };
}

/** The same frame, which names the fields too that the vendor which answered was not sent, and says that its answer was mended; lists in several headers are one list. */
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
