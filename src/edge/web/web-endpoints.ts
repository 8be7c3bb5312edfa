// The public pages and documents: the catalog for people and programs, the guide for agents, the OpenAPI document.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf, priceCentsMax, priceCentsMin, statusOf } from "../../actions/run/descriptor.ts";
import { keptToday, oncePerDay } from "../../actions/run/once-per-day.ts";
import { requiredParams } from "../../actions/run/params-schema.ts";
import { answerWith, type ReadyAnswer, readyAnswer } from "../../actions/run/ready-answer.ts";
import { type Adapter, type Audience, BY_KEY, type Catalog, EVERYBODY, seenBy } from "../../catalog/catalog.ts";
import { pricingAnswer } from "../../catalog/price-answers.ts";
import type { Endpoint } from "../../core/endpoint.ts";
import type { Allowed } from "../../core/plan.ts";
import { eachOf, inSlices, jsonOf, type Steps } from "../../core/slices.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";
import { allowedPricing } from "../../money/accounts/allowed-models.ts";
import { type CatalogPageParts, catalogEndpoints } from "./catalog-endpoints.ts";
import { assetEndpoints } from "./kit/assets.ts";
import { llmsText } from "./llms-text.ts";
import { logosCss } from "./logos.ts";
import { openApiDocument, paidAddresses } from "./openapi.ts";

/** The actions by service, in order of the services' names, with its own documentation. A service of several vendors is named by its id. */
function servicesOf(actions: readonly CatalogAction[]) {
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
function* catalogJson(
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

function open(path: string) {
  return { method: "GET", path, auth: "none", bodyBytesMax: 0, errors: envelopeErrors } as const;
}

/**
 * `GET /`, `/api/catalog`, `/catalog`, `/llms.txt`, `/openapi.json` and, where payments are accepted, `/.well-known/x402`. Each is built
 * once a day, and when the catalog changes.
 */
export function webEndpoints(parts: CatalogPageParts): readonly Endpoint[] {
  const { catalog, site, payTo } = parts;
  const publicUrl = () => site().publicUrl;

  function page(path: string, make: (actions: readonly CatalogAction[]) => Steps<ReadyAnswer>): Endpoint {
    const ready = oncePerDay(parts, function* (actions) {
      // The actions' descriptions are cached; building them takes far longer than rendering all pages.
      yield* eachOf(actions, descriptorOf);
      return yield* make(actions);
    });
    return { ...open(path), answer: async ({ request }) => answerWith(await ready(EVERYBODY), request) };
  }

  const asJson = oncePerDay(parts, function* (actions, { sandbox }) {
    return readyAnswer(yield* catalogJson(actions, catalog(), { sandbox }), "application/json", BY_KEY);
  });
  const actionsOf = keptToday(parts, (actions) => actions);

  return [
    {
      ...open("/api/catalog"),
      async answer({ request, caller }) {
        const { services = null, models = null } = caller?.allows ?? {};
        if (caller === null || (services === null && models === null))
          return answerWith(await asJson(seenBy(caller)), request);
        const body = await inSlices(catalogJson(actionsOf(caller), catalog(), caller));
        return { status: 200, body, headers: BY_KEY };
      },
    },
    { ...open("/"), answer: () => ({ status: 303, body: "", headers: { location: "/catalog" } }) },
    page("/openapi.json", function* (actions) {
      const document = yield* openApiDocument(actions, publicUrl(), payTo);
      return readyAnswer(yield* jsonOf(document), "application/json");
    }),
    // Without payments there is no such document.
    ...(payTo === null
      ? []
      : [
          page("/.well-known/x402", function* (actions) {
            return readyAnswer(yield* jsonOf(paidAddresses(actions, publicUrl())), "application/json");
          }),
        ]),
    // biome-ignore lint/correctness/useYield: it is short once everything is described.
    page("/llms.txt", function* (actions) {
      return readyAnswer(llmsText(actions, publicUrl()), "text/plain; charset=utf-8");
    }),
    page("/assets/logos.css", function* (actions) {
      const makers = catalog()
        .listed(EVERYBODY)
        .map(({ slug }) => slug.split("/")[0] ?? "");
      const providers = [...catalog().adapters({ sandbox: true }).keys()];
      const services = actions.map(({ service }) => service);
      return readyAnswer(logosCss([...makers, ...providers, ...services]), "text/css; charset=utf-8");
    }),
    ...assetEndpoints().map((asset) => ({ ...asset, errors: envelopeErrors })),
    ...catalogEndpoints(parts),
  ];
}
