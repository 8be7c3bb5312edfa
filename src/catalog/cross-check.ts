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

type Problems = Generator<string, void, undefined>;

function servesAny(files: CatalogFiles, slug: string, kind: Kind): boolean {
  const split = splitSlug(slug);
  return split !== null && files.adapters.get(split.first)?.[kind]?.anyModel !== undefined;
}

function fieldOf(listing: Listing): string {
  return `adapters/${listing.adapterId}.ts: ${listing.kind}.models.${listing.upstreamModel}`;
}

function* slugProblems(files: CatalogFiles, listing: Listing): Problems {
  const { slug, kind } = listing;
  const maker = files.adapters.get(listing.adapterId)?.maker;
  if (!SLUG.test(slug)) yield `${fieldOf(listing)} needs a slug as <maker>/<model>, not ${slug}`;
  else if (maker !== undefined && !slug.startsWith(`${maker}/`))
    yield `${fieldOf(listing)} is sold as ${slug}, which does not begin with the adapter's maker ${maker}`;
  else if (servesAny(files, slug, kind))
    yield `${fieldOf(listing)} is sold as ${slug}, which is also any model of ${splitSlug(slug)?.first}`;
}

/** All models priced by units, with the slugs under which they are sold. */
function unitListings({ adapters }: CatalogFiles) {
  return [...adapters].flatMap(([id, adapter]) =>
    Object.entries(adapter.unitModels ?? {}).map(([name, spec]) => {
      const sold = spec.slug ?? (adapter.maker === undefined ? name : `${adapter.maker}/${name}`);
      return { field: `adapters/${id}.ts: unitModels.${name}`, adapter, spec, sold };
    }),
  );
}

/** Problems of models priced by units: their slug, their host and their successor. */
function* unitProblems(files: CatalogFiles): Problems {
  const all = unitListings(files);
  const lasts = (kind: UnitKind, successor: string, on: string) =>
    all.some(({ sold, spec }) => spec.kind === kind && sold === successor && (spec.retires?.on ?? "9999") > on);
  for (const { field, adapter, spec, sold } of all) {
    const { maker, origins = {} } = adapter;
    const { kind, origin, retires } = spec;
    if (!SLUG.test(sold) || (maker !== undefined && !sold.startsWith(`${maker}/`)))
      yield `${field} needs a slug as <maker>/<model>, not ${sold}`;
    if (origin !== undefined && !Object.hasOwn(origins, origin))
      yield `${field} names the origin ${origin}, which is none of the adapter's`;
    if (retires?.successor !== undefined && !lasts(kind, retires.successor, retires.on))
      yield `${field}.retires names ${retires.successor}, which no adapter sells longer`;
  }
}

/** A successor must be sold here and outlive the model that it replaces. */
function* successorProblems(listing: Listing, listings: readonly Listing[]): Problems {
  const { successor, on = "" } = listing.spec.retires ?? {};
  if (successor === undefined) return;
  const lasts = listings.some(({ slug, spec: { retires } }) => slug === successor && (retires?.on ?? "9999") > on);
  if (!lasts) yield `${fieldOf(listing)}.retires names ${successor}, which no adapter sells longer`;
}

/** An adapter sells a slug once, and only one adapter sells it first-hand: otherwise its price would be arbitrary. */
function* clashes(files: CatalogFiles, group: readonly Listing[]): Problems {
  const firstHand = (one: Listing) => files.adapters.get(one.adapterId)?.maker !== undefined;
  for (const [at, listing] of group.entries()) {
    const other = group
      .slice(0, at)
      .find((one) => one.adapterId === listing.adapterId || (firstHand(one) && firstHand(listing)));
    if (other !== undefined) yield `${fieldOf(listing)} is sold as ${listing.slug}, and so is ${fieldOf(other)}`;
  }
}

function* tierProblems(files: CatalogFiles, chatSlugs: ReadonlySet<string>): Problems {
  const realtime = new Set(unitListings(files).flatMap(({ spec, sold }) => (spec.kind === "realtime" ? [sold] : [])));
  for (const [id, spec] of files.tiers) {
    const slugs = spec.realtime === true ? realtime : chatSlugs;
    for (const [at, { model }] of spec.candidates.entries()) {
      const field = `tiers/${id}.ts: candidates.${at}.model`;
      const isServed = slugs.has(model) || (spec.realtime !== true && servesAny(files, model, "chat"));
      if (spec.candidates.findIndex((other) => other.model === model) < at) yield `${field} names ${model} again`;
      else if (!isServed) yield `${field} names ${model}, which no adapter sells`;
    }
  }
}

/** Tiers of actions and composites must name existing actions. */
function* actionTierProblems(files: CatalogFiles): Problems {
  const known = (id: string) => {
    const [adapterId = "", name = ""] = id.split("/");
    return files.adapters.get(adapterId)?.actions?.[name] !== undefined;
  };
  for (const [id, { candidates }] of files.actionTiers)
    for (const [at, { action }] of candidates.entries())
      if (!known(action)) yield `tiers/${id}.ts: candidates.${at}.action names ${action}, which no adapter has`;
  for (const [id, spec] of files.compositeTiers)
    for (const [field, action] of actionsNamedBy(spec))
      if (!known(action)) yield `tiers/${id}.ts: ${field} names ${action}, which no adapter has`;
}

/** An action that uses a table must have one, and a polled action must take the id. */
function* actionProblems({ adapters, tables }: CatalogFiles): Problems {
  for (const [id, { actions = {} }] of adapters)
    for (const [name, { table }] of Object.entries(actions))
      if (table !== undefined && !tables.has(id)) yield `adapters/${id}.ts: actions.${name} needs adapters/${id}.json`;
  yield* tableProblems(adapters, tables);
  for (const [id, { actions = {} }] of adapters)
    for (const [name, { issues = [] }] of Object.entries(actions))
      for (const { kind, poll } of issues) {
        const isTaken = ({ kind: of, param }: { kind: string; param: string }) => of === kind && param === poll?.param;
        if (poll !== undefined && !actions[poll.action]?.requires?.some(isTaken))
          yield `adapters/${id}.ts: actions.${name}.issues polls ${poll.action}, which requires no ${kind} as ${poll.param}`;
      }
  for (const [id, { actions = {}, selfHosted: { lacks = [], actions: own = {} } = {} }] of adapters)
    for (const name of [...lacks, ...Object.keys(own)])
      if (actions[name] === undefined)
        yield `adapters/${id}.ts: selfHosted names ${name}, which is none of its actions`;
}

function* tableProblems(adapters: CatalogFiles["adapters"], tables: CatalogFiles["tables"]): Problems {
  for (const [id, table] of tables)
    for (const [name, { origin }] of Object.entries(table))
      if (origin !== undefined && adapters.get(id)?.origins?.[origin] === undefined)
        yield `adapters/${id}.json: ${name}.origin names ${origin}, which is none of the adapter's origins`;
  for (const [id, table] of tables)
    for (const [name, { ended }] of Object.entries(table)) {
      const successor = table[ended?.successor ?? ""];
      if (ended?.successor !== undefined && (successor === undefined || successor.ended !== undefined))
        yield `adapters/${id}.json: ${name}.ended names ${ended.successor}, which is sold no longer`;
    }
}

function* standInProblems({ adapters, standIns }: CatalogFiles): Problems {
  for (const [id, { name }] of standIns)
    if (!adapters.has(id)) yield `${name} stands in for ${id}, which is not an adapter`;
}

/** A vendor's pay-per-call endpoint must sell the same actions. */
function* doorProblems({ adapters }: CatalogFiles): Problems {
  for (const [id, { actions = {}, keylessDoor: { actions: own = actions } = {} }] of adapters)
    for (const name of new Set([...Object.keys(actions), ...Object.keys(own)]))
      if (actions[name] === undefined || own[name] === undefined)
        yield `adapters/${id}.ts: keylessDoor.actions and actions do not both have ${name}`;
}

/** The problems of files that have each passed their own check, one line each. */
export function* checkTogether(files: CatalogFiles): Steps<readonly string[]> {
  const of = (kind: Kind) => eachOf(files.adapters, ([id, spec]) => listingsOf(id, spec, kind));
  const chat = (yield* of("chat")).flat();
  const all = [...chat, ...(yield* of("embeddings")).flat()];
  const groups = Map.groupBy(all, (listing) => `${listing.kind} ${listing.slug}`);
  const slugs = new Set(chat.map((listing) => listing.slug));
  const inTiers = (read: CatalogFiles) => tierProblems(read, slugs);
  const together = [actionTierProblems, actionProblems, standInProblems, doorProblems, unitProblems, inTiers];
  const problems = [
    yield* eachOf(all, (listing) => [...slugProblems(files, listing)]),
    yield* eachOf(groups.values(), (group) => [...clashes(files, group)]),
    yield* eachOf(all, (listing) => [...successorProblems(listing, all)]),
    yield* eachOf(together, (problemsOf) => [...problemsOf(files)]),
  ];
  return problems.flat(2);
}
