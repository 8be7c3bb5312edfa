// The catalog for people, as HTML: the page around a view, and around an entry's details. The script is optional and only makes it faster
// to use.
import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { EVERYBODY } from "../../catalog/catalog.ts";
import type { Sold } from "./catalog-models.ts";
import { type Asked, categorySizes, titleOf, type View, type ViewParts } from "./catalog-view.ts";
import { type Html, html, type Put } from "./html.ts";
import { withQuery } from "./kit/ask.ts";
import { CATALOG_SCRIPT } from "./kit/assets.ts";
import { contentSecurityPolicy, documentText, ICON } from "./kit/page.ts";
import { callBox } from "./kit/shown.ts";

export const PAGE_HEADERS = { "content-security-policy": contentSecurityPolicy(), "referrer-policy": "no-referrer" };

export interface Site {
  /** Our public URL, without a trailing slash. */
  readonly publicUrl: string;
  readonly sandbox: boolean;
  /** Whether sign-up is open to the public. */
  readonly signup: boolean;
  /** Whether there are pages for signed-in people, such as the playground. */
  readonly pages: boolean;
}

/** Stated once for the whole page instead of on every line. */
function notice(actions: readonly CatalogAction[], models: readonly Sold[], { sandbox }: Site): Html | string {
  const ready = [actions.filter(({ configured }) => configured), models.filter(({ offers }) => offers.length > 0)];
  const [ofActions = 0, ofModels = 0] = ready.map(({ length }) => length);
  if (ofActions === actions.length && ofModels === models.length) return "";
  const play = sandbox ? " Sandbox keys can call all of it, with play money." : "";
  return html`<p class="notice">Live keys can call ${ofActions} of ${actions.length} actions and ${ofModels} of ${models.length} models here today; the rest, marked <span class="off">not configured</span>, needs a provider key from the operator.${play}</p>`;
}

/** How a reader gets a key. */
function keyHelp({ publicUrl, sandbox, signup }: Site): Html {
  const play = sandbox
    ? html` With <code>--sandbox</code> behind it the account has play money and reaches no provider.`
    : "";
  const open = signup
    ? html`<p>Create an account; <code>api_key</code> in the answer is the key:</p>${callBox(`curl ${publicUrl}/api/v1/signup \\\n  -H "Content-Type: application/json" \\\n  -d '{"name": "me"}'`)}`
    : html`<p>The operator of this gateway issues keys. If that is you, create an account from the program's folder:</p>${callBox("npm run -s tollgate -- account create --name me")}<p>${play}</p>`;
  return html`<details class="card" id="key"><summary>Get a key</summary>${open}<p>The calls on this page read it from the shell:</p>${callBox("export TOLLGATE_API_KEY=tg_sk_...")}</details>`;
}

export interface Shell {
  readonly title: string;
  readonly description: string;
  readonly body: Html;
}

interface Frame {
  readonly title: string;
  readonly description: string;
  /** Below the title. */
  readonly head: Put;
  readonly links: Readonly<Record<string, string>>;
  readonly main: Html;
}

function shell({ title, description, head, links, main }: Frame): string {
  const list = Object.entries(links).map(([name, href]) => html`<li><a href="${href}">${name}</a></li>`);
  const about = html`<meta name="description" content="${description}">\n<link rel="stylesheet" href="/assets/logos.css">\n`;
  const body = html`<body class="catalog">
<header class="wide">
<a class="brand" href="/catalog"><img src="${ICON}" alt="" width="20" height="20">Tollgate</a>
<h1>${title}</h1>
${head}
<ul class="links">${list}</ul>
</header>
${main}
<footer class="wide"><p>Prices of actions are in US cents per call; fractions of a cent are real. <span class="keys"><kbd>/</kbd> search, <kbd>Esc</kbd> clear, <kbd>↑</kbd> <kbd>↓</kbd> move, <kbd>Enter</kbd> open.</span></p></footer>
</body>`;
  return documentText(title, [CATALOG_SCRIPT.href], about, body);
}

export function catalogPage({ body, count }: View, asked: Asked, parts: ViewParts, site: Site): string {
  const [categories, models, { actions }] = [categorySizes(parts), parts.catalog.listed(EVERYBODY), parts];
  const chips = ["", ...categories.keys()].map((id) => {
    const query = { q: asked.words, category: id, configured: asked.configuredOnly ? "1" : "" };
    const size = id === "" ? "" : html` <small>${categories.get(id) ?? 0}</small>`;
    return html`<li><a class="pill" href="${withQuery("/catalog", query)}" aria-current="${String(id === asked.category)}">${id === "" ? "all" : titleOf(id)}${size}</a></li>`;
  });
  const checked = asked.configuredOnly ? html` checked` : "";
  const category = asked.category === "" ? "" : html`<input type="hidden" name="category" value="${asked.category}">`;
  return shell({
    title: "Catalog",
    description: "Every action and model that can be called, with its price and params.",
    head: html`<p class="lead">${actions.length} actions behind one call, <code>POST /api/run/{service}/{action}</code>, and ${models.length} language models in OpenAI's format. You pay the listed price when a call succeeds, and nothing when it fails.</p>
${notice(actions, models, site)}
${keyHelp(site)}`,
    links: {
      "Guide for agents": "/llms.txt",
      OpenAPI: "/openapi.json",
      "Catalog as JSON": "/api/catalog",
      "Index of actions": "/api/run",
    },
    main: html`<div class="bar"><div class="wide">
<form class="find filters" role="search" action="/catalog">
<div><input type="search" name="q" value="${asked.words}" maxlength="500" placeholder="What do you need? Search actions and models" aria-label="Search actions and models" autocomplete="off" spellcheck="false">${category}</div>
<label class="check"><input type="checkbox" name="configured" value="1"${checked}> Configured only</label>
<noscript><button>Search</button></noscript>
</form>
<nav aria-label="Categories"><ul class="chips">${chips}</ul></nav>
</div></div>
<main class="wide">
<p class="count" role="status">${count}</p>${body}
</main>`,
  });
}

/** The page of one entry, for readers who follow its link. */
export function entryPage({ title, description, body }: Shell): string {
  return shell({
    title,
    description,
    head: html`<p class="lead">${description}</p>`,
    links: { "Whole catalog": "/catalog", "Compare models": "/catalog/models", "Get a key": "/catalog#key" },
    main: html`<main class="wide"><section class="card">${body}</section></main>`,
  });
}
