// Martin Estate: wine from a Napa winery, for adults in the United States. A merchant that is paid per purchase.
import { defineAdapter, like, retailMerchant } from "#adapter";

export default defineAdapter(
  retailMerchant({
    name: "Martin Estate Winery",
    docs: "https://agents.martinestate.com/llms.txt",
    origin: "https://agents.martinestate.com",
    goods: "the wines of Martin Estate",
    keywords: "buy wine; send a bottle; wine gift; cabernet; present for a host",
    asked:
      "buy wine; a bottle of red, white, chardonnay; gift of wine; winery; something to drink; vineyard; order wine for a dinner; cellar",
    askedOfOrder: "where is my wine; has the wine been shipped",
    slug: "cabernet-sauvignon-2021",
    item: {
      params: {
        product: like(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must be a name as the catalog has it").describe(
          "The wine, by its name in the catalog.",
        ),
      },
      request: ({ product }) => ({ product_id: product }),
      example: { product: "cabernet-sauvignon-2021" },
    },
    verifies: true,
  }),
);
