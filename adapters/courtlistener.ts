// CourtListener: dockets of U.S. federal cases and court opinions. A token is optional and raises the limits.
import { action, defineAdapter, header, like, needsOne, withRules, z } from "#adapter";

const words = z.string().min(1).max(1_000);
const day = z.iso.date();
const criteria = {
  q: words.describe("Words to search for; quotes, AND, OR, NOT and field:value are understood.").optional(),
  case_name: words.describe("Words of the case's name, such as Foo v. Bar.").optional(),
  docket_number: words.describe("The docket number, such as 1:24-cv-01234.").optional(),
  court: like(/^[a-z0-9]{2,20}( [a-z0-9]{2,20}){0,49}$/, "must be court ids separated by spaces")
    .describe("The id of a court, such as scotus or cand; several are separated by spaces.")
    .optional(),
  filed_after: day.describe("Filed on this day or later, YYYY-MM-DD.").optional(),
  filed_before: day.describe("Filed on this day or earlier, YYYY-MM-DD.").optional(),
};
// The next page's URL contains it percent-encoded; both forms are accepted.
const cursor = z
  .string()
  .max(500)
  .regex(/^[\w=+/-]+(%3[Dd])*$/)
  .describe("The cursor of the `next` address in the answer before, for its next page.")
  .optional();
const decoded = (given: string | undefined) => given?.replace(/%3d/gi, "=");
const backwards = { path: ["filed_before"], error: "must not be before filed_after" };
const ordered = (p: { filed_after?: string | undefined; filed_before?: string | undefined }) =>
  (p.filed_after ?? "") <= (p.filed_before ?? "~");

const dockets = withRules([needsOne("q", "case_name", "docket_number", "court", "party_name", "nature_of_suit")], {
  ...criteria,
  party_name: words.describe("The name of a party, such as a company that is sued.").optional(),
  nature_of_suit: words.describe("Words of the nature of suit, such as patent.").optional(),
  available_only: z.boolean().describe("True: only cases with documents that can be read here.").optional(),
  order_by: z.enum(["score desc", "dateFiled desc", "dateFiled asc"]).default("score desc").describe("The order."),
  cursor,
}).refine(ordered, backwards);

const statuses = ["Published", "Unpublished", "Errata", "Separate", "In-chambers", "Relating-to", "Unknown"] as const;
const opinions = withRules([needsOne("q", "case_name", "docket_number", "court")], {
  ...criteria,
  status: z.array(z.enum(statuses)).min(1).describe("Kinds of opinions. Default: published ones.").optional(),
  order_by: z
    .enum(["score desc", "dateFiled desc", "dateFiled asc", "citeCount desc"])
    .default("score desc")
    .describe("The order; citeCount desc puts the most cited first."),
  cursor,
}).refine(ordered, backwards);

const common = { category: "records", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const aCase = { caseName: "Foo v. Foo", court_id: "hawapp", dateFiled: "2003-01-10", docketNumber: "24158" };
const opinion = {
  absolute_url: "/opinion/6613686/foo-v-foo/",
  cluster_id: 6613686,
  citation: ["101 Haw. 235"],
  court: "Hawaii Intermediate Court of Appeals",
  opinions: [
    { id: 6489975, snippet: "Affirmed in part, reversed in part, vacated and remanded", type: "lead-opinion" },
  ],
};

export default defineAdapter({
  name: "CourtListener",
  docs: "https://www.courtlistener.com/help/api/rest/search/",
  origin: "https://www.courtlistener.com/api/rest/v4",
  auth: header("authorization", "Token "),
  keyEnv: ["COURTLISTENER_API_TOKEN"],
  keyOptional: true,
  contact: "polite",
  rate: { requests: 5, perMs: 60_000 },
  // Its maintenance page.
  rules: [{ at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_overloaded" }],
  actions: {
    dockets: action(common, {
      asked:
        "is there a case against a company; lawsuits; who is suing; court docket; case number; pending trial; bankruptcy filings; status of a case; party, plaintiff, defendant; sued; legal proceedings; complaint filed in federal court; litigation",
      description:
        "Searches dockets of U.S. federal court cases by words, party, number or court, with their documents.",
      keywords:
        "lawsuit; sued; litigation; PACER; RECAP; legal case; bankruptcy; was a company sued; pending lawsuits; class action; legal trouble; lawsuit against a company",
      params: dockets,
      request: {
        method: "GET",
        path: "/search/",
        fixed: { type: "r" },
        params: ({ available_only, ...p }) => ({
          ...p,
          cursor: decoded(p.cursor),
          available_only: available_only === true ? "on" : undefined,
        }),
      },
      content: ["/results"],
      example: {
        params: { party_name: "Foo Industries", order_by: "dateFiled desc" },
        answer: {
          count: 1,
          next: null,
          previous: null,
          results: [{ ...aCase, docket_id: 63544014, recap_documents: [] }],
        },
      },
    }),
    opinions: action(common, {
      asked:
        "what did the court decide; rulings; precedents; case law; supreme court, circuit, judges on a question; judgments about fair use, privacy, contracts; legal opinion; verdict",
      description: "Searches opinions of U.S. courts (case law), with citations and snippets of their text.",
      keywords:
        "court decision; ruling; precedent; judgment; fair use; supreme court; how did the court decide; case law; appeal",
      params: opinions,
      request: {
        method: "GET",
        path: "/search/",
        fixed: { type: "o" },
        params: ({ status = [], ...p }) => ({
          ...p,
          cursor: decoded(p.cursor),
          ...Object.fromEntries(status.map((one) => [`stat_${one}`, "on"])),
        }),
      },
      content: ["/results"],
      example: {
        params: { q: '"fair use"', court: "scotus", order_by: "citeCount desc" },
        answer: { count: 1, next: null, results: [{ ...aCase, ...opinion }] },
      },
    }),
  },
});
