// How core/onescrape and core/onescrape-deep read a page: the rungs in order, and what they do not treat as a page.
import { definePageLadder, type PagesWanted } from "#tier";

const one = ({ urls }: PagesWanted) => ({ url: urls[0] ?? "" });
const metadata = { titleAt: "/data/metadata/title", finalUrlAt: "/data/metadata/url" };
const asMarkdown = { contentAt: "/data/markdown", holds: "markdown", ...metadata } as const;
const asHtml = { contentAt: "/data/html", holds: "html", ...metadata } as const;
const rendered = (format: "markdown" | "html", more: { readonly [name: string]: boolean } = {}) => ({
  params: ({ urls, mainContent }: PagesWanted) => ({
    url: urls[0] ?? "",
    formats: [format],
    onlyMainContent: mainContent,
    ...more,
  }),
  answer: format === "markdown" ? asMarkdown : asHtml,
});
const stealthy = { stealth: true, renderJs: true };
/** The page as rendered by the vendor's browser. */
const asPage = { contentAt: "/html", holds: "page" } as const;

export default definePageLadder({
  rungs: [
    { tag: "direct", cents: 1 },
    {
      tag: "exa",
      cents: 1,
      pagesMax: 10,
      markdown: {
        action: "exa/contents",
        params: ({ urls }) => ({ urls, text: true }),
        answer: { listAt: "/results", urlAt: "/id", contentAt: "/text", holds: "markdown", titleAt: "/title" },
      },
    },
    {
      tag: "firecrawl",
      cents: 1,
      markdown: { action: "firecrawl/scrape", ...rendered("markdown") },
      html: { action: "firecrawl/scrape", ...rendered("html") },
    },
    {
      tag: "scrapingant",
      cents: 1,
      markdown: {
        action: "scrapingant/markdown",
        params: one,
        answer: { contentAt: "/markdown", holds: "markdown", finalUrlAt: "/url" },
      },
      html: { action: "scrapingant/scrape", params: one, answer: asPage },
    },
    {
      tag: "unblock",
      cents: 2,
      hard: true,
      markdown: { action: "firecrawl/unblock", ...rendered("markdown") },
      html: { action: "firecrawl/unblock", ...rendered("html") },
    },
    {
      tag: "residential",
      cents: 4,
      hard: true,
      markdown: { action: "scrapingant/residential-scrape", params: one, answer: asPage },
      html: { action: "scrapingant/residential-scrape", params: one, answer: asPage },
    },
    {
      tag: "stealth",
      cents: 1,
      hard: true,
      markdown: { action: "fastcrw/scrape", ...rendered("markdown", stealthy) },
      html: { action: "fastcrw/scrape", ...rendered("html", stealthy) },
    },
  ],
  map: { action: "firecrawl/map", cents: 1, linksAt: "/links", urlAt: "/url" },
  socialDomains: [
    "bsky.app",
    "douyin.com",
    "facebook.com",
    "fb.com",
    "instagram.com",
    "linkedin.com",
    "lnkd.in",
    "pinterest.com",
    "reddit.com",
    "redd.it",
    "snapchat.com",
    "t.co",
    "threads.com",
    "threads.net",
    "tiktok.com",
    "truthsocial.com",
    "twitter.com",
    "vk.com",
    "weibo.cn",
    "weibo.com",
    "x.com",
    "xhslink.com",
    "xiaohongshu.com",
    "youtu.be",
    "youtube.com",
  ],
  documentEndings: [
    ".pdf",
    ".doc",
    ".docx",
    ".docm",
    ".dotx",
    ".odt",
    ".rtf",
    ".xls",
    ".xlsx",
    ".xlsm",
    ".xlsb",
    ".ods",
    ".ppt",
    ".pptx",
    ".pptm",
    ".ppsx",
    ".odp",
    ".epub",
  ],
  documentTypes: [
    "application/pdf",
    "application/msword",
    "application/rtf",
    "application/epub+zip",

    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
    "application/vnd.ms-",
  ],
});
