// GovLaws: the current text of U.S. federal regulations. A pay-per-call merchant; its listed price is our cap.
import { action, defineAdapter, like, paidBy, z } from "#adapter";

const common = { category: "records", effect: "read" } as const;
const source = { source_system: "ecfr", currency: { reflects_current_text: true, as_of: "2026-11-20" } };

export default defineAdapter({
  name: "GovLaws",
  docs: "https://govlaws.ai/mpp",
  origin: "https://govlaws.ai/api/mpp",
  auth: paidBy("mpp"),
  actions: {
    search: action(common, {
      asked:
        "is it legal; which law applies; rules for businesses; what am I allowed to do; regulation of food labels, drones, noise, privacy; osha, fda, hipaa, epa requirements; legal limit; permitted; compliance with federal law; banned",
      description:
        "Searches U.S. federal regulations and statutes by meaning; each hit has citation, snippet and source.",
      keywords:
        "CFR; regulation; law; compliance rule; federal code; is it legal; what the law says; legal requirement",
      params: z.strictObject({
        query: z.string().min(1).max(1_000).describe("What to look for, in words."),
        agency: z.string().min(1).max(200).describe("The agency's name, which is added to the words.").optional(),
        corpus: z
          .enum(["regulations", "statutes", "all"])
          .default("regulations")
          .describe("Regulations (CFR), statutes (U.S. Code), or both."),
        limit: z.int().min(1).max(20).default(5).describe("The most hits."),
      }),
      price: { mode: "capped", cents: 3, paid: { exampleCents: 3 } },
      upstreamCents: 3,
      request: {
        method: "POST",
        path: "/search",
        params: ({ agency, ...p }) => (agency === undefined ? p : { ...p, query: `${p.query} ${agency}` }),
      },
      example: {
        params: { query: "ability to repay a mortgage", agency: "CFPB" },
        answer: {
          query: "ability to repay a mortgage CFPB",
          corpus: "regulations",
          total: 1,
          results: [{ citation: "12 CFR 1026.43", title: "Minimum standards for certain transactions", score: 0.83 }],
          provenance: source,
        },
      },
    }),
    resolve: action(common, {
      asked:
        "text of a regulation by number; what does a section say; cfr, usc, code, title, part, statute; requirements in the law",
      description: "The current text of a regulation by its citation, with source and changes. An unknown one is free.",
      keywords: "text of a CFR section; citation lookup; regulation text; what a section of the law says",
      params: z.strictObject({
        citation: like(/^\d{1,2} ?[A-Za-z.]{3,8} ?(§ ?)?[\w.() -]+$/, "must be as 12 CFR 1026.43", 100).describe(
          "The citation, such as 12 CFR 1026.43.",
        ),
      }),
      price: { mode: "capped", cents: 5, paid: { exampleCents: 5 } },
      upstreamCents: 5,
      request: { method: "GET", path: "/resolve" },
      example: {
        params: { citation: "12 CFR 1026.43" },
        answer: {
          citation: "12 CFR 1026.43",
          title: "Minimum standards for transactions secured by a dwelling",
          agency: "Consumer Financial Protection Bureau",
          text: "(a) Scope. ...",
          freshness: { up_to_date_as_of: "2026-11-20", status: "current" },
          provenance: source,
        },
      },
    }),
  },
});
