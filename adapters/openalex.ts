// OpenAlex: scholarly works and their authors. A free key is optional and raises the daily limit.
import { action, defineAdapter, keyInQuery, like, notBoth, z } from "#adapter";

const listing = {
  search: z.string().min(1).max(1_000).describe("Words to search for.").optional(),
  filter: z
    .string()
    .min(3)
    .max(4_000)
    .regex(/^[\w.-]+:.+$/, "must be field:value, several separated by commas")
    .describe("Conditions as field:value, separated by commas, such as publication_year:2024,type:article.")
    .optional(),
  sort: like(/^[\w.]{1,60}(:(asc|desc))?(,[\w.]{1,60}(:(asc|desc))?){0,4}$/, "must be field or field:desc")
    .describe("The order, such as cited_by_count:desc.")
    .optional(),
  select: like(/^\w+(,\w+)*$/, "must be fields separated by commas", 500)
    .describe("Only these fields of each result, such as id,title,doi.")
    .optional(),
  per_page: z.int().min(1).max(50).default(25).describe("Results in an answer."),
  page: z.int().min(1).max(10_000).describe("The page, from 1; page times per_page up to 10,000.").optional(),
  cursor: z
    .string()
    .max(1_000)
    .regex(/^(\*|[\w=+/-]+)$/)
    .describe("Instead of page, to read any number: * first, then meta.next_cursor of the answer before. Needs a key.")
    .optional(),
};
interface Listing {
  readonly page?: number | undefined;
  readonly per_page: number;
  readonly cursor?: string | undefined;
}
const within = (p: Listing) => (p.page ?? 1) * p.per_page <= 10_000;
const tooFar = { path: ["page"], error: "page times per_page must be 10,000 at most; use cursor" };
const lists = z.strictObject(listing).refine(within, tooFar).check(notBoth("cursor", "page"));

// No path segment of a DOI is `.` or `..`, so its slashes cannot lead elsewhere.
const WORK = /^(https?:\/\/openalex\.org\/)?[Ww]\d{1,12}$|^pmid:\d{1,9}$|^pmcid:(PMC)?\d{1,9}$|^mag:\d{1,12}$/;
const DOI =
  /^(doi:|https?:\/\/(dx\.)?doi\.org\/)?(10\.\d{4,9}\/(?!\.{1,2}(\/|$))(?!.*\/\.{1,2}(\/|$))[\x21-\x7e]{1,300})$/;
const workId = z
  .string()
  .refine((id) => WORK.test(id) || DOI.test(id), "must be as W2741809807, 10.7717/peerj.4375 or pmid:29456894")
  .describe("The work: an OpenAlex id such as W2741809807, a DOI, pmid:, pmcid: or mag: with a number.");

// The cost of a search in cents; a list without a search costs a tenth of it, after the daily free quota.
const SEARCH_CENTS = 0.1;
const common = { category: "open-data", effect: "read", price: { mode: "fixed", cents: 1 } } as const;
const work = { id: "https://openalex.org/W2741809807", doi: "https://doi.org/10.7717/peerj.4375", title: "OA" };
const listed = {
  publication_year: 2018,
  publication_date: "2018-02-13",
  cited_by_count: 1_201,
  abstract_inverted_index: { Open: [0], access: [1, 4], is: [2], free: [3] },
};
const meta = { count: 1, db_response_time_ms: 12, page: 1, per_page: 25 };

export default defineAdapter({
  name: "OpenAlex",
  docs: "https://developers.openalex.org/",
  origin: "https://api.openalex.org",
  auth: keyInQuery("api_key"),
  keyOptional: true,
  contact: "polite",
  // Its alternative status for too many requests.
  rules: [{ status: 403, means: "provider_rate_limited" }],
  actions: {
    works: action(common, {
      asked:
        "scientific papers; studies about health; research on a topic; academic literature; scholarly articles; journal publications; most cited; meta analysis; what does science say; evidence that it works; books and theses; preprints; review of literature",
      description: "Searches scholarly works (papers, books, data sets) by words and conditions, citations included.",
      keywords:
        "academic papers; research; literature; who cites a paper; journal articles; science; scientific studies; papers that cite; peer reviewed; what science says",
      params: lists,
      upstreamCents: SEARCH_CENTS,
      request: { method: "GET", path: "/works" },
      content: ["/results"],
      example: {
        params: { search: "graph neural networks", filter: "publication_year:2024,type:article" },
        answer: { meta, results: [{ ...work, ...listed }], group_by: [] },
      },
    }),
    work: action(common, {
      asked: "a paper by doi; details of one publication; pubmed id; abstract of an article; who cites a paper",
      description:
        "One scholarly work by its DOI, OpenAlex or PubMed id, with authors and citations. Unknown ones are free.",
      keywords: "DOI lookup; paper metadata; abstract; references; who cites this paper",
      params: z.strictObject({ id: workId }),
      upstreamCents: 0,
      request: {
        method: "GET",
        path: "/works/{id}",
        params: ({ id }) => {
          const doi = DOI.exec(id)?.[3];
          return { id: doi === undefined ? id.replace(/^https?:\/\/openalex\.org\//, "") : `doi:${doi}` };
        },
        // A work that was merged into another redirects there.
        redirectsMax: 2,
      },
      content: ["/id"],
      example: {
        params: { id: "10.7717/peerj.4375" },
        answer: { ...work, publication_year: 2018, authorships: [], open_access: { is_oa: true, oa_status: "gold" } },
      },
    }),
    authors: action(common, {
      asked:
        "a professor's citations; h-index; who publishes most on a subject; researchers at a university; scientist's record; academics; experts by publications",
      description:
        "Searches the authors of scholarly works: h-index, counts of works and citations, institutions, topics.",
      keywords: "researcher; scientist; h-index; ORCID; academic profile; leading experts; most cited; professor",
      params: lists,
      upstreamCents: SEARCH_CENTS,
      request: { method: "GET", path: "/authors" },
      content: ["/results"],
      example: {
        params: { search: "Heather Piwowar" },
        answer: { meta, results: [{ id: "https://openalex.org/A5048491430", summary_stats: { h_index: 22 } }] },
      },
    }),
  },
});
