// What agents ask for, in their own words, and which actions do it. Written before the search was tuned; change the catalog's words, not these.

/** An intent and every action that answers it. */
export interface Intent {
  readonly says: string;
  readonly right: readonly string[];
}

const WEB_SEARCH = [
  "brave/search",
  "exa/search",
  "tavily/search",
  "linkup/search",
  "parallel/search",
  "firecrawl/search",
] as const;
const READ_A_PAGE = [
  "scraping/scrape",
  "firecrawl/scrape",
  "fastcrw/scrape",
  "scrapingant/markdown",
  "exa/contents",
  "tavily/extract",
  "parallel/extract",
] as const;
const HARD_PAGES = [
  "scraping/scrape",
  "scrapingant/scrape",
  "scrapingant/residential-scrape",
  "fastcrw/scrape",
  "oxylabs/scrape",
] as const;

function intent(says: string, ...right: readonly string[]): Intent {
  return { says, right };
}

export const INTENTS: readonly Intent[] = [
  intent("search the web for a topic", ...WEB_SEARCH),
  intent("find recent news about a company", "brave/news", "gdelt/news"),
  intent("answer a question with sources", "linkup/search", "linkup/deep-search", "exa/answer", "tavily/search"),
  intent("in-depth research report on a market", "parallel/task", "linkup/deep-search"),
  intent("find startups similar to this one", "exa/search"),
  intent("get a web page as markdown", ...READ_A_PAGE),
  intent("scrape a page behind anti-bot", ...HARD_PAGES),
  intent("see a page the way someone in Germany sees it", ...HARD_PAGES),
  intent("take a screenshot of a website", "scraping/scrape", "firecrawl/scrape"),
  intent("crawl a whole website", "firecrawl/crawl", "fastcrw/crawl"),
  intent("is my crawl finished yet", "firecrawl/crawl-status", "fastcrw/crawl-status"),
  intent("list all urls of a site", "firecrawl/map"),
  intent("extract product prices from a page as JSON", "firecrawl/extract", "fastcrw/extract", "scrapingant/extract"),
  intent("read several urls in one call", "exa/contents", "tavily/extract", "parallel/extract"),
  intent("solve a captcha", "2captcha/create-task"),
  intent("generate an image from a prompt", "fal/generate"),
  intent("turn a picture into a short video", "fal/generate"),
  intent("text to speech", "fal/generate"),
  intent("upload a photo for an image model", "fal/upload", "files/upload"),
  intent("comments on a tiktok video", "tikhub/fetch"),
  intent("who follows this instagram user", "tikhub/fetch"),
  intent("search tweets about a product", "tikhub/fetch"),
  intent("posts in a subreddit", "tikhub/fetch"),
  intent("youtube video subtitles", "tikhub/fetch"),
  intent("10-K filings that mention climate risk", "sec-edgar/fulltext"),
  intent("annual reports of a public company", "sec-edgar/filings", "sec-edgar/fulltext"),
  intent("CIK number of a stock ticker", "sec-edgar/entities"),
  intent("revenue of a listed company over the years", "sec-edgar/concept"),
  intent("what was filed with the SEC yesterday", "sec-edgar/daily-index"),
  intent("lawsuits against a company", "courtlistener/dockets"),
  intent("court decisions about fair use", "courtlistener/opinions"),
  intent("charities in Texas", "propublica-nonprofits/search"),
  intent("tax return of a nonprofit by its EIN", "propublica-nonprofits/organization"),
  intent("old version of a web page", "wayback/fetch", "wayback/snapshots", "wayback/available"),
  intent("was this page archived in 2015", "wayback/available", "wayback/snapshots"),
  intent("encyclopedia article about photosynthesis", "wikipedia/page", "wikipedia/search"),
  intent("structured facts about an entity", "wikidata/entity", "wikidata/search", "wikidata/sparql"),
  intent("run a SPARQL query", "wikidata/sparql"),
  intent("patents about solid state batteries", "uspto/patents"),
  intent("which patents does a company own", "uspto/assignees"),
  intent("how press coverage of a topic changed over time", "gdelt/timeline"),
  intent("academic papers about graph neural networks", "openalex/works"),
  intent("who cites this paper", "openalex/works", "openalex/work"),
  intent("look a paper up by DOI", "openalex/work"),
  intent("h-index of a researcher", "openalex/authors"),
  intent("new federal rules on emissions", "federal-register/search", "govlaws/search"),
  intent("executive orders of the president", "federal-register/search"),
  intent("text of 12 CFR 1026.43", "govlaws/resolve"),
  intent("specifications of a car model", "apex-db/search", "apex-db/get"),
  intent("dosage of a prescription drug", "rxatlas/search", "rxatlas/get"),
  intent("clinical trials for breast cancer", "trialbase-db/search"),
  intent("has this product been recalled", "recallradar/search"),
  intent("store a file for later", "files/upload", "files/upload_from_url"),
  intent("save a file from a link", "files/upload_from_url"),
  intent("download link of a stored file", "files/get"),
  intent("which files have I stored", "files/list"),
  intent("remove a file to free space", "files/delete"),
  intent("which action can do what I need", "core/discover"),
  intent("cheapest way to google something", ...WEB_SEARCH, "oxylabs/scrape"),
  intent("biography of a historical person", "wikipedia/page", "wikipedia/search"),
];
