// The Internet Archive's Wayback Machine: past versions of web pages. No key.
import { action, defineAdapter, like, noAuth, z } from "#adapter";

// From a year to a second: each part adds two digits.
const MOMENT = /^(19|20)\d\d((0[1-9]|1[0-2])((0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])([0-5]\d([0-5]\d)?)?)?)?)?$/;
const moment = like(MOMENT, "must be YYYY, YYYYMM, YYYYMMDD or so on to YYYYMMDDhhmmss");
const target = z.string().min(3).max(2_000);
const listed = target.refine((given) => /^[^\s\\]+$/.test(given), {
  error: "must be an address without spaces",
  params: { format: "url" },
});
// A host consists of labels between dots: `..` would be a step up in the archive's own URL.
const PAGE = /^(https?:\/\/)?[^\s/?#@:%\\.]+(\.[^\s/?#@:%\\.]+)+\.?([:/?#][^\s\\]*)?$/;
/** The URL as the archive stores it: complete, without a fragment, with dot segments resolved. Null if it is not a URL. */
function addressOf(given: string): string | null {
  const url = URL.parse(/^https?:/.test(given) ? given : `http://${given}`);
  if (url === null || url.username !== "" || !PAGE.test(given)) return null;
  url.hash = "";
  return url.href;
}
const page = target.refine((given) => addressOf(given) !== null, {
  error: "must be an http address such as example.com/about",
  params: { format: "url" },
});

const snapshots = z
  .strictObject({
    url: listed.describe("The address of the page, such as example.com/about; * at its end stands for anything."),
    from: moment.describe("Captured at or after: YYYY, YYYYMM, YYYYMMDD up to YYYYMMDDhhmmss.").optional(),
    to: moment.describe("Captured at or before; as from.").optional(),
    limit: z
      .int()
      .min(-10_000)
      .max(10_000)
      .default(100)
      .refine((count) => count !== 0, "must not be 0")
      .describe("The most captures; below zero, the last so many."),
    match_type: z
      .enum(["exact", "prefix", "host", "domain"])
      .describe("What counts as the address: it alone, all that begin with it, its host, its domain.")
      .optional(),
    collapse: like(/^[a-z]{3,12}(:\d{1,2})?$/, "must be field or field:length")
      .describe("One capture per value of a field, such as timestamp:8 for one a day, or digest.")
      .optional(),
  })
  .refine((p) => (p.from ?? "").padEnd(14, "0") <= (p.to ?? "").padEnd(14, "9"), {
    path: ["to"],
    error: "must not be before from",
  });

// A capture of an error page has the error's status, which says nothing about the archive itself.
const errors = [400, 401, 403, 404, 405, 406, 408, 410, 429, 451, 500, 502, 503, 504, 520, 522];
const errorPage = { status: errors, header: "memento-datetime", means: "caller_invalid" } as const;

const closest = { available: true, url: "http://web.archive.org/web/20150314/http://example.com/", status: "200" };
const common = {
  category: "open-data",
  effect: "read",
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 0,
  asked:
    "old version of a website; how a site looked years ago; deleted page; page that is gone; dead link; web archive; wayback machine; in 2005; history of a page; before it changed; 404 page; time machine; back then",
} as const;
const columns = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
const capture = ["com,example)/", "20150314092653", "http://example.com/", "text/html", "200", "XAHDNHZ5P3GS", "1402"];

export default defineAdapter({
  name: "Wayback Machine",
  docs: "https://archive.org/help/wayback_api.php",
  origin: "https://web.archive.org",
  origins: { index: "https://archive.org" },
  auth: noAuth,
  contact: "polite",
  // The archive states its own reason if a site's owner excluded a page.
  rules: [{ status: 403, header: "x-archive-wayback-runtime-error", means: "caller_invalid" }],
  actions: {
    snapshots: action(common, {
      description: "Lists the captures of a web page in the archive, as rows under a first row of column names.",
      keywords: "internet archive; history of a website; old versions; captures",
      params: snapshots,
      request: {
        method: "GET",
        path: "/cdx/search/cdx",
        names: { match_type: "matchType" },
        fixed: { output: "json" },
      },
      rules: [
        { at: "", is: "", means: "miss", data: [] },
        {
          status: 403,
          at: "",
          matches: /AccessControl|Blocked|excluded/i,
          sample: "Blocked Site Error",
          means: "caller_invalid",
        },
      ],
      example: { params: { url: "example.com", from: "2015", to: "2016", limit: 1 }, answer: [columns, capture] },
    }),
    available: action(common, {
      price: { ...common.price, freeOnMiss: true },
      description: "Says whether a web page is in the archive, with the capture nearest to a day. Free if it is not.",
      keywords: "was archived; internet archive; closest snapshot",
      params: z.strictObject({
        url: listed.describe("The address of the page."),
        timestamp: moment.describe("The day to look around, YYYYMMDD. Left out: the latest capture.").optional(),
      }),
      request: { method: "GET", origin: "index", path: "/wayback/available" },
      rules: [{ at: "/archived_snapshots", empty: true, means: "miss" }],
      example: { params: { url: "example.com", timestamp: "20150314" }, answer: { archived_snapshots: { closest } } },
    }),
    fetch: action(common, {
      description: "A web page as captured nearest to a moment, in its original bytes. Free if it was never captured.",
      keywords:
        "old version of a web page; deleted page; internet archive; historical website; how a page looked before; what a page used to say; earlier version",
      params: z.strictObject({
        url: page.describe("The address of the page."),
        timestamp: moment.describe("The moment, from YYYY to YYYYMMDDhhmmss."),
      }),
      request: {
        method: "GET",
        path: "/web/{timestamp}id_/{url...}",
        params: (p) => ({ ...p, url: addressOf(p.url) }),
        headers: { accept: "*/*" },
        redirectsMax: 5,
      },
      answer: { kind: "bytes" },
      content: [""],
      rules: [errorPage],
      example: { params: { url: "example.com", timestamp: "20150314" }, answer: "<html>Example Domain</html>" },
    }),
  },
});
