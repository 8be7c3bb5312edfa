// Our losses by model, where a vendor reports a cost above what the caller was charged. A model that loses money over a day rests. One record
// a day has the sums of all processes, so that they survive restarts and any process can show them.
import { z } from "zod";
import type { EmbeddingOffer } from "../catalog/catalog.ts";
import { systemClock } from "../core/clock.ts";
import { add, minus, NANO_PER_CENT, NANO_PER_USD, type Nano, nano, ZERO } from "../core/money.ts";
import type { Observer } from "../platform/observe/observer.ts";
import type { RequestRecord } from "../platform/observe/record.ts";
import { revise } from "../platform/records/revise.ts";
import type { UnpricedUsage } from "../upstream/model-candidate.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { Ground } from "./open-foundation.ts";

const KIND = "losses";
const DAY_MS = 86_400_000;
/** Time between two exchanges with the store. A killed process loses what it counted after the last one. */
const BEAT_MS = 10_000;
/** Longer than the counted day, in case the clock is set back. */
const KEEP_MS = 2 * DAY_MS;
/** A loss counts above this percentage of the charge, and from one cent: rounding is not a loss. */
const PERCENT_MAX = 5;
/** Models and counters per day. Names that callers make up do not count. */
const ROWS_MAX = 4_000;

/** What calls of a model were charged and cost us, or how many answers counted something without a price here. */
interface Sums {
  readonly chargedNano: Nano;
  readonly upstreamNano: Nano;
  readonly answers: number;
}

/** A model or a counter of a provider on one day (UTC). */
interface Row {
  readonly provider: string;
  readonly name: string;
  readonly isModel: boolean;
  /** What all processes have reported. */
  told: Sums;
  /** What this process has counted since. */
  own: Sums;
  /** This process ranks it behind the others. */
  rests: boolean;
}

const NOTHING: Sums = { chargedNano: ZERO, upstreamNano: ZERO, answers: 0 };

function both(a: Sums, b: Sums): Sums {
  const [chargedNano, upstreamNano] = [add(a.chargedNano, b.chargedNano), add(a.upstreamNano, b.upstreamNano)];
  return { chargedNano, upstreamNano, answers: a.answers + b.answers };
}

function without(a: Sums, b: Sums): Sums {
  const [chargedNano, upstreamNano] = [minus(a.chargedNano, b.chargedNano), minus(a.upstreamNano, b.upstreamNano)];
  return { chargedNano, upstreamNano, answers: a.answers - b.answers };
}

/** Whether the loss is large enough to stop trying this model first. */
function isLoser({ chargedNano, upstreamNano }: Sums): boolean {
  const lost = upstreamNano - chargedNano;
  return lost >= NANO_PER_CENT && lost * 100 > chargedNano * PERCENT_MAX;
}

const amount = z.number().int().nonnegative().transform(nano);
const dayRecord = z
  .object({
    routes: z.array(z.object({ provider: z.string(), model: z.string(), chargedNano: amount, upstreamNano: amount })),
    unpriced: z.array(z.object({ provider: z.string(), counter: z.string(), answers: z.number().int() })),
  })
  .transform(({ routes, unpriced }) => [
    ...routes.map(({ model: name, ...sums }) => ({ ...NOTHING, ...sums, name, isModel: true })),
    ...unpriced.map(({ counter: name, ...sums }) => ({ ...NOTHING, ...sums, name, isModel: false })),
  ]);

type Stored = z.output<typeof dayRecord>[number];

function recordText(all: Iterable<Stored>): string {
  const [routes, unpriced]: [object[], object[]] = [[], []];
  for (const { provider, name, isModel, chargedNano, upstreamNano, answers } of all)
    if (isModel) routes.push({ provider, model: name, chargedNano, upstreamNano });
    else unpriced.push({ provider, counter: name, answers });
  return JSON.stringify({ routes, unpriced });
}

const keyOf = ({ provider, name, isModel }: Pick<Row, "provider" | "name" | "isModel">) =>
  `${isModel} ${provider} ${name}`;

/** A line of `tollgate prices`; `percent`: the cost above the charge; `rests`: tried after the other routes until midnight. */
export type LossRow = ReturnType<Losses["rows"]>[number];
/** A provider's counter without a price here, so its cost is unknown. */
export type UnpricedRow = ReturnType<Losses["unpriced"]>[number];

export class Losses {
  readonly #ground: Ground;
  readonly #after: () => { readonly observer: Observer; readonly upstream: Upstream };
  readonly #rows = new Map<string, Row>();
  readonly #logged = new Set<string>();
  #day = -1;
  #last: Promise<void> = Promise.resolve();
  #hasHeard = false;
  #timer: NodeJS.Timeout | undefined;

  /** `after` returns what is opened later. */
  constructor(ground: Ground, after: () => { readonly observer: Observer; readonly upstream: Upstream }) {
    this.#ground = ground;
    this.#after = after;
  }

  start(): void {
    void this.exchange();
    this.#timer = setInterval(() => this.exchange(), BEAT_MS).unref();
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.exchange();
  }

  /** Records a finished request. Failed attempts before the model that served do not count against it. */
  note(record: RequestRecord): void {
    const { sandbox, provider, served, transactionId, chargedNano, attempts } = record;
    if (sandbox || provider === null || served === null || transactionId === null || chargedNano === 0) return;
    if (record.operation === "run") return;
    const leg = attempts.findLast((one) => one.provider === provider);
    const row = leg === undefined ? null : this.#row({ provider, name: served, isModel: true });
    if (leg === undefined || row === null) return;
    row.own = both(row.own, { chargedNano, upstreamNano: leg.upstreamNano, answers: 0 });
    if (leg.upstreamNano <= chargedNano) return;
    this.#after().observer.lost(provider, served, minus(leg.upstreamNano, chargedNano));
    this.#judge(row);
  }

  /** Records that an answer counted something without a price here: each time in the metrics, once in the log. Its cost is our loss. */
  readonly noteUnpriced = ({ adapter: { id: provider, isSandbox }, counter }: UnpricedUsage): void => {
    this.#after().observer.unpriced(provider, counter, isSandbox === true);
    const row = isSandbox ? null : this.#row({ provider, name: counter, isModel: false });
    if (row !== null) row.own = both(row.own, { ...NOTHING, answers: 1 });
    const what = `${provider} ${counter}`;
    if (this.#logged.has(what)) return;
    this.#logged.add(what);
    const words = "a provider counts what has no price here: its bill may be higher than ours";
    this.#ground.log.logger.warn({ provider, counter }, words);
  };

  /** Adds what this process counted, and reads the shared sums. While the store is down, waits for the next beat. */
  exchange(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#exchangeOnce())
      .catch((error) => this.#ground.broken(error, "losses were not shared"));
    return this.#last;
  }

  async #exchangeOnce(): Promise<void> {
    const { records, shared } = this.#ground.stores;
    const day = this.#today();
    const sent = [...this.#rows.values()].filter(({ own }) => own !== NOTHING).map((row) => ({ row, own: row.own }));
    if (sent.length === 0 && this.#hasHeard && !shared) return;
    const all = new Map<string, Stored>();
    await revise(records, { kind: KIND, id: String(day), payer: null, ttlMs: KEEP_MS }, (value) => {
      all.clear();
      for (const stored of value === null ? [] : dayRecord.parse(JSON.parse(value))) all.set(keyOf(stored), stored);
      for (const { row, own } of sent) {
        const { provider, name, isModel } = row;
        all.set(keyOf(row), { provider, name, isModel, ...both(all.get(keyOf(row)) ?? NOTHING, own) });
      }
      return sent.length === 0 ? null : recordText(all.values());
    });
    this.#hasHeard = true;
    if (this.#today() !== day) return;
    for (const { row, own } of sent) row.own = row.own === own ? NOTHING : without(row.own, own);
    for (const { provider, name, isModel, ...told } of all.values()) {
      const row = this.#row({ provider, name, isModel });
      if (row === null) continue;
      row.told = told;
      this.#judge(row);
    }
  }

  rows() {
    return this.#all(true)
      .filter(({ chargedNano, upstreamNano }) => upstreamNano > chargedNano)
      .sort((a, b) => b.upstreamNano - b.chargedNano - (a.upstreamNano - a.chargedNano))
      .map(({ row, chargedNano, upstreamNano }) => ({
        provider: row.provider,
        model: row.name,
        charged_usd: chargedNano / NANO_PER_USD,
        upstream_usd: upstreamNano / NANO_PER_USD,
        percent: Math.round((upstreamNano / chargedNano - 1) * 1_000) / 10,
        rests: this.#toRest(row) !== undefined,
      }));
  }

  unpriced() {
    return this.#all(false).map(({ row: { provider, name }, answers }) => ({ provider, counter: name, answers }));
  }

  #all(isModel: boolean) {
    this.#today();
    const rows = [...this.#rows.values()].filter((row) => row.isModel === isModel);
    return rows.map((row) => ({ row, ...both(row.told, row.own) }));
  }

  /** Null: there are too many. */
  #row(of: Pick<Row, "provider" | "name" | "isModel">): Row | null {
    this.#today();
    const known = this.#rows.get(keyOf(of));
    if (known !== undefined || this.#rows.size >= ROWS_MAX) return known ?? null;
    const row = { ...of, told: NOTHING, own: NOTHING, rests: false };
    this.#rows.set(keyOf(of), row);
    return row;
  }

  #today(): number {
    const day = Math.floor(systemClock.epochMs() / DAY_MS);
    if (day !== this.#day) this.#rows.clear();
    this.#day = day;
    return day;
  }

  #toRest({ provider, name, isModel, told, own }: Row): Pick<EmbeddingOffer, "healthKey"> | undefined {
    const { config, catalog } = this.#ground;
    if (!isModel || config.allowLoss || !isLoser(both(told, own))) return undefined;
    const live = { sandbox: false };
    const sold = catalog.current().model(name, live) ?? catalog.current().embedding(name, live);
    return sold?.offers.find(({ adapter }) => adapter.id === provider);
  }

  /** Rests a loser, in a process that serves calls, and tells the others at once. */
  #judge(row: Row): void {
    const { options, log } = this.#ground;
    const offer = row.rests || options.role?.kind === "parent" ? undefined : this.#toRest(row);
    if (offer === undefined) return;
    const { provider, name: model } = row;
    const restMs = DAY_MS - (systemClock.epochMs() % DAY_MS);
    this.#after().upstream.health.putBehind({ healthKey: offer.healthKey, provider, model, restMs });
    row.rests = true;
    const { chargedNano, upstreamNano } = both(row.told, row.own);
    const percent = Math.round((upstreamNano / chargedNano - 1) * 100);
    const words = "a model costs us more than it is sold for, and rests behind others until midnight";
    log.logger.warn({ provider, model, percent }, words);
    void this.exchange();
  }
}
