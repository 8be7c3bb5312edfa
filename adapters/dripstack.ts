// DripStack: newsletter posts sold one by one. A pay-per-call merchant; posts above one dollar are not bought.
import { action, defineAdapter, like, paidBy, z } from "#adapter";

const common = { category: "open-data", effect: "read" } as const;
const FREE = { ...common, price: { mode: "fixed", cents: 0 }, upstreamCents: 0 } as const;
const name = like(/^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$/, "must be a name as search answers it", 200);
const publication = name.describe(
  "The publication, as search answers it: publicationSlug, such as newsletter.doomberg.com.",
);
const listed = {
  publicationSlug: "newsletter.doomberg.com",
  slug: "the-tides",
  title: "The Tides",
  publishedAt: "2026-11-20T09:00:00Z",
  priceCents: 25,
};

export default defineAdapter({
  name: "DripStack",
  docs: "https://dripstack.xyz/SKILL.md",
  origin: "https://dripstack.xyz/api/v1",
  auth: paidBy("mpp", "x402"),
  rules: [{ status: 503, at: "/code", is: "summary_not_ready", means: "provider_overloaded" }],
  actions: {
    search: action(FREE, {
      asked: "search newsletters; what do substack authors write about; paid posts about a topic; essays of bloggers",
      description: "Searches posts of paid newsletters by words; each has its price and a snippet.",
      keywords: "newsletter; substack; paid article; investment research; what newsletters say; paid blog posts",
      params: z.strictObject({
        q: z.string().min(1).max(500).describe("What to look for, in words."),
        limit: z.int().min(1).max(30).default(10).describe("The most posts."),
      }),
      request: { method: "GET", path: "/search" },
      example: { params: { q: "tides" }, answer: { items: [{ ...listed, snippet: "The sea comes back." }] } },
    }),
    publications: action(FREE, {
      asked: "which newsletters are there; posts of a newsletter; substack writers; subscriptions",
      description: "Lists the newsletters whose posts can be bought.",
      keywords: "newsletters; substack publications",
      params: z.strictObject({}),
      request: { method: "GET", path: "/publications" },
      example: { params: {}, answer: { publications: [{ slug: "newsletter.doomberg.com", title: "Doomberg" }] } },
    }),
    publication: action(FREE, {
      asked: "which newsletters are there; posts of a newsletter; substack writers; subscriptions",
      description: "The posts of one newsletter, with their prices.",
      keywords: "newsletter posts; substack posts",
      params: z.strictObject({ publication, limit: z.int().min(1).max(100).default(20).describe("The most posts.") }),
      request: { method: "GET", path: "/publications/{publication}" },
      example: {
        params: { publication: "newsletter.doomberg.com" },
        answer: { slug: "newsletter.doomberg.com", title: "Doomberg", posts: [listed] },
      },
    }),
    post: action(common, {
      asked:
        "read a paid newsletter post; article behind a paywall on substack; what does the newsletter say; premium issue",
      description:
        "What one post of a paid newsletter says, as a summary. Costs what the post costs; one above $1 is refused.",
      keywords: "newsletter post; paid article; read a substack post",
      params: z.strictObject({ publication, post: name.describe("The post, as search answers it: slug.") }),
      price: { mode: "capped", cents: 100, paid: { exampleCents: 25 } },
      upstreamCents: 100,
      request: { method: "GET", path: "/publications/{publication}/{post}" },
      content: ["/synthesizedSummary"],
      example: {
        params: { publication: "newsletter.doomberg.com", post: "the-tides" },
        answer: {
          ...listed,
          synthesizedSummary: "The moon moves the sea.",
          paymentInfo: { amountUsd: "0.25", protocol: "mpp" },
        },
      },
    }),
  },
});
