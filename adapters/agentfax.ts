// agentfax: sends a document as a fax. The merchant charges per page, at most for `pages` pages.
import { action, defineAdapter, like, paidBy, z } from "#adapter";

const CENTS_A_PAGE = 20;
const PAGES_MAX = 10;

export default defineAdapter({
  name: "agentfax",
  docs: "https://agentfax.val.run/llms.txt",
  beliefs: { send: "the names of its params, and what it answers" },
  origin: "https://agentfax.val.run/v1",
  auth: paidBy("mpp"),
  actions: {
    send: action({
      asked:
        "fax a document; send a fax; fax these papers to an office; fax number of a clinic, a pharmacy, a bank, the court; they only take fax; submit a form by fax",
      category: "commerce",
      effect: "write",
      description: "Sends a document as a fax to any phone number, at 20 cents a page; at most 10 pages.",
      keywords: "fax; send a fax; fax a PDF; office that only takes fax; send papers",
      params: z.strictObject({
        to: like(/^\+[1-9]\d{6,14}$/, "must be a number as +14155550123").describe(
          "The fax number with its country, as +14155550123.",
        ),
        file_url: z
          .url({ protocol: /^https?$/ })
          .max(2_000)
          .describe("Where the document is: a public address of a PDF."),
        pages: z
          .int()
          .min(1)
          .max(PAGES_MAX)
          .default(PAGES_MAX)
          .describe(
            "The most pages to pay for; if the merchant asks for more, nothing is sent and nothing is charged.",
          ),
      }),
      price: {
        mode: "capped",
        cents: CENTS_A_PAGE * PAGES_MAX,
        minCents: CENTS_A_PAGE,
        unit: "page",
        paid: { exampleCents: CENTS_A_PAGE * 2 },
        quoteCents: ({ pages }) => CENTS_A_PAGE * pages,
      },
      upstreamCents: ({ pages }) => CENTS_A_PAGE * pages,
      request: { method: "POST", path: "/fax", names: { pages: null } },
      timeoutMs: 120_000,
      example: {
        params: { to: "+14155550123", file_url: "https://example.com/two-pages.pdf", pages: 2 },
        answer: { id: "fax_1", status: "queued", pages: 2 },
      },
    }),
  },
});
