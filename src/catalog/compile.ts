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
import { type Kind, listingsOf, NAMED_MODEL, splitSlug, unitListingsOf } from "./slug.ts";
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
import { soldUnitModels } from "./sold-units.ts";
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

type Named = Pick<SoldModel | SoldEmbedding | SoldUnitModel, "kind" | "slug">;

interface DayView {
  readonly day: string;
  readonly models: ReadonlyMap<string, SoldModel>;
  readonly embeddings: ReadonlyMap<string, SoldEmbedding>;
  readonly unitModels: readonly SoldUnitModel[];
  /** Models by their kind and name without a maker. */
  readonly named: ReadonlyMap<string, readonly Named[]>;
  readonly listed: readonly (SoldModel | SoldEmbedding)[];
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

function namedIn(kind: Kind, [slug, group]: readonly [slug: string, group: Group]) {
  return namesWithoutMaker(slug, group).map((name) => ({ kind, slug, name }));
}

/** Models no longer served, by kind and slug, and by kind and name without a maker; the latest end counts. */
function* retiredOf(
  day: string,
  served: readonly Named[],
  { adapters }: CatalogSource,
): Steps<ReadonlyMap<string, RetiredModel>> {
  const isServed = new Set(served.map(({ kind, slug }) => `${kind} ${slug}`));
  const endedOf = (adapter: Adapter) => {
    const { id, spec: own } = adapter;
    const all = [...listingsOf(id, own, "chat"), ...listingsOf(id, own, "embeddings"), ...unitListingsOf(id, own)];
    return all.flatMap(({ kind, slug, upstreamModel, spec: { retires } }) =>
      retires === undefined || !hasEnded(retires, day) || isServed.has(`${kind} ${slug}`)
        ? []
        : [{ kind, slug, adapter, upstreamModel, retires }],
    );
  };
  const ended = (yield* eachOf(adapters.values(), endedOf))
    .flat()
    .sort((a, b) => (a.retires.on < b.retires.on ? -1 : 1));
  return new Map(
    ended.flatMap(({ kind, slug, retires, ...one }) =>
      [slug, splitSlug(slug)?.rest ?? slug, ...namesWithoutMaker(slug, [one])].map(
        (name) => [`${kind} ${name}`, { slug, retires }] as const,
      ),
    ),
  );
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
    named: Map.groupBy(
      [
        ...(yield* eachOf(chat, (one) => namedIn("chat", one))).flat(),
        ...(yield* eachOf(embeddings, (one) => namedIn("embeddings", one))).flat(),
        ...unitModels.map(({ kind, slug }) => ({ kind, slug, name: splitSlug(slug)?.rest ?? slug })),
      ],
      ({ kind, name }) => `${kind} ${name}`,
    ),
    listed: [...sold.models.values(), ...sold.embeddings.values()]
      .filter(({ listed }) => listed)
      .sort((a, b) => (a.slug < b.slug ? -1 : 1)),
    retired: yield* retiredOf(day, [...sold.models.values(), ...sold.embeddings.values(), ...unitModels], source),
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
  const slugsNamed: Catalog["slugsNamed"] = (name, kind, audience) =>
    (view(audience).named.get(`${kind} ${name}`) ?? []).map(({ slug }) => slug);
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
    unitModel(kind, name, audience) {
      const withSlug = (wanted: string) =>
        view(audience).unitModels.find((model) => model.kind === kind && model.slug === wanted);
      const [only, ...more] = slugsNamed(name, kind, audience);
      return withSlug(name) ?? (only === undefined || more.length > 0 ? null : (withSlug(only) ?? null));
    },
    slugsNamed,
    listed: (audience) => view(audience).listed,
    retired: (name, kind, audience) => view(audience).retired.get(`${kind} ${name}`) ?? null,
  };
}
