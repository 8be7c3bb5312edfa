// GET /api/catalog: everything for sale in one JSON document: services with their actions, models and tiers.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf, priceCentsMax, priceCentsMin, statusOf } from "../../actions/run/descriptor.ts";
import { requiredParams } from "../../actions/run/params-schema.ts";
import type { Adapter, Audience, Catalog } from "../../catalog/catalog.ts";
import { pricingAnswer } from "../../catalog/price-answers.ts";
import type { Allowed } from "../../core/plan.ts";
import { eachOf, jsonOf, type Steps } from "../../core/slices.ts";
import { allowedPricing } from "../../money/accounts/allowed-models.ts";

/** The actions of one service. */
export interface ServiceShown {
  readonly service: string;
  readonly name: string;
  /** The service's own documentation; null where there is none. */
  readonly docs: string | null;
  readonly actions: readonly CatalogAction[];
}

/** The actions by service, in order of the services' names. A service of several vendors is named by its id. */
export function servicesOf(actions: readonly CatalogAction[]): readonly ServiceShown[] {
  const services = new Map<string, CatalogAction[]>();
  for (const action of actions) services.set(action.service, [...(services.get(action.service) ?? []), action]);
  return [...services].map(([service, own]) => {
    const adapters = new Set(
      own.flatMap(({ vendors }): readonly (Adapter | null)[] => (vendors.length === 0 ? [null] : vendors)),
    );
    const [only] = adapters.size === 1 ? adapters : [];
    const docs = only?.id === service && /^https?:/.test(only.spec.docs) ? only.spec.docs : null;
    return { service, name: only?.id === service ? only.spec.name : service, docs, actions: own };
  });
}

function actionRow(action: CatalogAction, allows: Allowed | undefined) {
  const { service: _, params, ...shown } = { ...descriptorOf(action), status: statusOf(action, allows) };
  const { example: __, payable_by: ___, ...row } = shown;
  const prices = { price_cents: priceCentsMax(action), price_min_cents: priceCentsMin(action) };
  return { ...row, ...prices, required_params: requiredParams(params) };
}

/** `{services, models, tiers}` as JSON; models and tiers as in `GET /api/llm/v1/pricing`. `allows`: what the calling key may call. */
export function* catalogJson(
  actions: readonly CatalogAction[],
  catalog: Catalog,
  audience: Audience & { readonly allows?: Allowed },
): Steps<string> {
  const { allows } = audience;
  const services: object[] = [];
  for (const { actions: own, ...service } of servicesOf(actions)) {
    services.push({
      ...service,
      available: own.some((action) => statusOf(action, allows) === "available"),
      actions: yield* eachOf(own, (action) => actionRow(action, allows)),
    });
  }
  return yield* jsonOf({ services, ...allowedPricing(yield* pricingAnswer(catalog, audience), allows) }, 4);
}
