// Compiles checked files into the catalog: lookups by slug for live and sandbox accounts, at today's prices.
import type { Clock } from "../core/clock.ts";
import { atOnce, eachOf, inSlices, type Steps } from "../core/slices.ts";
import type { Rail } from "./auth.ts";
import type {
  Adapter,
  Audience,
  Catalog,
  RetiredModel,
  SoldEmbedding,
  SoldModel,
  SoldUnitModel,
  Tier,
  TokenPrice,
} from "./catalog.ts";
import { type AdapterEnv, checkEnv, configureLive, configureSandbox, envPriceOf, namedModelOf } from "./configure.ts";
import { type CatalogFiles, checkTogether } from "./cross-check.ts";
import { withNamedServers } from "./named-servers.ts";
import { compilePrice, priceOn } from "./price.ts";
import { hasEnded } from "./retirement.ts";
import { type Kind, type Listing, listingsOf, NAMED_MODEL, splitSlug } from "./slug.ts";
import {
  type AudienceRules,
  type Group,
  type PricedListing,
  pricedOn,
  type SaleRules,
  soldEmbedding,
  soldModel,
} from "./sold.ts";
import { soldActions } from "./sold-actions.ts";
import { endedUnitModels, soldUnitModels, unitModelNamed, unitSlugsNamed } from "./sold-units.ts";
import type { TokenPriceSpec } from "./token-price.ts";
import { CatalogError } from "./validate.ts";

export interface CatalogOptions extends SaleRules {
  readonly env: AdapterEnv;
  readonly clock: Clock;
  /** The sandbox's base URL. Each vendor has a path below it (`<origin>/openai`). Null: the sandbox is off. */
  readonly sandboxOrigin: string | null;
  /** `CONTACT`: identifies us to vendors that ask for it. */
  readonly contact: string | null;
  /** Ids of vendors with a zero-retention contract with the operator. Default: none. */
  readonly zdrProviders?: readonly string[];
  /** The payment rails we have for pay-per-call merchants. Default: none. */
  readonly rails?: readonly Rail[];
  /** Compiles audiences in steps at creation, not at once on first use: calls wait for this thread. Default: false. */
  readonly ahead?: boolean;
}

const DAY_MS = 86_400_000;
/** In the last hour of a day, a request for the day's view also starts building the next day's. */
const TOMORROW_MS = 3_600_000;

/** Names of models that the caller chooses: they end up in headers and logs. */
const ANY_NAME = /^[\x21-\x7e]{1,200}$/;

interface DayView {
  readonly day: string;
  readonly models: ReadonlyMap<string, SoldModel>;
  readonly embeddings: ReadonlyMap<string, SoldEmbedding>;
  readonly unitModels: readonly SoldUnitModel[];
  /** Slugs by their name without a maker. */
  readonly slugs: Readonly<Record<Kind, ReadonlyMap<string, readonly string[]>>>;
  readonly listed: readonly (SoldModel | SoldEmbedding)[];
  /** Models no longer served, by kind and slug, and by kind and name without a maker. */
  readonly retired: ReadonlyMap<string, RetiredModel>;
}

interface CatalogSource {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly rules: Omit<AudienceRules, "day">;
  readonly env: AdapterEnv;
}

/** Our cost of a model on a server that serves any; the environment's price gets its own version. Null: no price is known. */
function anyCost(
  adapterId: string,
  model: string,
  day: string,
  { prices, env }: { readonly prices: readonly TokenPriceSpec[]; readonly env: AdapterEnv },
): TokenPrice | null {
  const name = `${adapterId}:${model}`;
  const price = priceOn(day, prices);
  if (price === null && model !== namedModelOf(adapterId, env)) return null;
  const set = envPriceOf(adapterId, env, price, day);
  if (set === null) return price === null ? null : compilePrice(price, name);
  return { ...compilePrice(set, name), version: `${name}@${set.input}/${set.output}` };
}

/** A model of a server that serves any, as if listed. `*` is the one that the operator names; until then it is known but not served. */
function anyListing(kind: Kind, slug: string, day: string, { adapters, env }: CatalogSource): PricedListing | null {
  const split = splitSlug(slug);
  const adapter = split === null ? undefined : adapters.get(split.first);
  const spec = adapter?.spec[kind]?.anyModel;
  if (split === null || adapter === undefined || spec === undefined) return null;
  if (!ANY_NAME.test(split.rest)) return null;
  const named = split.rest === NAMED_MODEL ? namedModelOf(adapter.id, env) : split.rest;
  const upstreamModel = named ?? NAMED_MODEL;
  const cost = anyCost(adapter.id, upstreamModel, day, { prices: spec.prices, env });
  if (cost === null) return null;
  return {
    kind,
    adapterId: adapter.id,
    slug: `${adapter.id}/${upstreamModel}`,
    upstreamModel,
    spec,
    weight: 1,
    adapter: named === null ? { ...adapter, configured: false } : adapter,
    cost,
  };
}

interface OfAdapter {
  readonly adapter: Adapter;
  readonly upstreamModel: string;
}

function grouped(listings: readonly PricedListing[]): readonly (readonly [slug: string, group: Group])[] {
  return [...Map.groupBy(listings, (listing) => listing.slug)].flatMap(([slug, [first, ...rest]]) =>
    first === undefined ? [] : [[slug, [first, ...rest]] as const],
  );
}

/** What clients of a single maker call its models: `gpt-4o-mini`, or `claude-haiku-4-5` where we sell `anthropic/claude-haiku-4.5`. */
function namesWithoutMaker(slug: string, group: readonly OfAdapter[]): readonly string[] {
  const firstHand = group.filter(({ adapter }) => adapter.spec.maker !== undefined);
  const names = [splitSlug(slug)?.rest ?? slug, ...firstHand.map(({ upstreamModel }) => upstreamModel)];
  return [...new Set(names)].filter((name) => !name.includes("/"));
}

function* slugsByName(
  groups: readonly (readonly [slug: string, group: Group])[],
): Steps<ReadonlyMap<string, readonly string[]>> {
  const slugs = new Map<string, readonly string[]>();
  for (const [slug, group] of groups) {
    for (const name of namesWithoutMaker(slug, group)) slugs.set(name, [...(slugs.get(name) ?? []), slug]);
    yield;
  }
  return slugs;
}

function* retiredOf(kind: Kind, day: string, served: ReadonlySet<string>, { adapters }: CatalogSource) {
  const endedOf = (adapter: Adapter) =>
    listingsOf(adapter.id, adapter.spec, kind)
      .filter(({ slug, spec }) => hasEnded(spec.retires, day) && !served.has(slug))
      .map((listing): Listing & OfAdapter => ({ ...listing, adapter }));
  const ended = (yield* eachOf(adapters.values(), endedOf)).flat();
  const retired: (readonly [name: string, model: RetiredModel])[] = [];
  for (const [slug, group] of Map.groupBy(ended, (listing) => listing.slug)) {
    const [retires] = group.flatMap(({ spec }) => spec.retires ?? []).toSorted((a, b) => (a.on > b.on ? -1 : 1));
    if (retires === undefined) continue;
    for (const name of [slug, ...namesWithoutMaker(slug, group)]) retired.push([`${kind} ${name}`, { slug, retires }]);
  }
  return retired;
}

function* groupsOf(kind: Kind, day: string, source: CatalogSource): Steps<ReturnType<typeof grouped>> {
  const named = [...source.adapters.keys()]
    .map((id) => anyListing(kind, `${id}/${NAMED_MODEL}`, day, source))
    .filter((listing) => listing !== null)
    .filter((listing) => kind === "chat" && listing.upstreamModel !== NAMED_MODEL);
  return grouped([...(yield* pricedOn(day, kind, source.adapters.values())), ...named]);
}

function* viewOf(day: string, source: CatalogSource): Steps<DayView> {
  const chat = yield* groupsOf("chat", day, source);
  const embeddings = yield* groupsOf("embeddings", day, source);
  const rules = { ...source.rules, day };
  const sold = {
    models: new Map(yield* eachOf(chat, ([slug, group]) => [slug, soldModel(slug, group, rules)] as const)),
    embeddings: new Map(
      yield* eachOf(embeddings, ([slug, group]) => [slug, soldEmbedding(slug, group, rules)] as const),
    ),
  };
  const unitModels = yield* soldUnitModels(source.adapters.values(), rules);
  return {
    day,
    ...sold,
    unitModels,
    slugs: { chat: yield* slugsByName(chat), embeddings: yield* slugsByName(embeddings) },
    listed: [...sold.models.values(), ...sold.embeddings.values()]
      .filter(({ listed }) => listed)
      .sort((a, b) => (a.slug < b.slug ? -1 : 1)),
    retired: new Map([
      ...(yield* retiredOf("chat", day, new Set(sold.models.keys()), source)),
      ...(yield* retiredOf("embeddings", day, new Set(sold.embeddings.keys()), source)),
      ...endedUnitModels(day, source.adapters.values(), unitModels),
    ]),
  };
}

/**
 * One audience's view as of today (UTC): built at once on first use, or ahead in steps. A use in the hour before midnight also builds the
 * next day's view in slices, because at midnight all calls need it and would have to wait.
 */
function* daily({ clock, ahead = false }: CatalogOptions, source: CatalogSource): Steps<() => DayView> {
  const today = () => Math.floor(clock.epochMs() / DAY_MS);
  const viewOn = (dayNumber: number) => viewOf(new Date(dayNumber * DAY_MS).toISOString().slice(0, 10), source);
  const first = today();
  let made = ahead ? { dayNumber: first, view: yield* viewOn(first) } : null;
  let [next, preparedFor]: [typeof made, number] = [null, first];
  const prepare = async (dayNumber: number) => {
    preparedFor = dayNumber;
    next = { dayNumber, view: await inSlices(viewOn(dayNumber)) };
  };
  return () => {
    const dayNumber = today();
    if (made?.dayNumber !== dayNumber)
      made = next?.dayNumber === dayNumber ? next : { dayNumber, view: atOnce(viewOn(dayNumber)) };
    // If the view cannot be built, callers get the error on its day.
    else if (preparedFor <= dayNumber && clock.epochMs() + TOMORROW_MS >= (dayNumber + 1) * DAY_MS)
      prepare(dayNumber + 1).catch(() => {});
    return made.view;
  };
}

type Selling<Sold> = (slug: string, group: Group, rules: AudienceRules) => Sold;

function tiersOf(files: CatalogFiles, isRealtime: boolean): ReadonlyMap<string, Tier> {
  const specs = [...files.tiers].filter(([, { realtime = false }]) => realtime === isRealtime);
  return new Map(
    specs.map(([id, { purpose, candidates, standsInFor = [], lower = null, firstTokenMsMax }]) => {
      const models = candidates.map((candidate) => candidate.model);
      return [id, { id, purpose, models, standsInFor, lower, firstTokenMsMax }];
    }),
  );
}

function* sourcesOf(
  files: CatalogFiles,
  options: CatalogOptions,
): Steps<{ readonly live: CatalogSource; readonly sandbox: CatalogSource }> {
  const { env, sandboxOrigin, contact, zdrProviders = [], rails = [], markupPercent, allowLoss } = options;
  const live = new Map<string, Adapter>();
  const sandbox = new Map<string, Adapter>();
  for (const [id, spec] of files.adapters) {
    sandbox.set(id, configureSandbox(id, spec, sandboxOrigin));
    if (!spec.sandboxOnly) live.set(id, configureLive(id, spec, env, { contact, rails, zdrProviders }));
    yield;
  }
  const liveIds = new Set([...live.values()].filter((adapter) => adapter.configured).map((adapter) => adapter.id));
  const rules = { markupPercent, allowLoss, liveIds };
  return {
    live: { adapters: live, rules: { ...rules, healthScope: "" }, env },
    sandbox: { adapters: sandbox, rules: { ...rules, healthScope: "sandbox:" }, env },
  };
}

/** Compiles files that passed their own checks. Throws CatalogError if they contradict each other or a variable is invalid. */
export function* compileCatalog(read: CatalogFiles, options: CatalogOptions): Steps<Catalog> {
  const files = { ...read, adapters: withNamedServers(read.adapters, options.env) };
  const strangers = (options.zdrProviders ?? []).filter((id) => !files.adapters.has(id));
  const problems = [
    ...(yield* checkTogether(files)),
    ...(yield* checkEnv(files, options.env)),
    ...strangers.map((id) => `ZDR_PROVIDERS has ${JSON.stringify(id)}, which is the id of no provider`),
  ];
  if (problems.length > 0) throw new CatalogError(problems);

  const sources = yield* sourcesOf(files, options);
  const sourceOf = (audience: Audience) => (audience.sandbox ? sources.sandbox : sources.live);
  const liveView = yield* daily(options, sources.live);
  const sandboxView = yield* daily(options, sources.sandbox);
  const view = (audience: Audience) => (audience.sandbox ? sandboxView() : liveView());
  /** A model of a server that serves any. */
  function soldAny<Sold>(kind: Kind, sell: Selling<Sold>, slug: string, audience: Audience): Sold | null {
    const source = sourceOf(audience);
    const { day } = view(audience);
    const any = anyListing(kind, slug, day, source);
    return any === null ? null : sell(any.slug, [any], { ...source.rules, day });
  }
  const { tables, actionTiers } = files;
  const actionsOf = ({ adapters, rules: { healthScope } }: CatalogSource) =>
    soldActions({ adapters, tables, tiers: actionTiers.values(), healthScope });
  const liveActions = yield* actionsOf(sources.live);
  const sandboxActions = yield* actionsOf(sources.sandbox);
  const actions = (audience: Audience) => (audience.sandbox ? sandboxActions : liveActions);

  return {
    adapters: (audience) => sourceOf(audience).adapters,
    standIns: files.standIns,
    tiers: tiersOf(files, false),
    realtimeTiers: tiersOf(files, true),
    compositeTiers: files.compositeTiers,
    actions: (audience) => [...actions(audience).values()],
    action: (id, audience) => actions(audience).get(id) ?? null,
    models: (audience) => [...view(audience).models.values()],
    embeddings: (audience) => [...view(audience).embeddings.values()],
    model: (slug, audience) => view(audience).models.get(slug) ?? soldAny("chat", soldModel, slug, audience),
    embedding: (slug, audience) =>
      view(audience).embeddings.get(slug) ?? soldAny("embeddings", soldEmbedding, slug, audience),
    unitModels: (audience) => view(audience).unitModels,
    unitModel: (kind, name, audience) => unitModelNamed(view(audience).unitModels, kind, name),
    slugsNamed(name, kind, audience) {
      const { slugs, unitModels } = view(audience);
      if (kind === "chat" || kind === "embeddings") return slugs[kind].get(name) ?? [];
      return unitSlugsNamed(unitModels, kind, name);
    },
    listed: (audience) => view(audience).listed,
    retired: (name, kind, audience) => view(audience).retired.get(`${kind} ${name}`) ?? null,
  };
}
