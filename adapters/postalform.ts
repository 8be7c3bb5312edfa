// PostalForm: letters and postcards, printed and mailed. A merchant that is paid per order, after a free quote.
import { action, defineAdapter, exactlyOne, like, paidBy, withRules, z } from "#adapter";

const common = { category: "commerce" } as const;
const CENTS_MAX = 20_000;
const FREE = { price: { mode: "fixed", cents: 0 }, upstreamCents: 0 } as const;
const PDF_CHARACTERS_MAX = 3_000_000;
const COUNTRIES = ["US", "CA", "AT", "BE", "CH", "DE", "ES", "FR", "GB", "IN", "LU", "NL"] as const;
const line = (max: number) => z.string().min(1).max(max).regex(/\S/, "must not be blank");

const address = z.strictObject({
  line1: line(100),
  line2: line(100).optional(),
  city: line(100),
  state: line(50).optional(),
  zip: line(20),
  countryCode: z.enum(COUNTRIES).default("US"),
});
const order = withRules([exactlyOne("pdf", "letter")], {
  request_id: z
    .uuid()
    .describe("Yours, made once for each order: the same again is the same order, never a second one."),
  buyer_name: line(100).describe("Who buys."),
  buyer_email: z.email().max(254).describe("The buyer's email address."),
  sender_name: line(100),
  sender_address: address.describe("Whom it comes from."),
  recipient_name: line(100),
  recipient_address: address.describe("Where it is mailed to."),
  pdf: like(
    /^(?:https:\/\/|data:application\/pdf;base64,)/,
    "must be an https address or data:application/pdf;base64,",
    PDF_CHARACTERS_MAX,
  )
    .describe("The document: an https address that the merchant allows, or a data URL of a PDF.")
    .optional(),
  letter: line(20_000).describe("The letter as text, instead of a document.").optional(),
  mail_class: z.enum(["standard", "priority", "express"]).default("standard"),
  mailpiece_type: z.enum(["letter", "postcard"]).default("letter"),
  postcard_size: z.enum(["4x6", "6x9", "11x6"]).optional(),
  double_sided: z.boolean().default(true),
  color: z.boolean().default(false),
  certified: z.boolean().default(false).describe("Sent so that its way is followed."),
});

/** Both addresses, with the fields renamed to the merchant's. */
const params = ({ sender_address, recipient_address, ...rest }: Readonly<Record<string, unknown>>) => ({
  ...rest,
  sender_address_type: "Manual",
  sender_address_manual: sender_address,
  recipient_address_type: "Manual",
  recipient_address_manual: recipient_address,
});
const REQUEST = "6f1e1d34-5d0c-4d52-9c55-0d5a3b1f7c10";
const TO = { line1: "1 Example Street", city: "Napa", state: "CA", zip: "94558", countryCode: "US" };
const bought = {
  request_id: REQUEST,
  buyer_name: "Ada Lovelace",
  buyer_email: "ada@example.com",
  sender_name: "Ada Lovelace",
  sender_address: TO,
  recipient_name: "Charles Babbage",
  recipient_address: TO,
  letter: "Dear Charles, it works.",
} as const;

export default defineAdapter({
  name: "PostalForm",
  docs: "https://postalform.com/agents",
  origin: "https://postalform.com/api/machine/mpp",
  auth: paidBy("mpp"),
  actions: {
    validate: action(common, {
      ...FREE,
      asked: "what does a letter cost; check an address for a letter; postage",
      effect: "read",
      description:
        "Checks an order of printed mail and says what it costs, for nothing. Takes the same params as order.",
      keywords: "mail a letter; price of a letter; print and mail",
      params: order,
      request: { method: "POST", path: "/orders/validate", params },
      example: {
        params: bought,
        answer: { request_id: REQUEST, order_id: "ord_1", status: "quoted", quote: { total_cents: 340 } },
      },
    }),
    order: action(common, {
      asked:
        "send a letter by post; print and mail; paper mail; registered letter; envelope and stamp; snail mail; write to my landlord, bank, tax office on paper; physical mail; birthday card; invitation; cancel a contract in writing",
      effect: "write",
      description:
        "Prints and mails a letter, a document or a postcard. Costs what validate quotes; max_cost_cents says the most. What is printed cannot be recalled.",
      keywords:
        "mail a letter; send a postcard; print and mail; certified mail; send a paper letter; send a card by post; real mail",
      params: order,
      price: { mode: "capped", cents: CENTS_MAX, needsMaxCost: true, paid: { exampleCents: 340 } },
      upstreamCents: CENTS_MAX,
      request: { method: "POST", path: "/orders", params },
      issues: [{ kind: "order", at: "/order_id" }],
      content: ["/order_id"],
      timeoutMs: 120_000,
      example: { params: bought, answer: { order_id: "ord_1", request_id: REQUEST, payment_status: "paid" } },
    }),
    status: action(common, {
      ...FREE,
      asked: "has my letter been sent; where is my postcard",
      effect: "read",
      description: "What has become of an order of printed mail that was bought here.",
      keywords: "order status; has my letter been mailed; tracking; has my letter arrived; where is my letter",
      params: z.strictObject({
        order_id: like(/^[A-Za-z0-9][\w-]{0,127}$/, "must be an order_id as order answers it").describe(
          "Of order's answer.",
        ),
      }),
      requires: [{ kind: "order", param: "order_id" }],
      request: { method: "GET", path: "/orders/{order_id}" },
      example: {
        params: { order_id: "ord_1" },
        answer: { order_id: "ord_1", payment_status: "paid", status: "printed", is_paid: true },
      },
    }),
  },
});
