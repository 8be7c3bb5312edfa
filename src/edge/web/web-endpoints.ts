// The public pages and documents: the catalog for people and programs, the guide for agents, the OpenAPI document.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf } from "../../actions/run/descriptor.ts";
import { keptToday, oncePerDay } from "../../actions/run/once-per-day.ts";
import { answerWith, type ReadyAnswer, readyAnswer } from "../../actions/run/ready-answer.ts";
import { BY_KEY, EVERYBODY, seenBy } from "../../catalog/catalog.ts";
import type { Endpoint } from "../../core/endpoint.ts";
import { eachOf, inSlices, jsonOf, type Steps } from "../../core/slices.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";
import { type CatalogPageParts, catalogEndpoints } from "./catalog-endpoints.ts";
import { catalogJson } from "./catalog-json.ts";
import { assetEndpoints } from "./kit/assets.ts";
import { llmsText } from "./llms-text.ts";
import { logosCss } from "./logos.ts";
import { openApiDocument, paidAddresses } from "./openapi.ts";

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
      const document = yield* openApiDocument(actions, { publicUrl: publicUrl(), payTo });
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
