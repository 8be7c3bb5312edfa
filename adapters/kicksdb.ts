// KicksDB: sneakers and streetwear on StockX and GOAT: products, prices by size, sales. Our cost is its public pay-per-call price; a plan
// may differ.
import { action, defineAdapter, exactlyOne, keyHeader, like, optional, withRules, z } from "#adapter";

const words = z.string().min(1).max(200);
const market = like(/^[A-Z]{2}$/, "must be two letters such as US")
  .default("US")
  .describe("Country of the market, two letters");
const id = words.describe("Id or slug of the product");
const shop = z.enum(["stockx", "goat"]).default("stockx").describe("Where it is traded");
const display = optional(
  z.array(z.enum(["variants", "traits", "identifiers", "prices", "statistics"])).min(1),
  "What more is told of each product; some need a paid plan",
);
const page = optional(z.int().min(1), "Which page");
const limit = z.int().min(1).max(100).default(20).describe("The most rows");

/** The vendor has a separate switch for each field to display. */
function shown<P extends { readonly display?: readonly string[] | undefined }>({ display: parts = [], ...rest }: P) {
  return { ...rest, ...Object.fromEntries(parts.map((part) => [`display[${part}]`, true])) };
}

const common = {
  category: "market",
  effect: "read",
  price: { mode: "fixed", cents: 0.05 },
  upstreamCents: 0.05,
  mayCostMore: "it is its public price for paying call by call; a plan may differ",
  content: ["/data"],
} as const;
const $schema = "https://api.kicks.dev/schemas/Answer.json";
const product = {
  id: "5e6a1e57-1c7d-435a-82bd-5666a13560fe",
  title: "Nike Dunk Low Retro White Black Panda",
  brand: "Nike",
  sku: "DD1391-100",
  slug: "nike-dunk-low-retro-white-black-2021",
  min_price: 71,
  max_price: 310,
  avg_price: 104.5,
};

export default defineAdapter({
  name: "KicksDB",
  docs: "https://docs.kicks.dev",
  beliefs: { "*": "what a call costs us by plan" },
  origin: "https://api.kicks.dev/v3",
  auth: keyHeader("authorization"),
  actions: {
    search: action(common, {
      asked:
        "sneakers; trainers; kicks; jordans; shoes; nike, adidas; stockx, goat; streetwear; hype drops; find a pair; resell",
      description: "Finds sneakers and streetwear on stockx or GOAT, with prices and rank.",
      keywords:
        "sneakers; shoes; resale price; stockx; GOAT; Jordan; Yeezy; trainers; streetwear; limited edition shoes",
      params: z.strictObject({
        query: words.describe("What to look for"),
        shop,
        filters: optional(words, "The vendor's filter, such as brand = 'Nike'"),
        sort: optional(z.enum(["release_date", "rank", "release_date:asc", "rank:asc"]), "The order"),
        market,
        display,
        page,
        limit,
      }),
      request: { method: "GET", path: "/{shop}/products", params: shown },
      example: { params: { query: "dunk low panda" }, answer: { $schema, data: [product], meta: { total: 1 } } },
    }),
    product: action(common, {
      asked:
        "price of a sneaker by size; what are my jordans worth; resale value of shoes; nike, adidas, dunk, air max, new balance; streetwear; how much for this pair",
      description: "One sneaker or piece of streetwear by its id or slug: facts, prices by size, statistics.",
      keywords: "sneaker; resale value of a shoe; lowest ask",
      params: z.strictObject({ id, shop, market, display }),
      request: { method: "GET", path: "/{shop}/products/{id}", params: shown },
      example: { params: { id: product.slug, display: ["prices"] }, answer: { $schema, data: product, meta: {} } },
    }),
    sales: action(common, {
      asked: "what did the shoe sell for; past sales of a sneaker; price history of a pair",
      description: "Past sales of one sneaker, one by one or by the day.",
      keywords: "sneaker sales; price history of a shoe; last sale",
      params: z.strictObject({
        id,
        shop,
        daily: z.boolean().default(false).describe("Sums of each day"),
        variant_id: optional(words, "Id of a size"),
        market,
        page,
        limit,
      }),
      request: {
        method: "GET",
        path: "/{shop}/products/{id}/{kind...}",
        params: ({ daily, ...p }) => ({ ...p, kind: daily ? "sales/daily" : "sales" }),
      },
      example: {
        params: { id: product.slug },
        answer: { $schema, data: [{ amount: 98, created_at: "2026-11-20T10:11:12Z", variant_id: "a" }], meta: {} },
      },
    }),
    prices: action(common, {
      asked:
        "price of a sneaker by size; what are my jordans worth; resale value of shoes; nike, adidas, dunk, air max, new balance; streetwear; how much for this pair",
      description: "Prices of up to 50 sneakers at once on stockx, by SKU or id.",
      keywords: "sneaker prices; price by size; bulk price; what shoes sell for",
      params: withRules([exactlyOne("skus", "product_ids")], {
        skus: optional(z.array(words).min(1).max(50), "SKUs"),
        product_ids: optional(z.array(words).min(1).max(50), "Ids of products"),
        show_sizes: optional(z.boolean(), "A price for each size"),
        market,
      }),
      request: { method: "POST", path: "/stockx/prices" },
      example: {
        params: { skus: ["DD1391-100"] },
        answer: { $schema, data: [{ sku: "DD1391-100", price: 71 }], meta: {} },
      },
    }),
    match: action(common, {
      asked: "same sneaker in other shops",
      description: "The same sneaker in every shop, by its slug, SKU or id.",
      keywords: "compare sneaker prices; same product in other shops",
      params: z.strictObject({
        id: words.describe("Slug, SKU or id"),
        market,
        similarity: optional(z.number().min(0).max(1), "How alike it has to be"),
      }),
      request: { method: "GET", path: "/unified/products/{id}" },
      example: { params: { id: "DD1391-100" }, answer: { $schema, data: [product], meta: {} } },
    }),
  },
});
