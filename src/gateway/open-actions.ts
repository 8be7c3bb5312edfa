// What can be called as an action: those of the catalog, our own, and the files that actions keep.

import type { Files } from "../actions/files/files.ts";
import { type OpenFilesOptions, openFiles } from "../actions/files/open-files.ts";
import { type ActionCatalog, openActionCatalog } from "../actions/run/action-catalog.ts";
import { discoverAction, discovered } from "../actions/run/discover.ts";
import { FETCH, fetchAction } from "../actions/run/fetch-action.ts";
import { OWN_ENDPOINTS, type OwnEndpoint } from "../actions/run/own-endpoints.ts";
import { type Found, type Search, searchIn } from "../actions/run/search-index.ts";
import type { PurseFor } from "../catalog/auth.ts";
import type { Adapter, Audience, Catalog } from "../catalog/catalog.ts";
import { tierName } from "../catalog/find-model.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Config } from "../platform/config.ts";
import type { Log } from "../platform/observe/log.ts";
import type { Records } from "../platform/records/records.ts";
import { createPublicFetch, type PublicFetchOptions } from "../upstream/public-fetch.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { askSandboxPage } from "./open-pages.ts";

export interface OpenActionsParts {
  readonly config: Config;
  readonly log: Log;
  readonly records: Records;
  readonly catalog: OpenCatalog;
  /** Asked at each link to a file. */
  readonly publicUrl: () => string;
  /** By which 402s are paid. */
  readonly purseFor: PurseFor;
  readonly books: OpenFilesOptions["books"];
  /** How the internet is reached in tests. */
  readonly internet: PublicFetchOptions;
  /** Actions beside our own. */
  readonly moreActions: readonly LocalAction[];
  /** Actions of ours that are done with one vendor. */
  readonly ofVendor: (adapter: Adapter) => readonly LocalAction[];
}

/** An action as core/discover has found it; `covered`: how much of what was asked for it says, from 0 to 1. */
export type Discovered = Found & { readonly covered: number };

export interface OpenActions {
  readonly actionCatalog: ActionCatalog;
  /** The search of core/discover. */
  readonly search: Search;
  /** Actions that fit some words, as core/discover has them. */
  readonly discovered: (audience: Audience, query: string, max: number) => Promise<readonly Discovered[]>;
  readonly files: Files;
  readonly fileEndpoints: readonly EndpointSpec[];
  /** Of our own actions. */
  readonly localNames: ReadonlySet<string>;
  close(): void;
}

/** What an endpoint of models takes and a configured provider serves: the tiers, then models in the order of their lists. */
function modelsOf({ models: kind }: OwnEndpoint, catalog: Catalog, audience: Audience): readonly string[] {
  if (kind === null) return [];
  const tiers = kind === "chat" ? [...catalog.tiers.values()].map(tierName) : [];
  const tokens = catalog.listed(audience).filter((one) => one.kind === kind && one.offers.length > 0);
  const units = catalog.unitModels(audience).filter((one) => one.kind === kind && one.offers.length > 0);
  return [...tiers, ...[...tokens, ...units].map(({ slug }) => slug)];
}

/** Rejects where the store of files cannot be opened. */
export async function openActions(parts: OpenActionsParts): Promise<OpenActions> {
  const { config, log, books, records, catalog, publicUrl, purseFor, internet, moreActions, ofVendor } = parts;
  const clock = systemClock;
  const publicFetch = createPublicFetch({ proxies: config.proxies });
  const { files, actions, endpoints } = await openFiles({
    config,
    books,
    records,
    clock,
    baseUrl: publicUrl,
    openPublic: publicFetch.open,
    onBroken: (err) => log.logger.error({ err }, "files"),
  });
  // The action that searches the actionCatalog is itself in it.
  const discover = discoverAction(() => ({ searchAll, find: actionCatalog.find, models }));
  const web = createPublicFetch(internet);
  const fetching = fetchAction({
    openFor: ({ sandbox }) => (sandbox ? askSandboxPage : web.open),
    purseFor: (call) => (call.sandbox || config.paidFetch ? purseFor(call) : null),
    keepBytes: files.keepBytes,
    onBroken: (err) => log.logger.error({ err }, FETCH),
  });
  const localActions = [discover, ...actions, fetching, ...moreActions];
  const actionCatalog = openActionCatalog(catalog.current, localActions, ofVendor);
  catalog.beforeNext(actionCatalog.ahead);
  const models = (endpoint: OwnEndpoint, audience: Audience) => modelsOf(endpoint, catalog.current(), audience);
  const { search, searchAll } = searchIn({ actionCatalog, clock }, function* (audience) {
    for (const endpoint of OWN_ENDPOINTS) {
      // A model that several endpoints take is found once, at the first of them.
      const [first] = OWN_ENDPOINTS.filter((one) => one.models === endpoint.models);
      yield { endpoint, models: first === endpoint ? models(endpoint, audience) : [] };
    }
  });
  return {
    actionCatalog,
    search,
    async discovered(audience, query, max) {
      const found = await discovered({ searchAll, find: actionCatalog.find }, audience, query, max);
      return found.flatMap((one) => ("action" in one ? [one] : []));
    },
    files,
    fileEndpoints: endpoints,
    localNames: new Set(localActions.map(({ service, action }) => `${service}/${action}`)),
    close() {
      files.close();
      publicFetch.close();
      web.close();
    },
  };
}
