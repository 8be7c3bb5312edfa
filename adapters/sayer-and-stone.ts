// Sayer & Stone: jewelry, shipped within the United States. A merchant that is paid per purchase.
import { defineAdapter, exactlyOne, goesWith, retailMerchant, z } from "#adapter";

const name = z.string().min(1).max(128).regex(/\S/, "must not be blank");

export default defineAdapter(
  retailMerchant({
    name: "Sayer & Stone",
    docs: "https://agents.sayerandstone.com/llms.txt",
    origin: "https://agents.sayerandstone.com",
    goods: "the jewelry of Sayer & Stone",
    keywords: "buy jewelry; ring; necklace; jewelry gift",
    asked:
      "buy jewelry; ring, necklace, bracelet; gift for her; engagement; gold, silver, diamond; present for a birthday, mother's day; jeweller; pendant; something shiny",
    askedOfOrder: "where is my jewelry; has the necklace been shipped",
    slug: "signet-ring",
    item: {
      params: {
        sku: name.describe("The very piece, as the catalog lists it.").optional(),
        product_slug: name.describe("A piece by its name in the catalog, with options.").optional(),
        options: z.record(z.string().max(64), z.string().max(128)).describe("What the piece is to be like.").optional(),
      },
      check: (params) => params.check(exactlyOne("sku", "product_slug"), goesWith("options", "product_slug")),
      request: (piece) => piece,
      example: { sku: "SR-14K-7" },
    },
  }),
);
