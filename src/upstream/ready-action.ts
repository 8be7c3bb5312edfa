// The parts of an action that its calls share, built once: its requests except the params, and the rules for its answers.
import type { ActionSpec } from "../catalog/action.ts";
import type { ActionOffer } from "../catalog/catalog.ts";
import type { RequestSpec, StepSpec } from "../catalog/request-spec.ts";
import type { Params } from "../catalog/said.ts";
import { ReadyRequest } from "./build-request.ts";
import { type Rulebook, rulebookOf } from "./read-answer.ts";

/** Whether a call asks for a list that also contains other callers' items. */
export function isListing({ lists }: ActionSpec, params: Params): boolean {
  return lists !== undefined && params[lists.by] !== undefined;
}

export class ReadyAction {
  readonly #offer: ActionOffer;
  readonly #requests = new Map<RequestSpec, ReadyRequest | null>();
  readonly #rulebooks = new Map<StepSpec | null, Rulebook>();

  constructor(offer: ActionOffer) {
    this.#offer = offer;
    const { request, steps = [] } = offer.spec;
    if (request !== undefined) this.#requests.set(request, null);
    for (const step of steps) this.#requests.set(step.request, null);
  }

  /** Undefined for a script's request, which varies from call to call. */
  request(spec: RequestSpec): ReadyRequest | undefined {
    const known = this.#requests.get(spec);
    if (known !== null) return known;
    const made = new ReadyRequest(this.#offer.adapter, spec);
    this.#requests.set(spec, made);
    return made;
  }

  /** For the answer to a step; null: to the action's own request or a script's. In a listing, rules about one item do not apply. */
  rulebook(step: StepSpec | null, params: Params): Rulebook {
    const { adapter, spec } = this.#offer;
    if (isListing(spec, params)) return rulebookOf(adapter.spec, { ...spec, rules: [] }, null);
    const known = this.#rulebooks.get(step);
    if (known !== undefined) return known;
    const made = rulebookOf(adapter.spec, spec, step);
    this.#rulebooks.set(step, made);
    return made;
  }
}

/** Returns a cached factory; entries live as long as their catalog. */
export function readyActions(): (offer: ActionOffer) => ReadyAction {
  const made = new WeakMap<ActionOffer, ReadyAction>();
  return (offer) => {
    const known = made.get(offer);
    if (known !== undefined) return known;
    const ready = new ReadyAction(offer);
    made.set(offer, ready);
    return ready;
  };
}
