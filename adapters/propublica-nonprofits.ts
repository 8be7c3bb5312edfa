// ProPublica's Nonprofit Explorer: U.S. nonprofits and their tax returns. No key.
import { action, defineAdapter, like, needsOne, noAuth, withRules, z } from "#adapter";

const states = like(/^[A-Za-z]{2}$/, "must be two letters");
const search = withRules([needsOne("q", "state", "ntee", "c_code")], {
  q: z.string().min(1).max(300).describe("Words of the name, or the city. Quotes keep words together.").optional(),
  state: states.describe("Two letters of a U.S. state or territory, such as TX.").optional(),
  ntee: z
    .int()
    .min(1)
    .max(10)
    .describe(
      "Field of work: 1 arts, 2 education, 3 environment and animals, 4 health, 5 human services, 6 international, " +
        "7 public benefit, 8 religion, 9 mutual benefit, 10 unknown.",
    )
    .optional(),
  c_code: z.int().min(2).max(92).describe("The kind under section 501(c): 3 for charities.").optional(),
  page: z.int().min(0).max(10_000).default(0).describe("The page, from 0; it has 25."),
});

const ein = z
  .union([like(/^\d{2}-?\d{7}$/, "must be nine digits"), z.int().min(1).max(999_999_999)])
  .describe("The employer identification number, with or without its dash, such as 14-2007220.");

const common = {
  category: "records",
  effect: "read",
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 0,
  asked:
    "charities; nonprofits; foundations; ngo; donate; where does my donation go; budget of a charity; pay of a charity's director; form 990; tax exempt; 501c3; food banks, shelters, churches, museums; is this charity legit; who gives grants; ein",
} as const;
const facts = { ein: 142007220, name: "PRO PUBLICA INC", city: "NEW YORK", state: "NY", ntee_code: "A20" };

export default defineAdapter({
  name: "ProPublica Nonprofit Explorer",
  docs: "https://projects.propublica.org/nonprofits/api",
  origin: "https://projects.propublica.org/nonprofits/api/v2",
  auth: noAuth,
  contact: "polite",
  // It states no limit; two a second is polite.
  rate: { requests: 2, perMs: 1_000 },
  rules: [{ at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_overloaded" }],
  actions: {
    search: action(common, {
      description: "Finds U.S. nonprofit organizations (charities, foundations) by name, state or field of work.",
      keywords:
        "charity; charities; foundation; 501c3; NGO; tax-exempt; donate; aid organization; how a charity spends money",
      params: search,
      request: {
        method: "GET",
        path: "/search.json",
        names: { state: "state[id]", ntee: "ntee[id]", c_code: "c_code[id]" },
        params: (p) => ({ ...p, state: p.state?.toUpperCase() }),
      },
      content: ["/organizations"],
      rules: [
        {
          status: 404,
          means: "miss",
          data: { total_results: 0, num_pages: 0, cur_page: 0, per_page: 25, organizations: [] },
        },
      ],
      example: {
        params: { q: "propublica", state: "NY" },
        answer: {
          total_results: 1,
          num_pages: 1,
          cur_page: 0,
          per_page: 25,
          organizations: [{ ...facts, strein: "14-2007220", have_filings: true, score: 210.5 }],
        },
      },
    }),
    organization: action(common, {
      description: "One U.S. nonprofit by its EIN: facts and tax returns (Form 990) by year. An unknown EIN is free.",
      keywords: "tax return; form 990; charity finances; executive pay; revenue of a charity",
      params: z.strictObject({ ein }),
      request: {
        method: "GET",
        path: "/organizations/{ein}.json",
        params: (p) => ({ ein: String(p.ein).replace("-", "") }),
      },
      content: ["/organization"],
      example: {
        params: { ein: "14-2007220" },
        answer: {
          organization: { ...facts, subsection_code: 3, ruling_date: "2008-02-01", revenue_amount: 45_120_000 },
          filings_with_data: [{ tax_prd_yr: 2024, formtype: 0, totrevenue: 45_120_000, totassetsend: 60_300_000 }],
          filings_without_data: [],
          api_version: 2,
        },
      },
    }),
  },
});
