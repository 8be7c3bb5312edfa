// Everything that can be called as an action: the catalog's actions, our own, composites, sessions, and the files that actions store.
import { consultAction } from "../actions/composites/consult.ts";
import { demoJob } from "../actions/composites/demos/demo-job.ts";
import { produceActions } from "../actions/composites/demos/produce.ts";
import { onefind } from "../actions/composites/onefind.ts";
import { onefindDeep, onefindDeepJob } from "../actions/composites/onefind-deep.ts";
import { onescrapeAction } from "../actions/composites/onescrape.ts";
import { onescrapeDeep, onescrapeDeepJob } from "../actions/composites/onescrape-deep.ts";
import { onesearchActions } from "../actions/composites/onesearch.ts";
import { openFiles } from "../actions/files/open-files.ts";
import type { Jobs } from "../actions/jobs/jobs.ts";
import { openActionCatalog } from "../actions/run/action-catalog.ts";
import { discoverAction, discovered } from "../actions/run/discover.ts";
import { FETCH, fetchAction } from "../actions/run/fetch-action.ts";
import { OWN_ENDPOINTS, type OwnEndpoint } from "../actions/run/own-endpoints.ts";
import { type Found, searchIn } from "../actions/run/search-index.ts";
import { openSessions, type Sessions } from "../actions/sessions/sessions.ts";
import type { Audience, Catalog } from "../catalog/catalog.ts";
import { tierName } from "../catalog/find-model.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import type { CompositeTierSpec } from "../catalog/tier.ts";
import { pause, systemClock } from "../core/clock.ts";
import { Places } from "../core/places.ts";
import type { Payer } from "../core/plan.ts";
import { createJobRows } from "../platform/records/job-rows.ts";
import { smallVideo } from "../sandbox/small-video.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { consultDeps } from "./consult-deps.ts";
import { jobActions } from "./job-actions.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import type { Foundation } from "./open-foundation.ts";
import { askSandboxPage, openPages } from "./open-pages.ts";

const ROWS_AT_ONCE = 256;
/** Scenes that one process records concurrently; each runs a browser. */
const SCENES_AT_ONCE = 2;
/** Videos that one process joins concurrently; each is copied on the disk. */
const JOINS_AT_ONCE = 2;
/** The limit for all rows of an account's results: on disk, and in Redis memory. */
const ROWS_BYTES_MAX = { disk: 256 * 1_048_576, memory: 16 * 1_048_576 };

/** An action found by core/discover; `covered`: the share of the query that it matches, from 0 to 1. */
export type Discovered = Found & { readonly covered: number };

export type OpenActions = Awaited<ReturnType<typeof openActions>>;

/** The tier of this name and kind. Only an overlay can have replaced it by another kind. */
function tierOf<Kind extends CompositeTierSpec["kind"]>(
  catalog: OpenCatalog,
  name: string,
  kind: Kind,
): Extract<CompositeTierSpec, { kind: Kind }> {
  const found = catalog.current().compositeTiers.get(name);
  if (found?.kind !== kind) throw new Error(`tiers/${name}.ts is no ${kind}`);
  return found as Extract<CompositeTierSpec, { kind: Kind }>;
}

/** Composite actions and their job kinds. They call `actions`, which contain them. */
export function openComposites(foundation: Foundation, actions: () => OpenActions) {
  const { options, config, log, stores, catalog } = foundation;
  const { records } = stores;
  const { internet = {} } = options;
  const rows = createJobRows(records, ROWS_BYTES_MAX[config.redisUrl === null ? "disk" : "memory"]);
  const places = new Places(ROWS_AT_ONCE);
  const finder = () => tierOf(catalog, "onefind", "people-finder");
  const pages = openPages(foundation);
  const search = {
    clock: systemClock,
    pages,
    facets: () => tierOf(catalog, "onesearch", "facets"),
    isConfigured: (id: string, payer: Payer) => actions().actionCatalog.find(id, payer)?.configured === true,
  };
  const { chromiumPath, chromiumMemoryMib, ffmpegPath } = config;
  const demos = { maker: () => tierOf(catalog, "demo", "demo-maker"), chromiumPath, ffmpegPath };
  const demo = demoJob({
    rows,
    places: new Places(SCENES_AT_ONCE),
    joinPlaces: new Places(JOINS_AT_ONCE),
    sandboxPlaces: places,
    maker: demos.maker,
    studio: { ...demos, chromiumMemoryMib, clock: systemClock, internet, play: smallVideo },
    files: () => actions().files,
    onFault: (err, jobId) => log.logger.warn({ err, jobId }, "a scene could not be recorded"),
  });
  const own: readonly LocalAction[] = [
    onescrapeAction(pages),
    onescrapeDeep(pages),
    onefind(finder),
    onefindDeep(finder),
    ...onesearchActions(search),
    consultAction(consultDeps(records, actions)),
    ...produceActions({ ...demos, pages }),
  ];
  const jobKinds = [demo, onescrapeDeepJob({ parts: pages, rows, places }), onefindDeepJob({ finder, rows, places })];
  return { actions: own, jobKinds, rows };
}

function openMeteredSessions({ stores, catalog, upstream, onBroken }: Foundation, jobs: () => Jobs): Sessions {
  return openSessions({
    records: stores.records,
    ledger: stores.ledger,
    clock: systemClock,
    jobs,
    adapter: (id, sandbox) => catalog.current().adapters({ sandbox }).get(id) ?? null,
    vendorScript: (script, order) => upstream.vendorScript(script, order),
    wait: pause,
    onBroken,
  });
}

/** Models that an endpoint accepts and a configured provider serves: tiers first, then models in list order. */
function modelsOf({ models: kind }: OwnEndpoint, catalog: Catalog, audience: Audience): readonly string[] {
  if (kind === null) return [];
  const tiers = kind === "chat" ? [...catalog.tiers.values()].map(tierName) : [];
  const tokens = catalog.listed(audience).filter((one) => one.kind === kind && one.offers.length > 0);
  const units = catalog.unitModels(audience).filter((one) => one.kind === kind && one.offers.length > 0);
  return [...tiers, ...[...tokens, ...units].map(({ slug }) => slug)];
}

/** Rejects where the file store cannot be opened. `jobs` are created later, because they run these actions. */
export async function openActions(foundation: Foundation, jobs: () => Jobs) {
  const { options, config, log, stores, catalog, url, wallets, localNames, opened } = foundation;
  const { records, ledger: books } = stores;
  const clock = systemClock;
  const composites = openComposites(foundation, () => open);
  const sessions = openMeteredSessions(foundation, jobs);
  const publicFetch = createPublicFetch({ proxies: config.proxies });
  opened.add(() => publicFetch.close());
  const { files, batchFiles, actions, endpoints } = await openFiles({
    config,
    books,
    records,
    clock,
    baseUrl: url.get,
    openPublic: publicFetch.open,
    onBroken: (err) => log.logger.error({ err }, "files"),
  });
  opened.add(() => files.close());
  const web = createPublicFetch(options.internet);
  opened.add(() => web.close());
  const fetching = fetchAction({
    openFor: ({ sandbox }) => (sandbox ? askSandboxPage : web.open),
    merchantPayerFor: (call) => (call.sandbox || config.paidFetch ? wallets.merchantPayerFor(call) : null),
    keepBytes: files.keepBytes,
    onBroken: (err) => log.logger.error({ err }, FETCH),
  });
  const models = (endpoint: OwnEndpoint, audience: Audience) => modelsOf(endpoint, catalog.current(), audience);
  // The action that searches the catalog is itself in the catalog.
  const discover = discoverAction(() => ({ searchAll, find: actionCatalog.find, models }));
  const ofJobs = jobActions(foundation, composites.rows, jobs);
  const more = options.actions ?? [];
  const localActions = [discover, ...actions, fetching, ...ofJobs, ...composites.actions, ...more];
  for (const { service, action } of localActions) localNames.add(`${service}/${action}`);
  const actionCatalog = openActionCatalog(catalog.current, localActions, sessions.actionsOf);
  catalog.beforeNext(actionCatalog.ahead);
  const { search, searchAll } = searchIn({ actionCatalog, clock }, function* (audience) {
    for (const endpoint of OWN_ENDPOINTS) {
      // A model that several endpoints accept is listed once, at the first of them.
      const [first] = OWN_ENDPOINTS.filter((one) => one.models === endpoint.models);
      yield { endpoint, models: first === endpoint ? models(endpoint, audience) : [] };
    }
  });
  const open = {
    actionCatalog,
    search,
    /** Actions that match a query, as core/discover finds them. */
    async discovered(audience: Audience, query: string, max: number): Promise<readonly Discovered[]> {
      const found = await discovered({ searchAll, find: actionCatalog.find }, audience, query, max);
      return found.flatMap((one) => ("action" in one ? [one] : []));
    },
    files,
    batchFiles,
    fileEndpoints: endpoints,
    sessions,
    jobKinds: [...composites.jobKinds, sessions.kind, ...(options.jobKinds ?? [])],
  };
  return open;
}
