// Models of providers with batch APIs are plain data: stored with a batch, they come back as they were sold.
import { expect, it } from "vitest";
import { embeddingByUnits } from "../../src/catalog/sold-units.ts";
import { catalogThen, soldText } from "../../src/gateway/native-lines.ts";
import type { ModelCandidate, UnitCandidate } from "../../src/upstream/model-candidate.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const PLAY = { sandbox: true };

it("every model of a provider with a batch API comes back as it was sold", async () => {
  const catalog = await shippedCatalog();
  const sold = [...catalog.models(PLAY), ...catalog.embeddings(PLAY), ...catalog.unitModels(PLAY)];
  let checked = 0;
  for (const model of sold) {
    const byUnits = "tokenizer" in model && model.kind === "embeddings" ? embeddingByUnits(model, 0) : model;
    for (const [at, offer] of model.offers.entries()) {
      if (offer.adapter.spec.batches === undefined) continue;
      const candidate = { model: model.slug, offer: byUnits.offers[at] } as ModelCandidate | UnitCandidate;
      const then = catalogThen(soldText(candidate, catalog, PLAY), catalog, PLAY);
      const found = [then.model("any", PLAY), then.embedding("any", PLAY), then.unitModel("images", "any", PLAY)];
      // Undefined fields make no difference.
      expect(found.filter((one) => one !== null)).toEqual([{ ...model, offers: [offer] }]);
      checked += 1;
    }
  }
  expect(checked).toBeGreaterThan(20);
});

it("a model that was gone when it was to be stored, or whose provider is gone since, is looked up in today's catalog", async () => {
  const catalog = await shippedCatalog();
  expect(catalogThen("null", catalog, PLAY)).toBe(catalog);
  const lost = JSON.stringify({ kind: "chat", sale: {}, offers: [{ adapter: "nobody" }] });
  expect(catalogThen(lost, catalog, PLAY)).toBe(catalog);
});
