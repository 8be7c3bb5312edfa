// The Federal Register: rules, proposed rules, notices and orders of the U.S. government. No key.
import { action, defineAdapter, like, noAuth, z } from "#adapter";

const kind = z.enum(["RULE", "PRORULE", "NOTICE", "PRESDOCU"]);
const slug = like(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must be a slug such as environmental-protection-agency", 150);
const search = z
  .strictObject({
    term: z.string().min(1).max(500).describe("Words in the document; quotes keep words together.").optional(),
    type: z
      .union([kind, z.array(kind).min(1)])
      .describe("RULE, PRORULE (proposed), NOTICE or PRESDOCU (of the president, such as executive orders).")
      .optional(),
    agency: z
      .union([slug, z.array(slug).min(1).max(20)])
      .describe("The issuing agency's slug, such as environmental-protection-agency.")
      .optional(),
    date_gte: z.iso.date().describe("Published on this day or later, YYYY-MM-DD.").optional(),
    date_lte: z.iso.date().describe("Published on this day or earlier, YYYY-MM-DD.").optional(),
    per_page: z.int().min(1).max(1_000).default(20).describe("Documents in an answer."),
    page: z.int().min(1).max(10_000).default(1).describe("The page, from 1; page times per_page up to 10,000."),
    order: z.enum(["relevance", "newest", "oldest"]).default("relevance").describe("The order."),
    fields: z
      .array(like(/^[a-z_]{1,60}$/))
      .min(1)
      .max(50)
      .describe("Only these fields of each document, such as title and html_url.")
      .optional(),
  })
  .refine((p) => (p.date_gte ?? "") <= (p.date_lte ?? "~"), {
    path: ["date_lte"],
    error: "must not be before date_gte",
  })
  .refine((p) => p.page * p.per_page <= 10_000, {
    path: ["page"],
    error: "page times per_page must be 10,000 at most",
  });

const common = { category: "open-data", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const rule = {
  document_number: "2026-17211",
  title: "National Emission Standards",
  type: "Rule",
  publication_date: "2026-09-03",
  agencies: [{ name: "Environmental Protection Agency", slug: "environmental-protection-agency" }],
  html_url: "https://www.federalregister.gov/d/2026-17211",
};

export default defineAdapter({
  name: "Federal Register",
  docs: "https://www.federalregister.gov/developers/documentation/api/v1",
  origin: "https://www.federalregister.gov/api/v1",
  auth: noAuth,
  contact: "polite",
  // An HTML page, under any status, means an outage.
  rules: [{ at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_overloaded" }],
  actions: {
    search: action(common, {
      asked:
        "new federal rules; proposed regulations; executive orders of the president; notices of agencies; what did the epa, fda, faa, irs, ftc propose; presidential documents; rule changes; public comment deadline; government announcements; tariffs",
      description: "Searches U.S. federal rules, proposed rules, notices and presidential documents since 1994.",
      keywords:
        "regulation; executive orders; federal rules; government notice; rulemaking; emissions; EPA rules; FDA rules; new regulation; government agency; tariffs",
      params: search,
      request: {
        method: "GET",
        path: "/documents.json",
        names: {
          term: "conditions[term]",
          type: "conditions[type][]",
          agency: "conditions[agencies][]",
          date_gte: "conditions[publication_date][gte]",
          date_lte: "conditions[publication_date][lte]",
          fields: "fields[]",
        },
      },
      // If nothing was found, the answer has only the count.
      content: ["/results", "/count"],
      example: {
        params: { term: "emission standards", type: "RULE", agency: "environmental-protection-agency" },
        answer: { count: 1, total_pages: 1, next_page_url: null, results: [rule] },
      },
    }),
    document: action(common, {
      asked: "text of a federal notice by number; read one executive order; read a proposed rule",
      description:
        "One Federal Register document by its number, with the addresses of its text. Unknown ones are free.",
      keywords: "regulation text; rule by number; docket; executive order text",
      params: z.strictObject({
        document_number: like(
          /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/,
          "must be a document number such as 2026-17211",
          40,
        ).describe("The document's number, such as 2026-17211."),
      }),
      request: { method: "GET", path: "/documents/{document_number}.json" },
      content: ["/document_number"],
      example: {
        params: { document_number: "2026-17211" },
        answer: {
          ...rule,
          action: "Final rule.",
          effective_on: "2026-11-02",
          raw_text_url: "https://www.federalregister.gov/documents/full_text/text/2026/09/03/2026-17211.txt",
        },
      },
    }),
  },
});
