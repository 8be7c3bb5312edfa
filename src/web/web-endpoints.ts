// The public pages and documents: the catalog for people and programs, the guide for agents, the OpenAPI document.

import type { Catalog } from "../catalog/catalog.ts";
import type { Endpoint } from "../endpoint.ts";
import type { CatalogAction } from "../run/action-catalog.ts";
import { EVERYBODY } from "../run/find-endpoints.ts";
import { type DailyCatalog, oncePerDay } from "../run/once-per-day.ts";
import { answerWith, type ReadyAnswer, readyAnswer } from "../run/ready-answer.ts";
import { envelopeErrors } from "../wires/envelope/errors.ts";
import { catalogJson } from "./catalog-json.ts";
import { catalogPage, PAGE_HEADERS } from "./catalog-page.ts";
import { llmsText } from "./llms-text.ts";
import { openApiDocument } from "./openapi.ts";

export interface WebParts extends DailyCatalog {
  readonly catalog: () => Catalog;
  /** Where we are reached, without a slash at the end; asked when the first answer is made. */
  readonly publicUrl: () => string;
  /** Where payments without a key go; null: calls need a key. */
  readonly payTo: string | null;
}

/** `GET /api/catalog`, `/catalog`, `/llms.txt` and `/openapi.json`. Each is made once a day, and when the catalog changes. */
export function webEndpoints(parts: WebParts): readonly Endpoint[] {
  const { catalog, publicUrl, payTo } = parts;

  function page(path: string, make: (actions: readonly CatalogAction[]) => ReadyAnswer): Endpoint {
    const ready = oncePerDay(parts, make);
    return {
      method: "GET",
      path,
      auth: "none",
      bodyBytesMax: 0,
      errors: envelopeErrors,
      answer: ({ request }) => answerWith(ready(EVERYBODY), request),
    };
  }

  return [
    page("/api/catalog", (actions) =>
      readyAnswer(JSON.stringify(catalogJson(actions, catalog(), EVERYBODY)), "application/json"),
    ),
    page("/openapi.json", (actions) =>
      readyAnswer(JSON.stringify(openApiDocument(actions, { publicUrl: publicUrl(), payTo })), "application/json"),
    ),
    page("/llms.txt", (actions) => readyAnswer(llmsText(actions, publicUrl()), "text/plain; charset=utf-8")),
    page("/catalog", (actions) =>
      readyAnswer(
        catalogPage({ actions, catalog: catalog(), publicUrl: publicUrl() }),
        "text/html; charset=utf-8",
        PAGE_HEADERS,
      ),
    ),
  ];
}
