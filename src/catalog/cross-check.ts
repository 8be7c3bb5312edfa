// Checks that need all files together: conflicting slugs, and tiers whose candidates are not sold.

import { eachOf, type Steps } from "../core/slices.ts";
import type { StandInFile } from "./catalog.ts";
import type { EndpointTable } from "./endpoint-table.ts";
import { type Kind, type Listing, listingsOf, SLUG, splitSlug } from "./slug.ts";
import type { AdapterSpec } from "./spec.ts";
import { type ActionTierSpec, actionsNamedBy, type CompositeTierSpec, type TierSpec } from "./tier.ts";
import type { UnitKind } from "./unit-price.ts";

export interface CatalogFiles {
  readonly adapters: ReadonlyMap<string, AdapterSpec>;
  readonly tiers: ReadonlyMap<string, TierSpec>;
  readonly actionTiers: ReadonlyMap<string, ActionTierSpec>;
  readonly compositeTiers: ReadonlyMap<string, CompositeTierSpec>;
  /** The tables beside adapter files, by adapter id. */
  readonly tables: ReadonlyMap<string, EndpointTable>;
  readonly standIns: ReadonlyMap<string, StandInFile>;
}

function servesAny(files: CatalogFiles, slug: string, kind: Kind): boolean {
  const split = splitSlug(slug);
  return split !== null && files.adapters.get(split.first)?.[kind]?.anyModel !== undefined;
}

function fieldOf(listing: Listing): string {
  return `adapters/${listing.adapterId}.ts: ${listing.kind}.models.${listing.upstreamModel}`;
}

function slugProblems(files: CatalogFiles, listing: Listing): readonly string[] {
  const { slug, kind } = listing;
  const maker = files.adapters.get(listing.adapterId)?.maker;
  if (!SLUG.test(slug)) return [`${fieldOf(listing)} needs a slug as <maker>/<model>, not ${slug}`];
  if (maker !== undefined && !slug.startsWith(`${maker}/`))
    return [`${fieldOf(listing)} is sold as ${slug}, which does not begin with the adapter's maker ${maker}`];
  if (!servesAny(files, slug, kind)) return [];
  return [`${fieldOf(listing)} is sold as ${slug}, which is also any model of ${splitSlug(slug)?.first}`];
}

/** Problems of models priced by units: their slug, their host and their successor. */
function unitProblems(files: CatalogFiles): readonly string[] {
  const all = [...files.adapters].flatMap(([id, { maker, unitModels = {} }]) =>
    Object.entries(unitModels).map(([name, spec]) => {
      return { id, name, spec, sold: spec.slug ?? (maker === undefined ? name : `${maker}/${name}`) };
    }),
  );
  const lasts = (kind: UnitKind, successor: string, on: string) =>
    all.some(({ sold, spec }) => spec.kind === kind && sold === successor && (spec.retires?.on ?? "9999") > on);
  return all.flatMap(({ id, name, spec: { kind, origin, retires }, sold }) => {
    const { maker, origins = {} } = files.adapters.get(id) ?? {};
    const field = `adapters/${id}.ts: unitModels.${name}`;
    const isNamed = SLUG.test(sold) && (maker === undefined || sold.startsWith(`${maker}/`));
    return [
      ...(isNamed ? [] : [`${field} needs a slug as <maker>/<model>, not ${sold}`]),
      ...(origin === undefined || Object.hasOwn(origins, origin)
        ? []
        : [`${field} names the origin ${origin}, which is none of the adapter's`]),
      ...(retires?.successor === undefined || lasts(kind, retires.successor, retires.on)
        ? []
        : [`${field}.retires names ${retires.successor}, which no adapter sells longer`]),
    ];
  });
}

/** A successor must be sold here and outlive the model that it replaces. */
function successorProblems(listing: Listing, listings: readonly Listing[]): readonly string[] {
  const { successor, on = "" } = listing.spec.retires ?? {};
  if (successor === undefined) return [];
  const lasting = listings.some(({ slug, spec: { retires } }) => slug === successor && (retires?.on ?? "9999") > on);
  return lasting ? [] : [`${fieldOf(listing)}.retires names ${successor}, which no adapter sells longer`];
}

/** An adapter sells a slug once, and only one adapter sells it first-hand: otherwise its price would be arbitrary. */
function clashes(files: CatalogFiles, group: readonly Listing[]): readonly string[] {
  const firstHand = (one: Listing) => files.adapters.get(one.adapterId)?.maker !== undefined;
  return group.flatMap((listing, at) => {
    const other = group
      .slice(0, at)
      .find((one) => one.adapterId === listing.adapterId || (firstHand(one) && firstHand(listing)));
    return other === undefined ? [] : [`${fieldOf(listing)} is sold as ${listing.slug}, and so is ${fieldOf(other)}`];
  });
}

function realtimeSlugs({ adapters }: CatalogFiles): readonly string[] {
  return [...adapters.values()].flatMap(({ maker, unitModels = {} }) =>
    Object.entries(unitModels)
      .filter(([, { kind }]) => kind === "realtime")
      .map(([name, { slug }]) => slug ?? `${maker}/${name}`),
  );
}

function tierProblems(files: CatalogFiles, chatSlugs: ReadonlySet<string>): readonly string[] {
  const realtime = new Set(realtimeSlugs(files));
  return [...files.tiers].flatMap(([id, spec]) =>
    spec.candidates.flatMap(({ model }, at) => {
      const field = `tiers/${id}.ts: candidates.${at}.model`;
      if (spec.candidates.findIndex((other) => other.model === model) < at) return [`${field} names ${model} again`];
      const slugs = spec.realtime === true ? realtime : chatSlugs;
      return slugs.has(model) || (spec.realtime !== true && servesAny(files, model, "chat"))
        ? []
        : [`${field} names ${model}, which no adapter sells`];
    }),
  );
}

/** Tiers of actions and composites must name existing actions; an action that uses a table must have one. */
function actionProblems(files: CatalogFiles): readonly string[] {
  const known = (id: string) => {
    const [adapterId = "", name = ""] = id.split("/");
    return files.adapters.get(adapterId)?.actions?.[name] !== undefined;
  };
  const tiers = [...files.actionTiers].flatMap(([id, spec]) =>
    spec.candidates.flatMap(({ action }, at) =>
      known(action) ? [] : [`tiers/${id}.ts: candidates.${at}.action names ${action}, which no adapter has`],
    ),
  );
  const composites = [...files.compositeTiers].flatMap(([id, spec]) =>
    actionsNamedBy(spec).flatMap(([field, action]) =>
      known(action) ? [] : [`tiers/${id}.ts: ${field} names ${action}, which no adapter has`],
    ),
  );
  const tables = [...files.adapters].flatMap(([id, spec]) =>
    Object.entries(spec.actions ?? {}).flatMap(([name, { table }]) =>
      table === undefined || files.tables.has(id)
        ? []
        : [`adapters/${id}.ts: actions.${name} needs adapters/${id}.json`],
    ),
  );
  const rows = [...files.tables].flatMap(([id, table]) =>
    Object.entries(table).flatMap(([name, { origin }]) =>
      origin === undefined || files.adapters.get(id)?.origins?.[origin] !== undefined
        ? []
        : [`adapters/${id}.json: ${name}.origin names ${origin}, which is none of the adapter's origins`],
    ),
  );
  const successors = [...files.tables].flatMap(([id, table]) =>
    Object.entries(table).flatMap(([name, { ended }]) =>
      ended?.successor === undefined ||
      (table[ended.successor] !== undefined && table[ended.successor]?.ended === undefined)
        ? []
        : [`adapters/${id}.json: ${name}.ended names ${ended.successor}, which is sold no longer`],
    ),
  );
  const polls = [...files.adapters].flatMap(([id, { actions = {} }]) =>
    Object.entries(actions).flatMap(([name, { issues = [] }]) =>
      issues.flatMap(({ kind, poll }) =>
        poll === undefined ||
        actions[poll.action]?.requires?.some((one) => one.kind === kind && one.param === poll.param)
          ? []
          : [
              `adapters/${id}.ts: actions.${name}.issues polls ${poll.action}, which requires no ${kind} as ${poll.param}`,
            ],
      ),
    ),
  );
  const selfHosted = [...files.adapters].flatMap(
    ([id, { actions = {}, selfHosted: { lacks = [], actions: own = {} } = {} }]) =>
      [...lacks, ...Object.keys(own)].flatMap((name) =>
        actions[name] === undefined
          ? [`adapters/${id}.ts: selfHosted names ${name}, which is none of its actions`]
          : [],
      ),
  );
  const standIns = [...files.standIns].flatMap(([id, { name }]) =>
    files.adapters.has(id) ? [] : [`${name} stands in for ${id}, which is not an adapter`],
  );
  return [...tiers, ...composites, ...tables, ...rows, ...successors, ...polls, ...selfHosted, ...standIns];
}

/** A vendor's pay-per-call endpoint must sell the same actions. */
function doorProblems(files: CatalogFiles): readonly string[] {
  return [...files.adapters].flatMap(([id, { actions = {}, keylessDoor: { actions: own = actions } = {} }]) =>
    [...new Set([...Object.keys(actions), ...Object.keys(own)])].flatMap((name) =>
      actions[name] === undefined || own[name] === undefined
        ? [`adapters/${id}.ts: keylessDoor.actions and actions do not both have ${name}`]
        : [],
    ),
  );
}

/** The problems of files that have each passed their own check, one line each. */
export function* checkTogether(files: CatalogFiles): Steps<readonly string[]> {
  const of = (kind: Kind) => eachOf(files.adapters, ([id, spec]) => listingsOf(id, spec, kind));
  const chat = (yield* of("chat")).flat();
  const all = [...chat, ...(yield* of("embeddings")).flat()];
  const groups = Map.groupBy(all, (listing) => `${listing.kind} ${listing.slug}`);
  const slugs = new Set(chat.map((listing) => listing.slug));
  const together = [actionProblems, doorProblems, unitProblems, (read: CatalogFiles) => tierProblems(read, slugs)];
  const problems = [
    yield* eachOf(all, (listing) => slugProblems(files, listing)),
    yield* eachOf(groups.values(), (group) => clashes(files, group)),
    yield* eachOf(all, (listing) => successorProblems(listing, all)),
    yield* eachOf(together, (problemsOf) => problemsOf(files)),
  ];
  return problems.flat(2);
}
