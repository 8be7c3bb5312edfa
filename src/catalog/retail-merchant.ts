// Merchants of one kind: products that anyone can browse, purchases whose total is known only at checkout, and order status.
import { z } from "zod";
import { type ActionSpec, action } from "./action.ts";
import type { AnswerRule } from "./answer-rule.ts";
import { paidBy } from "./auth.ts";
import type { Params } from "./said.ts";
import type { AdapterSpec } from "./spec.ts";

export interface RetailMerchantSpec {
  readonly name: string;
  readonly docs: string;
  readonly origin: string;
  /** The goods, phrased to complete a sentence: `wine of its own estate`. */
  readonly goods: string;
  readonly keywords: string;
  /** How users ask for it and for their orders. */
  readonly asked: string;
  readonly askedOfOrder: string;
  /** The name of a product in its catalog, as words in a slug, for the examples. */
  readonly slug: string;
  /** How a purchase names a product, besides quantity and recipient: our params and the merchant's. */
  readonly item: {
    readonly params: z.ZodRawShape;
    check?(params: z.ZodObject): z.ZodObject;
    request(params: Params): Params;
    readonly example: { readonly [name: string]: string };
  };
  /** It sells to verified buyers only: until a human has verified, a purchase is answered with the URL for that. */
  readonly verifies?: true;
}

const common = { category: "commerce" } as const;
const CENTS_MAX = 200_000;
const EXAMPLE_CENTS = 12_500;
const QUANTITY_MAX = 24;
const free = { ...common, effect: "read", price: { mode: "fixed", cents: 0 }, upstreamCents: 0 } as const;
const UNVERIFIED: AnswerRule = { status: 403, at: "/verify_url", empty: false, means: "caller_unverified" };

const line = (charsMax: number) => z.string().min(1).max(charsMax).regex(/\S/, "must not be blank");
const shipping = z
  .strictObject({
    name: line(100),
    address_line1: line(100),
    address_line2: line(100).optional(),
    city: line(100),
    state: z.string().regex(/^[A-Z]{2}$/, "must be two capital letters"),
    zip: z.string().regex(/^\d{5}(-\d{4})?$/, "must be a ZIP code"),
    country: z.literal("US").default("US"),
  })
  .describe("Where it is sent: an address in the United States.");
const orderId = z.string().regex(/^[A-Za-z0-9][\w-]{0,127}$/, "must be an order_id as a purchase answers it");

const buyer = {
  quantity: z.int().min(1).max(QUANTITY_MAX).default(1).describe("How many."),
  email: z.email().max(254).describe("The buyer's email address."),
  shipping,
  gift_note: line(300).describe("A note that goes with it.").optional(),
};
const SENT_TO = {
  name: "Ada Lovelace",
  address_line1: "1 Example Street",
  city: "Napa",
  state: "CA",
  zip: "94558",
  country: "US",
};

function purchaseOf({ goods, keywords, asked, item, verifies }: RetailMerchantSpec): ActionSpec {
  const again = { order_id: orderId.describe("Of the answer that asked for a verification.").optional() };
  const params = z.strictObject({ ...item.params, ...buyer, ...(verifies === undefined ? {} : again) });
  const bought = { ...item.example, quantity: 1, email: "ada@example.com", shipping: SENT_TO };
  return action(common, {
    effect: "write",
    description: `Buys of ${goods} and has it sent within the United States. Costs what the order comes to; max_cost_cents says the most.`,
    keywords,
    asked,
    params: item.check?.(params) ?? params,
    price: { mode: "capped", cents: CENTS_MAX, needsMaxCost: true, paid: { exampleCents: EXAMPLE_CENTS } },
    upstreamCents: CENTS_MAX,
    request: {
      method: "POST",
      path: "/purchase",
      params: ({ quantity, email, shipping: to, gift_note, order_id, ...rest }: Params) => ({
        ...item.request(rest),
        quantity,
        email,
        shipping: to,
        gift_note,
        order_id,
      }),
    },
    ...(verifies === undefined ? {} : { rules: [UNVERIFIED] }),
    issues: [{ kind: "order", at: "/order_id" }],
    content: ["/order_id"],
    example: { params: bought, answer: { order_id: "ord_1", status: "paid", total_cents: EXAMPLE_CENTS } },
  });
}

export function retailMerchant(spec: RetailMerchantSpec): AdapterSpec {
  const { name, docs, origin, goods, keywords, asked, askedOfOrder, slug } = spec;
  const browsed = { ...free, keywords, asked };
  const thing = { slug, name: slug.replaceAll("-", " "), price_cents: EXAMPLE_CENTS };
  return {
    name,
    docs,
    origin,
    beliefs: { "*": "how the fields of an address are called, and what an order is answered as" },
    auth: paidBy("mpp", "x402"),
    actions: {
      catalog: action(browsed, {
        description: `What can be bought of ${goods}, with prices.`,
        params: z.strictObject({}),
        request: { method: "GET", path: "/catalog" },
        example: { params: {}, answer: { products: [thing] } },
      }),
      product: action(browsed, {
        description: `One thing of ${goods}, by its name in the catalog.`,
        params: z.strictObject({
          slug: z
            .string()
            .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must be a name as the catalog has it")
            .describe("Its name in the catalog."),
        }),
        request: { method: "GET", path: "/catalog/{slug}" },
        example: { params: { slug }, answer: thing },
      }),
      purchase: purchaseOf(spec),
      order: action(free, {
        description: "What has become of an order that was bought here.",
        keywords: "order status; delivery; tracking",
        asked: askedOfOrder,
        params: z.strictObject({ order_id: orderId.describe("Of the purchase's answer.") }),
        requires: [{ kind: "order", param: "order_id" }],
        request: { method: "GET", path: "/orders/{order_id}" },
        example: { params: { order_id: "ord_1" }, answer: { order_id: "ord_1", status: "paid" } },
      }),
    },
  };
}
