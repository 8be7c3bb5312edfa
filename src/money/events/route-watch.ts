// Which routes rest and which are back: a route that rests and returns every few seconds is one event, not hundreds.
export interface RestingRoute {
  readonly provider: string;
  readonly model: string;
}

export interface RouteNotice {
  readonly kind: "route.rests" | "route.returns";
  readonly route: RestingRoute;
  /** Since when, on the clock of the observations. */
  readonly sinceMs: number;
}

/** A route that has not rested for this long is back. */
const BACK_MS = 30_000;

interface Rest {
  readonly route: RestingRoute;
  seenMs: number;
}

/** Observes the resting routes repeatedly; returns what has changed. */
export class RouteWatch {
  readonly #resting = new Map<string, Rest>();

  look(resting: readonly RestingRoute[], nowMs: number): readonly RouteNotice[] {
    const notices: RouteNotice[] = [];
    for (const route of resting) {
      const name = `${route.provider}\n${route.model}`;
      const known = this.#resting.get(name);
      if (known === undefined) notices.push({ kind: "route.rests", route, sinceMs: nowMs });
      this.#resting.set(name, { route, seenMs: nowMs });
    }
    for (const [name, { route, seenMs }] of this.#resting) {
      if (nowMs - seenMs < BACK_MS) continue;
      this.#resting.delete(name);
      notices.push({ kind: "route.returns", route, sinceMs: nowMs });
    }
    return notices;
  }
}
