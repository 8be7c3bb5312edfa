// Turns a list into an update: applies its accepted changes on top of earlier updates, leaving out those that would cause sales at a loss.
import { atOnce } from "../../core/slices.ts";
import type { Adapter, Catalog } from "../catalog.ts";
import { isDearer } from "../price.ts";
import { pricedOn, salePriceOf } from "../sold.ts";
import type { AdapterSpec } from "../spec.ts";
import { type Change, compareWith, type Moment, type Seen, type SoldKind, type VendorFacts } from "./changes.ts";
import { BadList } from "./list.ts";
import { readList } from "./read-list.ts";
import { type AnyUpdate, type ModelsUpdate, updateOf, type VendorUpdate, withPrices, withTold } from "./update.ts";

export interface ProposalOrder {
  readonly bytes: Uint8Array;
  /** The list's source, for display. */
  readonly source: string;
  /** The adapter whose own list it is; null if the list covers many vendors. */
  readonly vendor: string | null;
  readonly vendors: readonly VendorFacts[];
  readonly before: ModelsUpdate | null;
  readonly markupPercent: number;
  /** `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly takenAt: string;
  /** Also applies changes that need approval. */
  readonly yes: boolean;
}

/** Merges new facts about a model over earlier ones. */
function toldOver(was: AnyUpdate | undefined, now: AnyUpdate): AnyUpdate {
  const prices = withPrices(was?.prices ?? [], now.prices);
  return { ...was, ...now, ...(prices.length === 0 ? {} : { prices }) };
}

function withChanges(
  before: Readonly<Record<string, VendorUpdate>>,
  changes: readonly Change[],
  seen: readonly Seen[],
  day: string,
): Readonly<Record<string, VendorUpdate>> {
  const vendors = structuredClone(before) as Record<string, Partial<Record<SoldKind, Record<string, AnyUpdate>>>>;
  const tell = ({ vendor, kind, model }: Seen, now: AnyUpdate) => {
    const ofVendor = vendors[vendor] ?? {};
    const models = ofVendor[kind] ?? {};
    models[model] = toldOver(models[model], now);
    vendors[vendor] = { ...ofVendor, [kind]: models };
  };
  for (const one of seen) tell(one, { seen: day });
  for (const one of changes) tell(one, { ...one.told, seen: day });
  // Each kind received only its own changes' fields.
  return vendors as Readonly<Record<string, VendorUpdate>>;
}

/** By kind and slug: the vendors whose offers would be sold below cost on a day. */
function lossesIn(vendors: readonly VendorFacts[], day: string, markupPercent: number) {
  const liveIds = new Set(vendors.flatMap(({ id, configured }) => (configured ? [id] : [])));
  const adapters = vendors.map(asAdapter);
  const priced = (["chat", "embeddings"] as const).flatMap((kind) => atOnce(pricedOn(day, kind, adapters)));
  const losses = new Map<string, readonly string[]>();
  for (const [key, [first, ...rest]] of Map.groupBy(priced, ({ kind, slug }) => `${kind} ${slug}`)) {
    if (first === undefined) continue;
    const group = [first, ...rest] as const;
    const sale = salePriceOf(first.slug, group, { liveIds, markupPercent });
    const dear = group.filter(({ cost }) => isDearer(cost, sale)).map(({ adapterId }) => adapterId);
    if (dear.length > 0) losses.set(key, dear);
  }
  return losses;
}

/** Price computation needs only these fields of an adapter. */
function asAdapter({ id, maker, sandboxOnly, configured, chat, embeddings }: VendorFacts): Adapter {
  const spec = { maker, sandboxOnly, chat, embeddings } as AdapterSpec;
  return { id, spec, configured, deployments: null } as Adapter;
}

/** Holds back price changes after which a vendor that serves would cost more than its model's sale price. */
function heldAtLoss(
  changes: readonly Change[],
  { vendors, markupPercent }: ProposalOrder,
  day: string,
): readonly Change[] {
  const told = withChanges(
    {},
    changes.filter(({ held }) => held === null),
    [],
    day,
  );
  const after = vendors.map((vendor) => atOnce(withTold(vendor, told[vendor.id] ?? {})));
  const before = lossesIn(vendors, day, markupPercent);
  const losses = lossesIn(after, day, markupPercent);
  const live = new Set(vendors.flatMap(({ id, configured }) => (configured ? [id] : [])));
  return changes.map((change) => {
    if (change.held !== null || (change.what !== "price" && change.what !== "new")) return change;
    const key = `${change.kind} ${change.slug}`;
    const dear = (losses.get(key) ?? []).find(
      (id) => !(before.get(key) ?? []).includes(id) && (id === change.vendor || live.has(id)),
    );
    return dear === undefined ? change : { ...change, held: `${dear} would cost more than it is sold for` };
  });
}

/** Throws BadList if the update could not be read again, after which no gateway would start. */
function checkReadable(update: ModelsUpdate): void {
  try {
    atOnce(updateOf(JSON.stringify(update)));
  } catch (error) {
    throw new BadList(`its update would not be valid: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Reads a list and determines what would change. Throws BadList if the list is not credible: then nothing changes. */
export function proposalOf(order: ProposalOrder) {
  const { bytes, source, vendor, vendors, before, takenAt, yes } = order;
  const day = takenAt.slice(0, 10);
  const at: Moment = { day, stamp: takenAt.slice(0, 19).replace(/[-:]/g, "") };
  const list = readList(bytes, day, vendor);
  const { changes: found, seen, unknown } = compareWith(list, vendors, at);
  const changes = heldAtLoss(found, order, day);
  const taken = changes.filter(({ held }) => yes || held === null);
  const differs = new Set(
    changes.filter((one) => !taken.includes(one)).map(({ vendor: id, kind, model }) => `${id} ${kind} ${model}`),
  );
  const same = seen.filter(({ vendor: id, kind, model }) => !differs.has(`${id} ${kind} ${model}`));
  // Without changes, the result is the current update with a new check date.
  const of = taken.length === 0 && before !== null ? before : { takenAt, source };
  const update: ModelsUpdate = {
    format: 1,
    takenAt: of.takenAt,
    checkedAt: takenAt,
    source: of.source,
    vendors: withChanges(before?.vendors ?? {}, taken, same, day),
  };
  checkReadable(update);
  return {
    format: list.format,
    changes,
    /** How many of the changes the update applies. */
    taken: taken.length,
    /** How many models in the list match what is sold here, and the models that it lacks. */
    compared: seen.length,
    unknown,
    update,
  };
}

/** Every vendor whose adapter lists models, with `configured` as live accounts see it. */
export function vendorFactsOf(catalog: Catalog): readonly VendorFacts[] {
  const live = catalog.adapters({ sandbox: false });
  return [...catalog.adapters({ sandbox: true })].flatMap(([id, { spec }]) => {
    const { chat, embeddings, unitModels, pricedAs, alsoCalled, maker, sandboxOnly } = spec;
    if (chat === undefined && embeddings === undefined && unitModels === undefined) return [];
    const facts: VendorFacts = {
      id,
      pricedAs: pricedAs ?? null,
      alsoCalled: alsoCalled ?? [],
      maker,
      configured: live.get(id)?.configured === true,
      sandboxOnly: sandboxOnly === true,
      chat: chat && { models: chat.models },
      embeddings: embeddings && { models: embeddings.models },
      unitModels,
    };
    return [facts];
  });
}
