// Tools that some vendors run themselves, such as web search, for other vendors' models; the first configured source serves.
import { defineHostedTools } from "#tier";

/** Where most answers hold what was found. */
const found = { listAt: "/results", url: "/url", title: "/title" };

export default defineHostedTools({
  web_search: {
    about:
      "Searches the web. Use it for what is recent or may have changed. Cite each source that you use as a link, [title](url), where you use it.",
    takes: "query",
    sources: [
      {
        action: "brave/search",
        params: ({ asked }) => ({ q: asked, count: 10 }),
        ...found,
        listAt: "/web/results",
        text: "/description",
      },
      {
        action: "tavily/search",
        params: ({ asked }) => ({ query: asked, max_results: 10 }),
        ...found,
        text: "/content",
      },
      { action: "exa/search", params: ({ asked }) => ({ query: asked, numResults: 10 }), ...found, text: "/text" },
      {
        action: "linkup/search",
        params: ({ asked }) => ({ q: asked, outputType: "searchResults", maxResults: 10 }),
        ...found,
        title: "/name",
        text: "/content",
      },
    ],
  },
  web_fetch: {
    about: "Reads a page of the web. Cite it as a link, [title](url), where you use it.",
    takes: "url",
    sources: [
      {
        action: "core/onescrape",
        params: ({ asked }) => ({ urls: [asked] }),
        ...found,
        listAt: "/rows",
        text: "/content",
      },
    ],
  },
});
