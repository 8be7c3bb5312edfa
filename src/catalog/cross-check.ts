// Checks that need all files together: conflicting slugs, and tiers whose candidates are not sold.

import { eachOf, type Steps } from "../core/slices.ts";
import type { StandInFile } from "./catalog.ts";
import type { EndpointTable } from "./endpoint-table.ts";
import { type Kind, type Listing, listingsOf, SLUG, splitSlug, type UnitListing, unitListingsOf } from "./slug.ts";
import type { AdapterSpec } from "./spec.ts";
import { type ActionTierSpec, actionsNamedBy, type CompositeTierSpec, type TierSpec } from "./tier.ts";

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
type AnyListing = Listing | UnitListing;

function servesAny(files: CatalogFiles, slug: string, kind: Kind): boolean {
  const split = splitSlug(slug);
  return split !== null && files.adapters.get(split.first)?.[kind]?.anyModel !== undefined;
}

function fieldOf({ adapterId, kind, upstreamModel }: AnyListing): string {
  const list = kind === "chat" || kind === "embeddings" ? `${kind}.models` : "unitModels";
  return `adapters/${adapterId}.ts: ${list}.${upstreamModel}`;
}

function* slugProblems(files: CatalogFiles, listing: AnyListing): Problems {
  const { slug, kind, adapterId } = listing;
  const maker = files.adapters.get(adapterId)?.maker;
  if (!SLUG.test(slug)) yield `${fieldOf(listing)} needs a slug as <maker>/<model>, not ${slug}`;
  else if (maker !== undefined && !slug.startsWith(`${maker}/`))
    yield `${fieldOf(listing)} is sold as ${slug}, which does not begin with the adapter's maker ${maker}`;
  else if ((kind === "chat" || kind === "embeddings") && servesAny(files, slug, kind))
    yield `${fieldOf(listing)} is sold as ${slug}, which is also any model of ${splitSlug(slug)?.first}`;
}

/** A unit-priced model may be at another of its vendor's hosts. */
function* hostProblems({ adapters }: CatalogFiles, listings: readonly UnitListing[]): Problems {
  for (const { spec, ...listing } of listings)
    if (spec.origin !== undefined && adapters.get(listing.adapterId)?.origins?.[spec.origin] === undefined)
      yield `${fieldOf({ spec, ...listing })} names the origin ${spec.origin}, which is none of the adapter's`;
}

/** A successor must be sold here and outlive the model that it replaces. */
function* successorProblems(listing: AnyListing, listings: readonly AnyListing[]): Problems {
  const { successor, on = "" } = listing.spec.retires ?? {};
  if (successor === undefined) return;
  const lasts = listings.some(
    ({ kind, slug, spec: { retires } }) => kind === listing.kind && slug === successor && (retires?.on ?? "9999") > on,
  );
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

function* tierProblems(files: CatalogFiles, listings: readonly AnyListing[]): Problems {
  const slugsOf = (kind: AnyListing["kind"]) =>
    new Set(listings.flatMap((one) => (one.kind === kind ? [one.slug] : [])));
  const [chat, realtime] = [slugsOf("chat"), slugsOf("realtime")];
  for (const [id, spec] of files.tiers) {
    const slugs = spec.realtime === true ? realtime : chat;
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

/** An action that uses a table must have one, a polled action must take the id, and a self-hosted server differs only in known actions. */
function* actionProblems({ adapters, tables }: CatalogFiles): Problems {
  for (const [id, { actions = {}, selfHosted: { lacks = [], actions: own = {} } = {} }] of adapters) {
    for (const [name, { table, issues = [] }] of Object.entries(actions)) {
      if (table !== undefined && !tables.has(id)) yield `adapters/${id}.ts: actions.${name} needs adapters/${id}.json`;
      for (const { kind, poll } of issues) {
        const isTaken = ({ kind: of, param }: { kind: string; param: string }) => of === kind && param === poll?.param;
        if (poll !== undefined && !actions[poll.action]?.requires?.some(isTaken))
          yield `adapters/${id}.ts: actions.${name}.issues polls ${poll.action}, which requires no ${kind} as ${poll.param}`;
      }
    }
    for (const name of [...lacks, ...Object.keys(own)])
      if (actions[name] === undefined)
        yield `adapters/${id}.ts: selfHosted names ${name}, which is none of its actions`;
  }
}

function* tableProblems({ adapters, tables }: CatalogFiles): Problems {
  for (const [id, table] of tables)
    for (const [name, { origin, ended }] of Object.entries(table)) {
      if (origin !== undefined && adapters.get(id)?.origins?.[origin] === undefined)
        yield `adapters/${id}.json: ${name}.origin names ${origin}, which is none of the adapter's origins`;
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
  const byToken = [...(yield* of("chat")), ...(yield* of("embeddings"))].flat();
  const byUnits = (yield* eachOf(files.adapters, ([id, spec]) => unitListingsOf(id, spec))).flat();
  const all: readonly AnyListing[] = [...byToken, ...byUnits];
  const groups = Map.groupBy(byToken, (listing) => `${listing.kind} ${listing.slug}`);
  const inTiers = (read: CatalogFiles) => tierProblems(read, all);
  const hosts = (read: CatalogFiles) => hostProblems(read, byUnits);
  const together = [actionTierProblems, actionProblems, tableProblems, standInProblems, doorProblems, hosts, inTiers];
  const problems = [
    yield* eachOf(all, (listing) => [...slugProblems(files, listing)]),
    yield* eachOf(groups.values(), (group) => [...clashes(files, group)]),
    yield* eachOf(all, (listing) => [...successorProblems(listing, all)]),
    yield* eachOf(together, (problemsOf) => [...problemsOf(files)]),
  ];
  return problems.flat(2);
}
