// Our losses by model, where a vendor reports a cost above what the caller was charged. A model that loses money over a day rests.
import type { Catalog, EmbeddingOffer } from "../catalog/catalog.ts";
import type { Clock } from "../core/clock.ts";
import { add, minus, NANO_PER_CENT, NANO_PER_USD, type Nano, nano } from "../core/money.ts";
import type { Log } from "../platform/observe/log.ts";
import type { Observer } from "../platform/observe/observer.ts";
import type { RequestRecord } from "../platform/observe/record.ts";
import type { UnpricedUsage } from "../upstream/model-candidate.ts";

const DAY_MS = 86_400_000;
/** A loss counts above this percentage of the charge, and from one cent: rounding is not a loss. */
const PERCENT_MAX = 5;
/** Per day. Names that callers make up do not count. */
const ROUTES_MAX = 2_000;

/** What calls of one model at one provider were charged, and what they cost us. */
interface Sums {
  readonly chargedNano: Nano;
  readonly upstreamNano: Nano;
}

/** A route on one day (UTC): the sums that all processes have reported, and what this one has counted since. */
interface Route {
  readonly provider: string;
  readonly model: string;
  told: Sums;
  own: Sums;
  /** This process ranks it behind the others. */
  rests: boolean;
}

interface Counter {
  readonly provider: string;
  readonly counter: string;
  told: number;
  own: number;
}

/** The sums of a day: exchanged between processes and stored. */
export interface LossesOfDay {
  /** Days since 1970. */
  readonly day: number;
  readonly routes: readonly (Sums & { readonly provider: string; readonly model: string })[];
  readonly unpriced: readonly UnpricedRow[];
}

/** A line of `tollgate prices`. */
export interface LossRow {
  readonly provider: string;
  readonly model: string;
  readonly charged_usd: number;
  readonly upstream_usd: number;
  /** The cost above the charge, in percent. */
  readonly percent: number;
  /** Tried after the other routes until midnight. */
  readonly rests: boolean;
}

/** A provider's counter without a price here, so its cost is unknown. */
export interface UnpricedRow {
  readonly provider: string;
  readonly counter: string;
  readonly answers: number;
}

export interface LossesParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly allowLoss: boolean;
  /** Whether this process serves calls; one that serves none has no routes to rank. */
  readonly serves: boolean;
  readonly catalog: () => Catalog;
  readonly lost: (provider: string, model: string, lostNano: Nano) => void;
  /** Ranks a route behind the others for `restMs`. */
  readonly rest: (route: {
    readonly healthKey: string;
    readonly provider: string;
    readonly model: string;
    readonly restMs: number;
  }) => void;
}

const NOTHING: Sums = { chargedNano: nano(0), upstreamNano: nano(0) };

function both(a: Sums, b: Sums): Sums {
  return { chargedNano: add(a.chargedNano, b.chargedNano), upstreamNano: add(a.upstreamNano, b.upstreamNano) };
}

function without(a: Sums, b: Sums): Sums {
  return { chargedNano: minus(a.chargedNano, b.chargedNano), upstreamNano: minus(a.upstreamNano, b.upstreamNano) };
}

/** Whether the loss is large enough to stop trying this model first. */
function isLoser({ chargedNano, upstreamNano }: Sums): boolean {
  const lost = upstreamNano - chargedNano;
  return lost >= NANO_PER_CENT && lost * 100 > chargedNano * PERCENT_MAX;
}

/** Merges two sets of sums of the same day. */
export function bothDays(a: LossesOfDay, b: LossesOfDay): LossesOfDay {
  const routes = new Map(a.routes.map((one) => [`${one.provider} ${one.model}`, one]));
  for (const one of b.routes) {
    const key = `${one.provider} ${one.model}`;
    routes.set(key, { ...one, ...both(one, routes.get(key) ?? NOTHING) });
  }
  const unpriced = new Map(a.unpriced.map((one) => [`${one.provider} ${one.counter}`, one]));
  for (const one of b.unpriced) {
    const key = `${one.provider} ${one.counter}`;
    unpriced.set(key, { ...one, answers: one.answers + (unpriced.get(key)?.answers ?? 0) });
  }
  return { day: b.day, routes: [...routes.values()], unpriced: [...unpriced.values()] };
}

export class Losses {
  readonly #parts: LossesParts;
  readonly #routes = new Map<string, Route>();
  readonly #counters = new Map<string, Counter>();
  #day = -1;
  #onRest: () => void = () => {};

  constructor(parts: LossesParts) {
    this.#parts = parts;
  }

  /** `tell` informs the other processes at once when a model is ranked behind. */
  onRest(tell: () => void): void {
    this.#onRest = tell;
  }

  /** Records a finished request. Failed attempts before the model that served do not count against it. */
  note(record: RequestRecord): void {
    const { sandbox, provider, served, transactionId, chargedNano, attempts } = record;
    if (sandbox || provider === null || served === null || transactionId === null || chargedNano === 0) return;
    if (record.operation === "run") return;
    const leg = attempts.findLast((one) => one.provider === provider);
    if (leg === undefined) return;
    this.#turn();
    const route = this.#route(provider, served);
    if (route === null) return;
    route.own = both(route.own, { chargedNano, upstreamNano: leg.upstreamNano });
    if (leg.upstreamNano > chargedNano) {
      this.#parts.lost(provider, served, minus(leg.upstreamNano, chargedNano));
      this.#judge(route);
    }
  }

  /** Records that an answer counted something without a price here. */
  noteUnpriced({ adapter: { id, isSandbox }, counter }: UnpricedUsage): void {
    if (isSandbox === true) return;
    this.#turn();
    const known = this.#counter(id, counter);
    if (known !== null) known.own += 1;
  }

  /** What this process has counted and not yet added to the shared sums. */
  untold(): LossesOfDay {
    this.#turn();
    const routes = [...this.#routes.values()].filter(({ own }) => own.chargedNano > 0 || own.upstreamNano > 0);
    const counters = [...this.#counters.values()].filter(({ own }) => own > 0);
    return {
      day: this.#day,
      routes: routes.map(({ provider, model, own }) => ({ provider, model, ...own })),
      unpriced: counters.map(({ provider, counter, own }) => ({ provider, counter, answers: own })),
    };
  }

  /** Takes the shared sums, which now include `told` from this process. Ignores sums of another day. */
  hear(all: LossesOfDay, told: LossesOfDay | null): void {
    this.#turn();
    for (const { provider, model, ...sums } of told?.day === this.#day ? told.routes : []) {
      const route = this.#route(provider, model);
      if (route !== null) route.own = without(route.own, sums);
    }
    for (const { provider, counter, answers } of told?.day === this.#day ? told.unpriced : []) {
      const known = this.#counter(provider, counter);
      if (known !== null) known.own -= answers;
    }
    if (all.day !== this.#day) return;
    for (const { provider, model, ...sums } of all.routes) {
      const route = this.#route(provider, model);
      if (route === null) continue;
      route.told = sums;
      this.#judge(route);
    }
    for (const { provider, counter, answers } of all.unpriced) {
      const known = this.#counter(provider, counter);
      if (known !== null) known.told = answers;
    }
  }

  rows(): readonly LossRow[] {
    this.#turn();
    return [...this.#routes.values()]
      .map((route) => ({ route, ...both(route.told, route.own) }))
      .filter(({ chargedNano, upstreamNano }) => upstreamNano > chargedNano)
      .sort((a, b) => b.upstreamNano - b.chargedNano - (a.upstreamNano - a.chargedNano))
      .map(({ route, chargedNano, upstreamNano }) => ({
        provider: route.provider,
        model: route.model,
        charged_usd: chargedNano / NANO_PER_USD,
        upstream_usd: upstreamNano / NANO_PER_USD,
        percent: Math.round((upstreamNano / chargedNano - 1) * 1_000) / 10,
        rests: this.#toRest(route) !== undefined,
      }));
  }

  unpriced(): readonly UnpricedRow[] {
    this.#turn();
    const rows = [...this.#counters.values()];
    return rows.map(({ provider, counter, told, own }) => ({ provider, counter, answers: told + own }));
  }

  #route(provider: string, model: string): Route | null {
    const key = `${provider} ${model}`;
    const known = this.#routes.get(key);
    if (known !== undefined) return known;
    if (this.#routes.size >= ROUTES_MAX) return null;
    const route = { provider, model, told: NOTHING, own: NOTHING, rests: false };
    this.#routes.set(key, route);
    return route;
  }

  #counter(provider: string, counter: string): Counter | null {
    const key = `${provider} ${counter}`;
    const known = this.#counters.get(key);
    if (known !== undefined) return known;
    if (this.#counters.size >= ROUTES_MAX) return null;
    const fresh = { provider, counter, told: 0, own: 0 };
    this.#counters.set(key, fresh);
    return fresh;
  }

  #turn(): void {
    const day = Math.floor(this.#parts.clock.epochMs() / DAY_MS);
    if (day === this.#day) return;
    this.#day = day;
    this.#routes.clear();
    this.#counters.clear();
  }

  #toRest({ provider, model, told, own }: Route): Pick<EmbeddingOffer, "healthKey"> | undefined {
    const { allowLoss, catalog } = this.#parts;
    if (allowLoss || !isLoser(both(told, own))) return undefined;
    const live = { sandbox: false };
    const sold = catalog().model(model, live) ?? catalog().embedding(model, live);
    return sold?.offers.find(({ adapter }) => adapter.id === provider);
  }

  #judge(route: Route): void {
    if (route.rests || !this.#parts.serves) return;
    const offer = this.#toRest(route);
    if (offer === undefined) return;
    const { clock, log, rest } = this.#parts;
    const { provider, model } = route;
    rest({ healthKey: offer.healthKey, provider, model, restMs: DAY_MS - (clock.epochMs() % DAY_MS) });
    route.rests = true;
    const { chargedNano, upstreamNano } = both(route.told, route.own);
    const percent = Math.round((upstreamNano / chargedNano - 1) * 100);
    log.logger.warn(
      { provider, model, percent },
      "a model costs us more than it is sold for, and rests behind others until midnight",
    );
    this.#onRest();
  }
}

/** Reports a counter without a price here: each time in the metrics, once in the log. What it costs is our loss. */
export function logUnpriced(
  { logger }: Log,
  observer: Observer,
  losses: Pick<Losses, "noteUnpriced">,
): (usage: UnpricedUsage) => void {
  const known = new Set<string>();
  return (usage) => {
    const { counter } = usage;
    const { id, isSandbox } = usage.adapter;
    losses.noteUnpriced(usage);
    observer.unpriced(id, counter, isSandbox === true);
    const what = `${id} ${counter}`;
    if (known.has(what)) return;
    known.add(what);
    logger.warn(
      { provider: id, counter },
      "a provider counts what has no price here: its bill may be higher than ours",
    );
  };
}
