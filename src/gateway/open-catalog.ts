// The catalog in force, how to reload it, and the sandbox upstream that plays its vendors.
import type { Catalog } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/load.ts";
import { SESSION_ACTIONS } from "../catalog/session.ts";
import { readModelsFile } from "../catalog/updates/models-file.ts";
import { systemClock } from "../core/clock.ts";
import { inSlices, type Steps } from "../core/slices.ts";
import { SOCKET_STAND_INS, STAND_INS } from "../models/formats/stand-ins.ts";
import { type Config, doesWork } from "../platform/config.ts";
import { type Vendors, vendorsOf } from "../sandbox/action-vendors.ts";
import { startSandbox } from "../sandbox/server.ts";
import type { Foundation } from "./open-foundation.ts";
import { keepPriceVersions } from "./price-versions.ts";

export type OpenCatalog = Awaited<ReturnType<typeof openCatalog>>;

/** Metric labels: the catalog's names of models, tiers and actions, never names that callers make up. */
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

/** Rejects with a sentence for the operator where an adapter, a tier or the overlay is wrong. */
export async function openCatalog(config: Config) {
  // The catalog needs the sandbox's address, and the sandbox plays the catalog's vendors: it looks them up for each request.
  const vendors = (): Vendors => current.vendors;
  const isOwn = config.sandbox && config.sandboxUrl === null;
  const sandbox = isOwn
    ? await startSandbox({
        dialects: STAND_INS,
        sockets: SOCKET_STAND_INS,
        host: "127.0.0.1",
        port: 0,
        adapters: vendors,
      })
    : null;
  const sandboxUrl = config.sandbox ? (config.sandboxUrl ?? sandbox?.url ?? null) : null;
  const load = async (ahead: boolean) => {
    const update = await readModelsFile(config);
    const catalog = await loadCatalog({
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
    });
    return { catalog, update, names: soldNames(catalog), vendors: vendorsOf(catalog) };
  };
  let current = await load(false);
  const prepares: ((next: Catalog) => Steps<void>)[] = [];
  const loadNext = async () => {
    const next = await load(true);
    for (const prepare of prepares) await inSlices(prepare(next.catalog));
    return next;
  };
  // One reload at a time: of two concurrent ones, the older could take effect last.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    current: () => current.catalog,
    /** Calls `prepare`, in slices, with each later catalog before it takes effect. */
    beforeNext: (prepare: (next: Catalog) => Steps<void>) => void prepares.push(prepare),
    names: () => current.names,
    sandboxUrl,
    update: () => current.update,
    /** Reloads adapters, tiers, the overlay and the model list. On an error the old catalog stays in force. */
    reload: () =>
      inTurn(async () => {
        current = await loadNext();
      }),
    async close() {
      await sandbox?.close();
    },
  };
}

/** Stores the prices of this catalog and later ones, and exports the model list's age. Returns the function that reloads. */
export function openReload({ options, config, catalog, stores, observer, opened, broken }: Foundation) {
  // Of several processes on one machine only the parent stores prices.
  const keepsPrices = options.role?.kind !== "child" && doesWork(config);
  const onBroken = (error: unknown) => broken(error, "versions of prices were not kept");
  const versions = keepsPrices ? keepPriceVersions(stores.records, catalog.current, onBroken) : null;
  opened.add(() => versions?.stop());
  observer.onScrape(({ modelListAge }) => {
    const checkedAt = catalog.update()?.checkedAt;
    modelListAge.set(checkedAt === undefined ? 0 : (systemClock.epochMs() - Date.parse(checkedAt)) / 1000);
  });
  return async (): Promise<void> => {
    await catalog.reload();
    versions?.note();
  };
}
