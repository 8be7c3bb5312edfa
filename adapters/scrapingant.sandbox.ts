// Sandbox stand-in for ScrapingAnt: answers contain the page's own text, and a page behind a wall is refused.
import { type ActionStandIn, defineStandIn, type Item, put, refuse, type VendorPage } from "#sandbox";

const reads =
  (puts: (page: VendorPage) => Item): ActionStandIn =>
  (call) => {
    const [page] = call.pages(call.sent("url"));
    if (page === undefined) return call.answer;
    return page.status >= 400 ? refuse(423) : put(call.answer, puts(page));
  };
const html = reads((page) => ({ "": page.html }));

export default defineStandIn({
  actions: {
    scrape: html,
    markdown: reads(({ url, markdown }) => ({ "/url": url, "/markdown": markdown })),
    "residential-scrape": html,
  },
});
