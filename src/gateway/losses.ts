// What we lose by model: where a vendor has said that an answer cost it more than the caller was charged. A model that loses over a day rests.
import type { Catalog } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import { minus, NANO_PER_CENT, NANO_PER_USD, type Nano } from "../money.ts";
import type { Log } from "../observe/log.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { UnpricedUsage } from "../upstream/upstream.ts";

const DAY_MS = 86_400_000;
/** More than this much of what was charged, and at least a cent: a rounding is no loss. */
const PERCENT_MAX = 5;
/** Of one day; names that callers make up are none of them. */
const ROUTES_MAX = 2_000;

/** What one model at one provider has taken and cost on one day (UTC). */
interface Window {
  readonly provider: string;
  readonly model: string;
  chargedNano: number;
  upstreamNano: number;
  rests: boolean;
}

/** A line of `tollgate prices`. */
export interface LossRow {
  readonly provider: string;
  readonly model: string;
  readonly charged_usd: number;
  readonly upstream_usd: number;
  /** How much more it cost than was charged. */
  readonly percent: number;
  /** It is asked after the others until midnight. */
  readonly rests: boolean;
}

/** What a provider has counted that has no price here: what it takes for that is not known. */
export interface UnpricedRow {
  readonly provider: string;
  readonly counter: string;
  readonly answers: number;
}

export interface LossesParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly allowLoss: boolean;
  readonly catalog: () => Catalog;
  /** Counts what was lost, for the metrics. */
  readonly lost: (provider: string, model: string, lostNano: Nano) => void;
  /** Has a route go behind the others for so long. */
  readonly rest: (route: {
    readonly healthKey: string;
    readonly provider: string;
    readonly model: string;
    readonly restMs: number;
  }) => void;
}

export class Losses {
  readonly #parts: LossesParts;
  readonly #windows = new Map<string, Window>();
  readonly #unpriced = new Map<string, { readonly provider: string; readonly counter: string; answers: number }>();
  #day = -1;

  constructor(parts: LossesParts) {
    this.#parts = parts;
  }

  /** A request has ended. What failed on its way is no fault of the model that served, and is not counted against it. */
  note(record: RequestRecord): void {
    const { sandbox, provider, served, transactionId, chargedNano, attempts } = record;
    if (sandbox || provider === null || served === null || transactionId === null || chargedNano === 0) return;
    if (record.operation === "run") return;
    const leg = attempts.findLast((one) => one.provider === provider);
    if (leg === undefined) return;
    this.#turn();
    const key = `${provider} ${served}`;
    const known = this.#windows.get(key);
    if (known === undefined && this.#windows.size >= ROUTES_MAX) return;
    const window = known ?? { provider, model: served, chargedNano: 0, upstreamNano: 0, rests: false };
    this.#windows.set(key, window);
    window.chargedNano += chargedNano;
    window.upstreamNano += leg.upstreamNano;
    if (leg.upstreamNano > chargedNano) {
      this.#parts.lost(provider, served, minus(leg.upstreamNano, chargedNano));
      this.#judge(window);
    }
  }

  /** An answer has counted what has no price here. */
  noteUnpriced({ adapter: { id, isSandbox }, counter }: UnpricedUsage): void {
    if (isSandbox === true) return;
    this.#turn();
    const key = `${id} ${counter}`;
    const known = this.#unpriced.get(key);
    if (known !== undefined) known.answers += 1;
    else if (this.#unpriced.size < ROUTES_MAX) this.#unpriced.set(key, { provider: id, counter, answers: 1 });
  }

  /** Of today, the largest first. */
  rows(): readonly LossRow[] {
    this.#turn();
    return [...this.#windows.values()]
      .filter(({ chargedNano, upstreamNano }) => upstreamNano > chargedNano)
      .sort((a, b) => b.upstreamNano - b.chargedNano - (a.upstreamNano - a.chargedNano))
      .map(({ provider, model, chargedNano, upstreamNano, rests }) => ({
        provider,
        model,
        charged_usd: chargedNano / NANO_PER_USD,
        upstream_usd: upstreamNano / NANO_PER_USD,
        percent: Math.round((upstreamNano / chargedNano - 1) * 1_000) / 10,
        rests,
      }));
  }

  unpriced(): readonly UnpricedRow[] {
    this.#turn();
    return [...this.#unpriced.values()];
  }

  #turn(): void {
    const day = Math.floor(this.#parts.clock.epochMs() / DAY_MS);
    if (day === this.#day) return;
    this.#day = day;
    this.#windows.clear();
    this.#unpriced.clear();
  }

  #judge(window: Window): void {
    const { provider, model, chargedNano, upstreamNano } = window;
    const lost = upstreamNano - chargedNano;
    const { allowLoss, catalog, clock, log, rest } = this.#parts;
    if (allowLoss || window.rests || lost < NANO_PER_CENT || lost * 100 <= chargedNano * PERCENT_MAX) return;
    const live = { sandbox: false };
    const sold = catalog().model(model, live) ?? catalog().embedding(model, live);
    const offer = sold?.offers.find(({ adapter }) => adapter.id === provider);
    if (offer === undefined) return;
    rest({ healthKey: offer.healthKey, provider, model, restMs: DAY_MS - (clock.epochMs() % DAY_MS) });
    window.rests = true;
    const percent = Math.round((lost / chargedNano) * 100);
    log.logger.warn(
      { provider, model, percent },
      "a model costs us more than it is sold for, and rests behind others until midnight",
    );
  }
}
