// The list of models of a gateway that runs: it takes what lists tell while calls go on, shares it with the processes over one Redis, and goes back.
import { adoptUpdate, keepUpdate, keptStamps, keptUpdate, withdrawUpdate } from "../catalog/updates/kept.ts";
import { BadList } from "../catalog/updates/list.ts";
import { type ModelsUpdate, updateOf } from "../catalog/updates/update.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../observe/log.ts";
import type { Records } from "../records/records.ts";
import { inSlices } from "../slices.ts";
import type { Stores } from "../stores.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { type Proposed, proposeUpdate, type UpdateOrder } from "./propose-update.ts";

const KIND = "models_update";
const ID = "current";
/** An operator has gone back from a list: none is taken by itself until one is taken by hand again. */
const WENT_BACK = "went-back";
const BEAT_MS = 60_000;
const BEATS_AN_HOUR = 60;
const DAY_MS = 86_400_000;
/** What another process tells when it has taken another update; what else is told on that channel does not begin so. */
const NEWS = '{"models":';

export interface ModelUpdatesParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly catalog: OpenCatalog;
  readonly upstream: Upstream;
  readonly log: Log;
  /** Whether this process asks the source of the settings by itself: of several on one machine, one does. */
  readonly asks: boolean;
  /** Whether what others have taken goes into this process's folder. Over a file the folder is common to all, and the parent alone writes there. */
  readonly keeps: boolean;
  /** Hears of each catalog that came into force here. */
  readonly onTaken: () => void;
  /** Counts what became of each list, for the metrics. */
  readonly ended: (outcome: "taken" | "unchanged" | "refused" | "withdrawn") => void;
}

/** What all processes over one Redis sell by; null: none of them has taken anything yet. */
async function sharedUpdate(
  records: Records,
): Promise<{ readonly update: ModelsUpdate | null; readonly version: number }> {
  const record = await records.get(KIND, ID);
  if (record === null) return { update: null, version: 0 };
  return { update: record.value === "" ? null : await inSlices(updateOf(record.value)), version: record.version };
}

/** Before the catalog is opened: the update that the other processes sell by becomes this one's too. */
export async function takeSharedUpdate(config: Config, { records }: Stores): Promise<void> {
  const { update, version } = await sharedUpdate(records);
  if (version > 0) await adoptUpdate(config.dataDir, update);
}

/** Before any other process is there: all of them are to sell by what the folder that they have in common has. */
export async function forgetSharedUpdate({ records }: Stores): Promise<void> {
  await records.delete(KIND, ID);
}

type Taken = Pick<Proposed, "update" | "json">;

function isSame(a: ModelsUpdate | null, b: ModelsUpdate | null): boolean {
  return a?.takenAt === b?.takenAt && a?.checkedAt === b?.checkedAt;
}

export class ModelUpdates {
  readonly #parts: ModelUpdatesParts;
  readonly #ended = new AbortController();
  /** One at a time: an update, a rollback, what another process has taken. */
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ModelUpdatesParts) {
    this.#parts = parts;
  }

  /** Reads a source, and takes what it tells unless it is a dry run. Throws BadList where nothing is changed. */
  update(order: UpdateOrder & { readonly dryRun: boolean }): Promise<Proposed> {
    return this.#inTurn(async () => {
      const proposal = await this.#update(order);
      if (!order.dryRun) await this.#parts.stores.records.delete(KIND, WENT_BACK);
      return proposal;
    });
  }

  /** Goes back to the update before. The stamp of the one that is no more; null: there is none. */
  rollback(): Promise<string | null> {
    return this.#inTurn(async () => {
      const { dataDir } = this.#parts.config;
      const [newest = null] = await keptStamps(dataDir);
      if (newest === null) return null;
      // Kept first: a daily update that came between would bring back what the operator does not want.
      const { records } = this.#parts.stores;
      const mark = { kind: KIND, id: WENT_BACK, payer: null, value: newest, ttlMs: null, ifVersion: null };
      await records.put(mark);
      const version = await this.#version();
      const before = await keptUpdate(dataDir, 1);
      await this.#take(before && { update: before, json: JSON.stringify(before) }, version, async () => {
        await withdrawUpdate(dataDir);
      });
      this.#parts.ended("withdrawn");
      return newest;
    });
  }

  async start(): Promise<void> {
    const { config, stores, asks } = this.#parts;
    const { shared, others } = stores;
    await others?.hear(
      (text) => text.startsWith(NEWS) && this.#heard(),
      () => this.#heard(),
    );
    // A process that was killed before it could tell what it had taken sells by it from this start on: the others are told now.
    await this.#tell();
    const asksDaily = asks && config.modelsUpdate === "daily";
    if (!shared && !asksDaily) return;
    let beats = 0;
    this.#timer = setInterval(() => {
      if (shared) this.#heard();
      if (asksDaily && ++beats % BEATS_AN_HOUR === 0) void this.#inTurn(() => this.#daily());
    }, BEAT_MS).unref();
    if (asksDaily) void this.#inTurn(() => this.#daily());
  }

  stop(): void {
    this.#ended.abort();
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** The version of the record that the next update follows. */
  async #version(): Promise<number> {
    const { records, shared } = this.#parts.stores;
    return shared ? (await sharedUpdate(records)).version : 0;
  }

  /** Has it come into force here and, over Redis, at every process. */
  async #take(taken: Taken | null, version: number, keep: () => Promise<void>): Promise<void> {
    const { catalog, stores, onTaken } = this.#parts;
    const { records, shared } = stores;
    await catalog.take(taken?.update ?? null, async () => {
      if (shared) {
        const value = taken?.json ?? "";
        const put = { kind: KIND, id: ID, payer: null, value, ttlMs: null, ifVersion: version };
        if ((await records.put(put)) === null)
          throw new BadList("another process has just taken a list; nothing was changed");
      }
      await keep();
    });
    onTaken();
    await this.#tell();
  }

  /** Has the other processes look at what all are to sell by. One that does not hear it looks within a minute. */
  async #tell(): Promise<void> {
    const { catalog, stores } = this.#parts;
    await stores.others?.tell(`${NEWS}"${catalog.update()?.takenAt ?? ""}"}`).catch(() => {});
  }

  async #update(order: UpdateOrder & { readonly dryRun: boolean }): Promise<Proposed> {
    if (order.dryRun) return this.#tried(order);
    try {
      const proposal = await this.#tried(order);
      this.#parts.ended(proposal.taken > 0 ? "taken" : "unchanged");
      return proposal;
    } catch (error) {
      this.#parts.ended("refused");
      throw error;
    }
  }

  async #tried({ from, vendor, yes, dryRun }: UpdateOrder & { readonly dryRun: boolean }): Promise<Proposed> {
    const { catalog, config, upstream } = this.#parts;
    const version = await this.#version();
    const { markupPercent, dataDir } = config;
    const now = { catalog: catalog.current(), before: catalog.update(), upstream, markupPercent, clock: systemClock };
    const proposed = await proposeUpdate({ from, vendor, yes }, { ...now, signal: this.#ended.signal });
    const { update, json } = proposed;
    if (!dryRun) await this.#take({ update, json }, version, () => keepUpdate(dataDir, update, json));
    return proposed;
  }

  /** Another process may have taken an update: this one sells by it too. */
  async #hear(): Promise<void> {
    const { catalog, config, keeps, log, onTaken, stores } = this.#parts;
    const { update: told, version } = await sharedUpdate(stores.records);
    if (version === 0 || isSame(told, catalog.update())) return;
    await catalog.take(told, async () => {
      if (keeps) await adoptUpdate(config.dataDir, told);
    });
    onTaken();
    log.logger.info({ models_taken: told?.takenAt ?? null }, "another process has taken a list of models");
  }

  #heard(): void {
    const { log } = this.#parts;
    this.#inTurn(() => this.#hear()).catch((err: unknown) =>
      log.logger.warn({ err }, "a list of models was not taken"),
    );
  }

  async #daily(): Promise<void> {
    const { catalog, config, log, stores } = this.#parts;
    const checkedAt = catalog.update()?.checkedAt;
    const from = config.modelsSource;
    if (from === null || (checkedAt !== undefined && systemClock.epochMs() - Date.parse(checkedAt) < DAY_MS)) return;
    try {
      if ((await stores.records.get(KIND, WENT_BACK)) !== null) return;
      const { taken, held } = await this.#update({ from, vendor: null, yes: false, dryRun: false });
      log.logger.info(
        { taken, held },
        "a list of models was taken: `tollgate models update` shows what waits for a yes",
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log.logger.warn({ why }, "the list of models was not taken");
    }
  }
}
