// The sources of core/onesearch: for each facet in order, and how their answers become evidence.
import { defineFacets, type SearchWanted, type SourceSpec } from "#tier";

type Item = Readonly<Record<string, unknown>>;
const text = (value: unknown) => (typeof value === "string" ? value : "");
const record = (value: unknown): Item => (typeof value === "object" && value !== null ? (value as Item) : {});
const first = (value: unknown) => (Array.isArray(value) ? value[0] : undefined);
const plain = (value: unknown) => text(value).replace(/<[^<>]*>/g, "");
const filled = (fields: Record<string, string | number | readonly string[] | null>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && String(value) !== ""));

/** What a facet adds to the caller's search. */
interface Turn {
  /** Extra words, in addition to the caller's. */
  readonly words?: string;
  /** Which domains to search, unless the caller names some. */
  readonly domains?: readonly string[];
}
const worded = ({ query }: SearchWanted, { words }: Turn) => (words === undefined ? query : `${query} ${words}`);
const placed = ({ domains }: SearchWanted, turn: Turn) => (domains.length > 0 ? domains : (turn.domains ?? []));
/** The search with the operators that most indexes support. */
function operated(wanted: SearchWanted, turn: Turn): string {
  const sites = placed(wanted, turn).slice(0, 8);
  const some = sites.length === 0 ? "" : ` (${sites.map((site) => `site:${site}`).join(" OR ")})`;
  return `${worded(wanted, turn)}${some}${wanted.excludeDomains.map((site) => ` -site:${site}`).join("")}`;
}
const isShort = (query: string, chars: number) => query.length <= chars && query.split(/\s+/).length <= 50;

/** Where most answers hold what was found. */
const found = { listAt: "/results", url: "/url", title: "/title" };
const exa = (turn: Turn = {}, category?: string): SourceSpec => ({
  action: "exa/search",
  params: (wanted) => ({
    query: worded(wanted, turn),
    numResults: Math.min(wanted.count, 10),
    contents: wanted.fullText ? { text: { maxCharacters: 100_000 } } : { highlights: { maxCharacters: 600 } },
    ...(category === undefined ? {} : { category }),
    ...filled({
      start_published_date: wanted.since,
      include_domains: placed(wanted, turn),
      exclude_domains: wanted.excludeDomains,
    }),
  }),
  ...found,
  snippet: ({ highlights, text: page }) => first(highlights) ?? page,
  content: "/text",
  publishedAt: "/publishedDate",
});
const brave = (action: "search" | "news", turn: Turn = {}): SourceSpec => ({
  action: `brave/${action}`,
  params(wanted) {
    const q = operated(wanted, turn);
    if (!isShort(q, 400)) return null;
    const freshness = wanted.since === null ? null : `${wanted.since}to${wanted.today}`;
    return { q, count: Math.min(wanted.count, 20), text_decorations: false, ...filled({ freshness }) };
  },
  ...found,
  listAt: action === "news" ? "/results" : "/web/results",
  snippet: "/description",
  publishedAt: "/page_age",
});
const tavily = (turn: Turn = {}, topic = "general"): SourceSpec => ({
  action: "tavily/search",
  params: (wanted) => ({
    query: worded(wanted, turn),
    topic,
    max_results: Math.min(wanted.count, 20),
    ...(wanted.fullText ? { include_raw_content: "markdown" } : {}),
    ...filled({
      start_date: wanted.since,
      include_domains: placed(wanted, turn),
      exclude_domains: wanted.excludeDomains,
    }),
  }),
  ...found,
  snippet: "/content",
  content: "/raw_content",
  publishedAt: "/published_date",
});
const linkup = (turn: Turn = {}): SourceSpec => ({
  action: "linkup/search",
  params: (wanted) => ({
    q: worded(wanted, turn),
    outputType: "searchResults",
    maxResults: wanted.count,
    ...filled({ fromDate: wanted.since, includeDomains: placed(wanted, turn), excludeDomains: wanted.excludeDomains }),
  }),
  ...found,
  title: "/name",
  snippet: "/content",
});
const parallel = (turn: Turn = {}): SourceSpec => ({
  action: "parallel/search",
  params: (wanted) => ({
    query: worded(wanted, turn),
    mode: "fast",
    advanced_settings: {
      max_results: Math.min(wanted.count, 10),
      source_policy: filled({
        after_date: wanted.since,
        include_domains: placed(wanted, turn),
        exclude_domains: wanted.excludeDomains,
      }),
    },
  }),
  ...found,
  snippet: ({ excerpts }) => first(excerpts),
  publishedAt: "/publish_date",
});
/** Sources without date filters are skipped if results must be recent. */
const firecrawl = (turn: Turn = {}): SourceSpec => ({
  action: "firecrawl/search",
  params(wanted) {
    const query = operated(wanted, turn);
    return wanted.since === null && isShort(query, 500) ? { query, limit: Math.min(wanted.count, 10) } : null;
  },
  ...found,
  listAt: "/data/web",
  snippet: "/description",
});
const fastcrw = (turn: Turn = {}): SourceSpec => ({
  action: "fastcrw/search",
  params: (wanted) =>
    wanted.since === null ? { query: operated(wanted, turn), limit: Math.min(wanted.count, 20) } : null,
  ...found,
  listAt: "/data",
  snippet: "/description",
});
/** The operator's own server, which queries other engines; these understand the same operators. */
const searxng = (turn: Turn = {}): SourceSpec => ({
  action: "searxng/search",
  params(wanted) {
    const q = operated(wanted, turn);
    return wanted.since === null && isShort(q, 500) ? { q } : null;
  },
  ...found,
  snippet: "/content",
  publishedAt: "/publishedDate",
});
const indexes = (turn: Turn = {}): readonly [SourceSpec, ...SourceSpec[]] => [
  exa(turn),
  brave("search", turn),
  tavily(turn),
  linkup(turn),
  parallel(turn),
  firecrawl(turn),
  fastcrw(turn),
  searxng(turn),
];

const wikipedia: SourceSpec = {
  action: "wikipedia/search",
  params: ({ query, since, count }) =>
    since === null && query.length <= 300 ? { q: query, limit: Math.min(count, 20) } : null,
  listAt: "/query/search",
  url: ({ title }) => `https://en.wikipedia.org/wiki/${encodeURIComponent(text(title).replaceAll(" ", "_"))}`,
  title: "/title",
  snippet: ({ snippet }) => plain(snippet),
};
/** It keeps three months of news, and treats punctuation as operators. */
const gdelt = (turn: Turn = {}): SourceSpec => ({
  action: "gdelt/news",
  params(wanted) {
    const query = worded(wanted, turn)
      .replace(/[^\p{L}\p{N} ]+/gu, " ")
      .replace(/\s+/g, " ")
      .trim();
    const sites = wanted.domains.map((site) => `domainis:${site}`).join(" OR ");
    if (query.length < 3 || query.length > 500) return null;
    const startdatetime = wanted.since === null ? null : `${wanted.since.replaceAll("-", "")}000000`;
    return {
      query: sites === "" ? query : `${query} (${sites})`,
      sort: "hybridrel",
      maxrecords: wanted.count,
      ...filled({ startdatetime }),
    };
  },
  ...found,
  listAt: "/articles",
  publishedAt: ({ seendate }) =>
    text(seendate).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
});
/** An abstract is a list of its words with their positions. */
function abstractOf({ abstract_inverted_index: index }: Item): string {
  const words: string[] = [];
  for (const [word, places] of Object.entries(record(index))) {
    for (const at of Array.isArray(places) ? places : []) if (Number(at) < 200) words[Number(at)] = word;
  }
  return words.join(" ");
}
const openalex: SourceSpec = {
  action: "openalex/works",
  params: ({ query, since, count }) => ({
    search: query,
    per_page: Math.min(count, 50),
    ...filled({ filter: since === null ? null : `from_publication_date:${since}` }),
  }),
  listAt: "/results",
  url: ({ doi, primary_location: place, id }) => doi ?? record(place).landing_page_url ?? id,
  title: ({ title, display_name: name }) => title ?? name,
  snippet: abstractOf,
  publishedAt: "/publication_date",
};
const edgar = (forms: string | null = null): SourceSpec => ({
  action: "sec-edgar/fulltext",
  params: ({ query, since }) => ({ q: query, ...filled({ forms, startdt: since }) }),
  listAt: "/hits/hits",
  url({ _id: id, _source: source }) {
    const [accession = "", file = ""] = text(id).split(":");
    const cik = text(first(record(source).ciks)).replace(/^0+/, "");
    const folder = accession.replaceAll("-", "");
    return cik === "" || file === "" ? null : `https://www.sec.gov/Archives/edgar/data/${cik}/${folder}/${file}`;
  },
  title({ _id: id, _source: source }) {
    const { display_names: names, form } = record(source);
    return `${text(first(names)) || text(id)} ${text(form)}`.trim();
  },
  snippet: ({ _source: source }) => record(source).file_description,
  publishedAt: "/_source/file_date",
});
const courts: SourceSpec = {
  action: "courtlistener/opinions",
  params: ({ query, since }) => ({ q: query, ...filled({ filed_after: since }) }),
  listAt: "/results",
  url({ absolute_url: path, cluster_id: cluster }) {
    const below = text(path) || (cluster === undefined ? "" : `/opinion/${String(cluster)}/case/`);
    return below === "" ? null : `https://www.courtlistener.com${below}`;
  },
  title: "/caseName",
  snippet: ({ opinions, court }) => record(first(opinions)).snippet ?? court,
  publishedAt: "/dateFiled",
};
const charities: SourceSpec = {
  action: "propublica-nonprofits/search",
  params: ({ query }) => (query.length <= 300 ? { q: query } : null),
  listAt: "/organizations",
  url: ({ ein }) => `https://projects.propublica.org/nonprofits/organizations/${String(ein)}`,
  title: "/name",
  snippet: ({ city, state, ntee_code: code }) => [city, state, code].filter(Boolean).join(", "),
};
const register: SourceSpec = {
  action: "federal-register/search",
  params: ({ query, since, count }) => ({
    term: query.slice(0, 500),
    per_page: Math.min(count, 50),
    ...filled({ date_gte: since }),
  }),
  listAt: "/results",
  url: "/html_url",
  title: "/title",
  snippet: ({ abstract, type }) => abstract ?? type,
  publishedAt: "/publication_date",
};

/** The action and the param to search each network. From memory: where the answer has the posts. */
const NETWORKS: Readonly<Record<string, readonly [endpoint: string, param: string]>> = {
  twitter: ["/api/v1/twitter/web/fetch_search_timeline", "keyword"],
  instagram: ["/api/v1/instagram/v2/general_search", "keyword"],
  tiktok: ["/api/v1/tiktok/app/v3/fetch_video_search_result", "keyword"],
  youtube: ["/api/v1/youtube/web_v2/get_general_search_v2", "keyword"],
  weibo: ["/api/v1/weibo/web_v2/fetch_realtime_search", "query"],
  reddit: ["/api/v1/reddit/app/fetch_dynamic_search", "query"],
};
const posts: SourceSpec = {
  action: "tikhub/fetch",
  params({ query, platform }) {
    const [endpoint, param] = NETWORKS[platform] ?? [];
    return endpoint === undefined || param === undefined ? null : { endpoint, [param]: query };
  },
  listAt: "/data/timeline",
  url: ({ screen_name: name, tweet_id: id }) =>
    text(name) === "" || text(id) === "" ? null : `https://x.com/${text(name)}/status/${text(id)}`,
  title: "/screen_name",
  snippet: "/text",
  publishedAt: "/created_at",
};

const INVESTORS = ["crunchbase.com", "techcrunch.com", "pitchbook.com", "sifted.eu", "eu-startups.com", "tracxn.com"];
const AUTHORITIES = [
  "ofac.treasury.gov",
  "home.treasury.gov",
  "justice.gov",
  "sec.gov",
  "fca.org.uk",
  "finra.org",
  "opensanctions.org",
  "sanctionsmap.eu",
];
const CODE = ["github.com", "gitlab.com", "stackoverflow.com", "docs.rs", "pypi.org", "npmjs.com"];
const funding = { words: "funding round investors", domains: INVESTORS };
const compliance = { words: "sanctions enforcement penalty", domains: AUTHORITIES };

export default defineFacets({
  facets: {
    web: { about: "pages of any kind", sources: [...indexes(), wikipedia], racing: 5 },
    docs: {
      about: "technical documentation and references, whole pages of it",
      words: /\b(documentation|docs?|api reference|manual|how to (use|configure|install)|changelog)\b/i,
      sources: indexes({ words: "documentation" }),
      racing: 5,
      fullText: true,
    },
    news: {
      about: "news of the last days and weeks",
      words: /\b(news|headlines?|latest|today|yesterday|this week|breaking|announce[ds]?)\b/i,
      sources: [brave("news"), exa({}, "news"), tavily({}, "news"), gdelt()],
      racing: 3,
    },
    academic: {
      about: "scholarly papers, studies and their citations",
      words: /\b(papers?|stud(y|ies)|research on|journals?|arxiv|doi|peer.reviewed|literature review|citations?)\b/i,
      sources: [openalex, exa({}, "research")],
      racing: 2,
    },
    code: {
      about: "source code, libraries, error messages and answers to programmers",
      words: /\b(code|github|library|npm|pypi|crates?|stack ?trace|exception|compiler?|source of)\b/i,
      sources: [exa({}, "github"), ...indexes({ domains: CODE })],
      racing: 5,
    },
    "public-filings": {
      about: "filings of companies with the SEC",
      words: /\b(10-[kq]|8-k|s-1|13[df]|edgar|sec filings?|proxy statement|prospectus)\b/i,
      sources: [edgar(), ...indexes({ domains: ["sec.gov"] })],
    },
    funding: {
      about: "who has invested in or raised money for a company",
      words: /\b(funding|raised|series [a-f]|seed round|investors?|venture|valuation|backed by)\b/i,
      sources: [...indexes(funding), gdelt({ words: "funding" })],
      racing: 5,
    },
    financials: {
      about: "revenue, earnings and other figures of companies",
      words: /\b(revenues?|earnings|ebitda|profits?|balance sheet|cash flow|financials?|margins?|quarterly results)\b/i,
      sources: [
        exa({}, "financial report"),
        tavily({ words: "financial results" }, "finance"),
        edgar("10-K,10-Q,8-K,20-F"),
        ...indexes({ words: "financial results revenue earnings" }),
      ],
      racing: 5,
    },
    legal: {
      about: "opinions of courts and case law",
      words: /\b(court|case law|lawsuit|sued?|ruling|precedent|v\.|plaintiff|verdict|litigation|opinion of)\b/i,
      sources: [
        courts,
        ...indexes({ words: "court opinion", domains: ["law.cornell.edu", "law.justia.com", "casetext.com"] }),
      ],
    },
    nonprofits: {
      about: "charities and foundations, by their names",
      words: /\b(non-?profits?|charit(y|ies)|foundations?|501\(?c\)?|ngos?|form 990)\b/i,
      sources: [charities, ...indexes({ words: "nonprofit", domains: ["guidestar.org", "charitynavigator.org"] })],
    },
    regulatory: {
      about: "rules, proposed rules and notices of agencies",
      words: /\b(regulations?|rulemaking|federal register|cfr|proposed rule|executive orders?|agency rules?)\b/i,
      sources: [
        register,
        ...indexes({ words: "regulation", domains: ["federalregister.gov", "ecfr.gov", "regulations.gov"] }),
      ],
    },
    compliance: {
      about: "sanctions, enforcement and fines against companies and people",
      words: /\b(sanction(s|ed)?|ofac|kyc|aml|compliance|enforcement|watch ?list|pep\b|fined|penalt(y|ies))\b/i,
      sources: [...indexes(compliance), gdelt({ words: "sanctions" }), register],
      racing: 5,
    },
    social: { about: "posts of one social network, as they are", sources: [posts], raw: true },
  },
  scrape: ["direct", "exa", "firecrawl", "scrapingant", "residential"],
  scrapeHard: ["residential"],
  archive: { action: "wayback/fetch", contentAt: "/text", params: (url, day) => ({ url, timestamp: day }) },
});
