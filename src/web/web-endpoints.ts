// The public pages and documents: the catalog for people and programs, the guide for agents, the OpenAPI document.

import { BY_KEY, EVERYBODY, seenBy } from "../catalog/audience.ts";
import type { Audience } from "../catalog/catalog.ts";
import type { Endpoint } from "../endpoint.ts";
import type { CatalogAction } from "../run/action-catalog.ts";
import { oncePerDay } from "../run/once-per-day.ts";
import { answerWith, type ReadyAnswer, readyAnswer } from "../run/ready-answer.ts";
import { envelopeErrors } from "../wires/envelope/errors.ts";
import { type CatalogPageParts, catalogEndpoints } from "./catalog-endpoints.ts";
import { catalogJson } from "./catalog-json.ts";
import { llmsText } from "./llms-text.ts";
import { openApiDocument, paidAddresses } from "./openapi.ts";

export interface WebParts extends CatalogPageParts {
  /** Where payments without a key go; null: calls need a key. */
  readonly payTo: string | null;
}

function open(path: string) {
  return { method: "GET", path, auth: "none", bodyBytesMax: 0, errors: envelopeErrors } as const;
}

/** `GET /`, `/api/catalog`, `/catalog`, `/llms.txt`, `/openapi.json` and, where payments are taken, `/.well-known/x402`. Each is made once a day, and when the catalog changes. */
export function webEndpoints(parts: WebParts): readonly Endpoint[] {
  const { catalog, site, payTo } = parts;
  const publicUrl = () => site().publicUrl;

  function page(path: string, make: (actions: readonly CatalogAction[]) => ReadyAnswer): Endpoint {
    const ready = oncePerDay(parts, make);
    return { ...open(path), answer: ({ request }) => answerWith(ready(EVERYBODY), request) };
  }

  const asJson = oncePerDay(parts, (actions, { sandbox }: Audience) =>
    readyAnswer(JSON.stringify(catalogJson(actions, catalog(), { sandbox })), "application/json", BY_KEY),
  );
  const actionsOf = oncePerDay(parts, (actions) => actions);

  return [
    {
      ...open("/api/catalog"),
      answer({ request, caller }) {
        const { services = null, models = null } = caller?.allows ?? {};
        if (caller === null || (services === null && models === null))
          return answerWith(asJson(seenBy(caller)), request);
        return { status: 200, body: catalogJson(actionsOf(caller), catalog(), caller), headers: BY_KEY };
      },
    },
    { ...open("/"), answer: () => ({ status: 303, body: "", headers: { location: "/catalog" } }) },
    page("/openapi.json", (actions) =>
      readyAnswer(JSON.stringify(openApiDocument(actions, { publicUrl: publicUrl(), payTo })), "application/json"),
    ),
    // A gateway that takes no payments says so by having no such list.
    ...(payTo === null
      ? []
      : [
          page("/.well-known/x402", (actions) =>
            readyAnswer(JSON.stringify(paidAddresses(actions, publicUrl())), "application/json"),
          ),
        ]),
    page("/llms.txt", (actions) => readyAnswer(llmsText(actions, publicUrl()), "text/plain; charset=utf-8")),
    ...catalogEndpoints(parts),
  ];
}
