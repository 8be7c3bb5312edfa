// SEC EDGAR: company filings with the U.S. Securities and Exchange Commission. It requires callers to identify themselves.
import { action, defineAdapter, like, noAuth, z } from "#adapter";

const cikText = like(/^(CIK)?(?=\d{1,10}$)0*[1-9]\d*$/, "must be a number of up to ten digits");
const cik = z.union([cikText, z.int().min(1).max(9_999_999_999)]).describe("The filer's CIK number, such as 320193.");
const bare = (given: string | number) => String(given).replace(/^(CIK)?0*/, "");
const padded = (given: string | number) => bare(given).padStart(10, "0");
const indexOf = ({ date: day }: { date: string }) => {
  const quarter = Math.ceil(Number(day.slice(5, 7)) / 3);
  return { file: `${day.slice(0, 4)}/QTR${quarter}/master.${day.replaceAll("-", "")}.idx` };
};
const day = (words: string) => z.iso.date().describe(`Filed on this day or ${words}, YYYY-MM-DD.`).optional();
const formTypes = like(/^[A-Z0-9][A-Z0-9 -]*(,[A-Z0-9][A-Z0-9 -]*)*$/, "must be root types, as 10-K,8-K");
const fulltext = z
  .strictObject({
    q: z.string().min(1).max(1_000).describe("Words or a quoted phrase in the filing; also cik:... or ticker:..."),
    forms: formTypes.describe("Root form types, comma-separated, such as 10-K,8-K; amendments come along.").optional(),
    startdt: day("later"),
    enddt: day("earlier"),
    from: z.int().min(0).max(9_900).default(0).describe("How many hits to skip; an answer has up to 100."),
  })
  .refine((p) => (p.startdt ?? "") <= (p.enddt ?? "~"), { path: ["enddt"], error: "must not be before startdt" });
/** Without dateRange the vendor ignores the dates; an open end is set to a date without filings. */
function between(p: z.infer<typeof fulltext>) {
  if (p.startdt === undefined && p.enddt === undefined) return p;
  return { ...p, startdt: p.startdt ?? "2001-01-01", enddt: p.enddt ?? "2999-12-31", dateRange: "custom" };
}
const numbered = like(/^(\d{10}-\d\d-\d{6}|\d{18})$/);
const file = like(/^(\w[\w-]{0,99}\/)?\w[\w.-]{0,199}$/, "must be the name of a file of the filing");
const tag = like(/^([a-z][a-z0-9-]{0,29}\/)?[A-Za-z]\w{0,199}$/, "must be a tag as Assets or dei/...");
const common = { category: "records", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
// The archive's store answers a request for a missing file as one without access.
const absent = {
  status: 403,
  at: "",
  matches: /<Code>(AccessDenied|NoSuchKey)</,
  sample: "<Code>NoSuchKey</Code>",
} as const;
const noFilings = { means: "miss", data: { text: "", content_type: "text/plain" } } as const;
const search = { method: "GET", origin: "search", path: "/LATEST/search-index" } as const;
const archived = { method: "GET", origin: "archive" } as const;
const hit = (_id: string, _source: Record<string, string | string[] | number>) => ({ _id, _source });
const accession = "0000320193-25-000079";
const company = { cik: "0000320193", filings: { recent: { accessionNumber: [accession], form: ["10-K"] } } };
const filing = hit("0000101778-26-000012:x10k.htm", {
  ciks: ["0000101778"],
  display_names: ["USX CORP  (MRO)  (CIK 0000101778)"],
  form: "10-K",
  file_date: "2026-02-27",
  file_description: "ANNUAL REPORT",
});
const files = { directory: { name: "/Archives/edgar/data/320193/000032019325000079", item: [{ name: "aapl.htm" }] } };
const assets = { tag: "Assets", units: { USD: [{ end: "2025-09-27", val: 359_241_000_000, fy: 2025, form: "10-K" }] } };
const index = "CIK|Company Name|Form Type|Date Filed|File Name\n-----\n320193|Apple Inc.|4|20261120|edgar/data/1.txt\n";

export default defineAdapter({
  name: "SEC EDGAR",
  docs: "https://www.sec.gov/search-filings/edgar-application-programming-interfaces",
  origin: "https://data.sec.gov",
  origins: { search: "https://efts.sec.gov", archive: "https://www.sec.gov" },
  auth: noAuth,
  contact: "required",
  // It accepts ten a second and blocks a client that sends more for ten minutes, longer with every further request.
  rate: { requests: 8, perMs: 1_000 },
  rules: [{ status: [403, 429], means: "provider_rate_limited", restMs: 600_000 }],
  actions: {
    entities: action(common, {
      asked: "cik of a company; ticker symbol; which company is it at the sec",
      description: "Finds companies, funds and people that file with the SEC, and their CIK, by name or ticker.",
      keywords: "CIK number of a stock ticker; issuer; lookup; listed company; ticker of a company; stock symbol",
      params: z.strictObject({ q: z.string().min(1).max(200).describe("A name, the beginning of one, or a ticker.") }),
      request: { ...search, names: { q: "keysTyped" } },
      content: ["/hits"],
      example: { params: { q: "apple" }, answer: { hits: { hits: [hit("320193", { entity: "Apple Inc." })] } } },
    }),
    filings: action(common, {
      asked:
        "latest 10-k, 10-q, 8-k; annual report; quarterly report; insider trades; form 4; prospectus; s-1; what did a listed company file; shareholders; proxy statement; investor relations",
      description: "A company's facts and latest 1,000 or so SEC filings, as parallel arrays. An unknown CIK is free.",
      keywords:
        "annual reports; quarterly report; 10-K; 10-Q; 8-K; public company; submissions; insider trades; shareholders; quarterly results; earnings report; company filing",
      params: z.strictObject({ cik }),
      request: { method: "GET", path: "/submissions/CIK{cik}.json", params: (p) => ({ cik: padded(p.cik) }) },
      content: ["/filings"],
      example: { params: { cik: "320193" }, answer: company },
    }),
    fulltext: action(common, {
      asked: "which companies mention a word in their filings; risk factors about; search reports of public companies",
      description: "Searches the full text of SEC filings since 2001; a hit's _id is accession:filename of a document.",
      keywords: "mention in a 10-K; disclosure; risk factors; annual reports",
      params: fulltext,
      request: { ...search, params: between },
      content: ["/hits"],
      example: { params: { q: '"climate risk"' }, answer: { hits: { total: { value: 1 }, hits: [filing] } } },
    }),
    document: action(common, {
      asked: "read a filing; text of the annual report; open the prospectus",
      description: "A document of a filing (HTML, text, XML, PDF), or the list of its files. An unknown one is free.",
      keywords: "download filing; exhibit; annual report text",
      params: z.strictObject({
        cik,
        accession: numbered.describe("The filing's accession number, such as 0000320193-25-000079."),
        filename: file.describe("A file of the filing; left out, the list of its files.").default("index.json"),
      }),
      request: {
        ...archived,
        path: "/Archives/edgar/data/{cik}/{accession}/{filename...}",
        params: (p) => ({ ...p, cik: bare(p.cik), accession: p.accession.replaceAll("-", "") }),
      },
      answer: { kind: "bytes" },
      content: [""],
      rules: [{ ...absent, means: "caller_invalid" }],
      example: { params: { cik: 320193, accession }, answer: files },
    }),
    concept: action(common, {
      asked:
        "revenue, net income, profit, debt, cash, earnings per share of a company by quarter; financial figures over years; how much did a public company earn; balance sheet; sales of apple, tesla, microsoft; margins; turnover",
      description: "Every value a company has reported for one XBRL concept, period by period. An unknown one is free.",
      keywords:
        "revenue over the years; financial statements; assets; net income; us-gaap; fundamentals; revenue by quarter; profit of a company; balance sheet",
      params: z.strictObject({ cik, concept: tag.describe("An XBRL tag, such as Assets; us-gaap/ is understood.") }),
      request: {
        method: "GET",
        path: "/api/xbrl/companyconcept/CIK{cik}/{tag...}.json",
        params: ({ cik, concept: tag }) => ({ cik: padded(cik), tag: tag.includes("/") ? tag : `us-gaap/${tag}` }),
      },
      content: ["/units"],
      example: { params: { cik: "320193", concept: "Assets" }, answer: assets },
    }),
    "daily-index": action(common, {
      asked: "all sec filings of a day; what was filed yesterday",
      price: { ...common.price, freeOnMiss: true },
      description: "All SEC filings of a day as a text index; on weekends and holidays empty and not charged.",
      keywords: "filed yesterday; today's filings; new filings",
      params: z.strictObject({ date: z.iso.date().describe("The day, YYYY-MM-DD; New York's calendar.") }),
      request: { ...archived, path: "/Archives/edgar/daily-index/{file...}", params: indexOf },
      answer: { kind: "text", as: "text" },
      content: [""],
      rules: [absent, { status: 404 }].map((when) => ({ ...when, ...noFilings })),
      example: { params: { date: "2026-11-20" }, answer: index },
    }),
  },
});
