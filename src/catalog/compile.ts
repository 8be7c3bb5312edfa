// Turns checked files into the catalog: lookups by slug, for live and for play accounts, at the prices of the day.
import type { Clock } from "../clock.ts";
import type { Adapter, Audience, Catalog, SoldEmbedding, SoldModel, Tier } from "./catalog.ts";
import { type AdapterEnv, checkEnv, configureLive, configureSandbox, envPriceOf, namedModelOf } from "./configure.ts";
import { type CatalogFiles, checkTogether } from "./cross-check.ts";
import { compilePrice, priceOn } from "./price.ts";
import { type Kind, NAMED_MODEL, splitSlug } from "./slug.ts";
import { type PricedListing, pricedOn, type SaleRules, soldEmbedding, soldModel } from "./sold.ts";
import { CatalogError } from "./validate.ts";

export interface CatalogOptions extends SaleRules {
  readonly env: AdapterEnv;
  readonly clock: Clock;
  /**
   * Where play accounts' calls go, without a slash at the end; each vendor is a path below it (`<origin>/openai`).
   * Null: there is no sandbox, and for play accounts nothing is configured.
   */
  readonly sandboxOrigin: string | null;
}

const DAY_MS = 86_400_000;

/** What one audience can ask for on one day. */
interface Shelf {
  readonly models: ReadonlyMap<string, SoldModel>;
  readonly embeddings: ReadonlyMap<string, SoldEmbedding>;
}

type Group = readonly [PricedListing, ...PricedListing[]];

function grouped(listings: readonly PricedListing[]): readonly (readonly [string, Group])[] {
  return [...Map.groupBy(listings, (listing) => listing.slug)].flatMap(([slug, [first, ...rest]]) =>
    first === undefined ? [] : [[slug, [first, ...rest]] as const],
  );
}

/**
 * A model of a server that serves any, as if its adapter listed it. `*` is the one the operator names: without his
 * naming one it is known but served by nobody.
 */
function anyListing(
  kind: Kind,
  slug: string,
  adapters: ReadonlyMap<string, Adapter>,
  now: { readonly day: string; readonly env: AdapterEnv },
): PricedListing | null {
  const split = splitSlug(slug);
  const adapter = split === null ? undefined : adapters.get(split.first);
  const spec = adapter?.spec[kind]?.anyModel;
  const price = spec === undefined ? null : priceOn(now.day, spec.prices);
  if (split === null || adapter === undefined || spec === undefined || price === null) return null;
  const named = split.rest === NAMED_MODEL ? namedModelOf(adapter.id, now.env) : split.rest;
  const envPrice = envPriceOf(adapter.id, now.env);
  const name = `${adapter.id}:${named ?? NAMED_MODEL}`;
  const cost = envPrice === null ? compilePrice(price, name) : compilePrice({ since: price.since, ...envPrice }, name);
  return {
    kind,
    adapterId: adapter.id,
    slug: `${adapter.id}/${named ?? NAMED_MODEL}`,
    upstreamModel: named ?? NAMED_MODEL,
    spec,
    adapter: named === null ? { ...adapter, configured: false } : adapter,
    cost: envPrice === null ? cost : { ...cost, version: `${name}@${envPrice.input}/${envPrice.output}` },
  };
}

/**
 * Makes the catalog of files that have each passed their own check.
 * Throws CatalogError where they do not fit together or a variable of the environment is wrong.
 */
export function compileCatalog(files: CatalogFiles, options: CatalogOptions): Catalog {
  const { clock, env, sandboxOrigin } = options;
  const problems = [...checkTogether(files), ...checkEnv(files, env)];
  if (problems.length > 0) throw new CatalogError(problems);

  const live = new Map<string, Adapter>();
  const sandbox = new Map<string, Adapter>();
  for (const [id, spec] of files.adapters) {
    sandbox.set(id, configureSandbox(id, spec, sandboxOrigin));
    if (!spec.sandboxOnly) live.set(id, configureLive(id, spec, env));
  }
  const tiers = new Map<string, Tier>();
  for (const [id, { purpose, candidates, firstTokenMsMax }] of files.tiers) {
    tiers.set(id, { id, purpose, models: candidates.map((candidate) => candidate.model), firstTokenMsMax });
  }

  const adaptersOf = (audience: Audience) => (audience.sandbox ? sandbox : live);
  const rulesFor = (audience: Audience) => ({ ...options, healthScope: audience.sandbox ? "sandbox:" : "" });

  function shelfOf(day: string, audience: Audience): Shelf {
    const adapters = adaptersOf(audience);
    const rules = rulesFor(audience);
    const named = (kind: Kind) =>
      [...adapters.keys()]
        .map((id) => anyListing(kind, `${id}/${NAMED_MODEL}`, adapters, { day, env }))
        .filter((listing) => listing !== null && listing.upstreamModel !== NAMED_MODEL)
        .filter((listing) => listing !== null);
    const of = (kind: Kind) => grouped([...pricedOn(day, kind, adapters.values()), ...named(kind)]);
    return {
      models: new Map(of("chat").map(([slug, group]) => [slug, soldModel(slug, group, rules)])),
      embeddings: new Map(of("embeddings").map(([slug, group]) => [slug, soldEmbedding(slug, group, rules)])),
    };
  }

  let shelves: { readonly dayNumber: number; readonly day: string; live?: Shelf; sandbox?: Shelf } | null = null;

  function today(): NonNullable<typeof shelves> {
    const dayNumber = Math.floor(clock.epochMs() / DAY_MS);
    if (shelves?.dayNumber !== dayNumber) {
      shelves = { dayNumber, day: new Date(dayNumber * DAY_MS).toISOString().slice(0, 10) };
    }
    return shelves;
  }

  function shelf(audience: Audience): Shelf {
    const now = today();
    const name = audience.sandbox ? "sandbox" : "live";
    now[name] ??= shelfOf(now.day, audience);
    return now[name];
  }

  return {
    adapters: adaptersOf,
    tiers,
    models: (audience) => [...shelf(audience).models.values()],
    embeddings: (audience) => [...shelf(audience).embeddings.values()],
    model(slug, audience) {
      const listed = shelf(audience).models.get(slug);
      if (listed !== undefined) return listed;
      const any = anyListing("chat", slug, adaptersOf(audience), { day: today().day, env });
      return any === null ? null : soldModel(any.slug, [any], rulesFor(audience));
    },
    embedding(slug, audience) {
      const listed = shelf(audience).embeddings.get(slug);
      if (listed !== undefined) return listed;
      const any = anyListing("embeddings", slug, adaptersOf(audience), { day: today().day, env });
      return any === null ? null : soldEmbedding(any.slug, [any], rulesFor(audience));
    },
  };
}
