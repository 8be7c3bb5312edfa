// The catalog in force, how to replace it, and the sandbox upstream that stands in for its vendors.

import type { Catalog } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/load.ts";
import { SESSION_ACTIONS } from "../catalog/session.ts";
import { readModelsFile } from "../catalog/updates/models-file.ts";
import type { ModelsUpdate } from "../catalog/updates/update.ts";
import { systemClock } from "../core/clock.ts";
import { inSlices, type Steps } from "../core/slices.ts";
import { STAND_INS } from "../models/formats/stand-ins.ts";
import type { Config } from "../platform/config.ts";
import { type Vendors, vendorsOf } from "../sandbox/action-vendors.ts";
import { startSandbox } from "../sandbox/server.ts";

export interface OpenCatalog {
  current(): Catalog;
  /** Has `prepare` make ready, in slices, what is asked of each catalog that replaces this one, before it comes into force. */
  beforeNext(prepare: (next: Catalog) => Steps<void>): void;
  /** The names that may be metric labels. */
  names(): ReadonlySet<string>;
  /** The sandbox upstream of this process, or the one that the settings name; null where there is none. */
  readonly sandboxUrl: string | null;
  /** The update of the model list in force; null: there is none. */
  update(): ModelsUpdate | null;
  /** Reads adapters, tiers, the overlay and the model list again; on an error the old catalog stays. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** What may be a metric label: models and tiers by the names the catalog gives them, never those that callers make up. */
function soldNames(catalog: Catalog): ReadonlySet<string> {
  const live = { sandbox: false };
  const models = [...catalog.models(live), ...catalog.embeddings(live), ...catalog.unitModels(live)].map(
    ({ slug }) => slug,
  );
  const actions = catalog.actions(live).map(({ id }) => id);
  const sessions = [...catalog.adapters(live)].flatMap(([id, { spec }]) =>
    spec.sessions === undefined ? [] : SESSION_ACTIONS.map((name) => `${id}/${name}`),
  );
  return new Set([
    ...models,
    ...actions,
    ...sessions,
    ...[...catalog.tiers.keys()].flatMap((id) => [id, `core/${id}`]),
  ]);
}

/** What is read off a catalog once, when it comes into force. */
function inForce(catalog: Catalog, update: ModelsUpdate | null) {
  return { catalog, update, names: soldNames(catalog), vendors: vendorsOf(catalog) };
}

/** Rejects with a sentence for the operator where an adapter, a tier or the overlay is not as it must be. */
export async function openCatalog(config: Config): Promise<OpenCatalog> {
  // The catalog sends sandbox accounts to the sandbox by its address, and the sandbox stands in for the vendors of the catalog:
  // it looks them up at each request, and the first one comes when there is a catalog.
  const vendors = (): Vendors => current.vendors;
  const isOwn = config.sandbox && config.sandboxUrl === null;
  const sandbox = isOwn
    ? await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0, adapters: vendors })
    : null;
  const sandboxUrl = config.sandbox ? (config.sandboxUrl ?? sandbox?.url ?? null) : null;
  const load = async (ahead: boolean) => {
    const update = await readModelsFile(config);
    return inForce(
      await loadCatalog({
        update,
        ahead,
        env: config.vendorEnv,
        clock: systemClock,
        sandboxOrigin: sandboxUrl,
        contact: config.contact,
        zdrProviders: config.zdrProviders,
        rails: [...(config.mppWallet ? ["mpp" as const] : []), ...(config.x402Wallet ? ["x402" as const] : [])],
        overlayDir: config.overlayDir,
        markupPercent: config.markupPercent,
        allowLoss: config.allowLoss,
      }),
      update,
    );
  };
  let current = await load(false);
  const prepares: ((next: Catalog) => Steps<void>)[] = [];
  const loadNext = async () => {
    const next = await load(true);
    for (const prepare of prepares) await inSlices(prepare(next.catalog));
    return next;
  };
  // Calls are served while a catalog is made. One at a time: of two that are made side by side the older could come into force last.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    current: () => current.catalog,
    beforeNext: (prepare) => void prepares.push(prepare),
    names: () => current.names,
    sandboxUrl,
    update: () => current.update,
    reload: () =>
      inTurn(async () => {
        current = await loadNext();
      }),
    async close() {
      await sandbox?.close();
    },
  };
}
