// The catalog for people, as HTML: the page around a view, and around an entry's details. The script is optional and only makes it faster
// to use.
import { type Asked, titleOf, type View } from "./catalog-view.ts";
import { type Html, html } from "./html.ts";
import { CATALOG_SCRIPT } from "./kit/assets.ts";
import { contentSecurityPolicy, documentText, ICON } from "./kit/page.ts";
import { callBox } from "./kit/shown.ts";

export const PAGE_HEADERS = { "content-security-policy": contentSecurityPolicy(), "referrer-policy": "no-referrer" };

/** What the page needs to know of its gateway. */
export interface Site {
  /** Our public URL, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether there are sandbox accounts. */
  readonly sandbox: boolean;
  /** Whether sign-up is open to the public. */
  readonly signup: boolean;
  /** Whether there are pages for signed-in people, such as the playground. */
  readonly pages: boolean;
}

/** The numbers of entries, and of those that live keys can call today. */
export interface Counts {
  readonly actions: number;
  readonly models: number;
  readonly actionsConfigured: number;
  readonly modelsConfigured: number;
}

/** Stated once for the whole page instead of on every line. */
function notice({ actions, models, actionsConfigured, modelsConfigured }: Counts, { sandbox }: Site): Html | string {
  if (actionsConfigured === actions && modelsConfigured === models) return "";
  const play = sandbox ? " Sandbox keys can call all of it, with play money." : "";
  return html`<p class="notice">Live keys can call ${actionsConfigured} of ${actions} actions and ${modelsConfigured} of ${models} models here today; the rest, marked <span class="off">not configured</span>, needs a provider key from the operator.${play}</p>`;
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

function shell({ title, description, body }: Shell): string {
  return documentText({
    title,
    scripts: [CATALOG_SCRIPT.href],
    head: html`<meta name="description" content="${description}">\n<link rel="stylesheet" href="/assets/logos.css">\n`,
    body: html`<body class="catalog" id="all">
${body}
<footer class="wide"><p>Prices of actions are in US cents per call; fractions of a cent are real. <span class="keys"><kbd>/</kbd> search, <kbd>Esc</kbd> clear, <kbd>↑</kbd> <kbd>↓</kbd> move, <kbd>Enter</kbd> open.</span></p></footer>
</body>`,
  });
}

const BRAND = html`<a class="brand" href="/catalog"><img src="${ICON}" alt="" width="20" height="20">Tollgate</a>`;

function queryOf({ words, configuredOnly }: Asked, category: string): string {
  const query = new URLSearchParams();
  if (words !== "") query.set("q", words);
  if (category !== "") query.set("category", category);
  if (configuredOnly) query.set("configured", "1");
  return query.size === 0 ? "/catalog" : `/catalog?${query}`;
}

interface Around {
  /** All sections, with their sizes. */
  readonly categories: ReadonlyMap<string, number>;
  readonly counts: Counts;
  readonly site: Site;
}

/** The page with a view in it. */
export function catalogPage({ body, count }: View, asked: Asked, { categories, counts, site }: Around): string {
  const chips = ["", ...categories.keys()].map((id) => {
    const current = id === asked.category ? "true" : "false";
    const size = id === "" ? "" : html` <small>${categories.get(id) ?? 0}</small>`;
    return html`<li><a class="pill" href="${queryOf(asked, id)}" aria-current="${current}">${id === "" ? "all" : titleOf(id)}${size}</a></li>`;
  });
  const checked = asked.configuredOnly ? html` checked` : "";
  const category = asked.category === "" ? "" : html`<input type="hidden" name="category" value="${asked.category}">`;
  return shell({
    title: "Catalog",
    description: "Every action and model that can be called, with its price and params.",
    body: html`<header class="wide">
${BRAND}
<h1>Catalog</h1>
<p class="lead">${counts.actions} actions behind one call, <code>POST /api/run/{service}/{action}</code>, and ${counts.models} language models in OpenAI's format. You pay the listed price when a call succeeds, and nothing when it fails.</p>
${notice(counts, site)}
${keyHelp(site)}
<ul class="links"><li><a href="/llms.txt">Guide for agents</a></li><li><a href="/openapi.json">OpenAPI</a></li><li><a href="/api/catalog">Catalog as JSON</a></li><li><a href="/api/run">Index of actions</a></li></ul>
</header>
<div class="bar"><div class="wide">
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
    body: html`<header class="wide">
${BRAND}
<h1>${title}</h1>
<p class="lead">${description}</p>
<ul class="links"><li><a href="/catalog">Whole catalog</a></li><li><a href="/catalog/models">Compare models</a></li><li><a href="/catalog#key">Get a key</a></li></ul>
</header>
<main class="wide"><section class="card">${body}</section></main>`,
  });
}
