// GET /catalog: the catalog for people. All of it is in the page; the script only makes it quicker to find something.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { CATEGORIES } from "../catalog/action.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { pricingAnswer } from "../catalog/price-answers.ts";
import type { CatalogAction } from "../run/action-catalog.ts";
import { type Descriptor, descriptorOf, rowPrice } from "../run/descriptor.ts";
import { type TableOf, tableOf } from "../run/params-schema.ts";
import { servicesOf } from "./catalog-json.ts";
import { Html, html } from "./html.ts";
import { curl, fullPriceWords, paramsShown, priceWords } from "./words.ts";

const STYLE = readFileSync(new URL("catalog.css", import.meta.url), "utf8");
const SCRIPT = readFileSync(new URL("catalog.js", import.meta.url), "utf8");
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b5d4e"/>' +
    '<path d="M3 11h10M4 11V5m0 1 8 2.5" stroke="#fff" stroke-width="1.6" fill="none" stroke-linecap="round"/></svg>',
)}`;

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** What the page may load: its own style and script, and nothing from anywhere. */
export const PAGE_HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(SCRIPT)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
};

export interface PageParts {
  readonly actions: readonly CatalogAction[];
  readonly catalog: Catalog;
  readonly publicUrl: string;
}

function paramsTable({ params, table }: Descriptor): Html {
  const rows = paramsShown(params).map(
    ({ name, required, type, notes }) =>
      html`<tr><td><code>${name}</code>${required ? html` <span class="must">required</span>` : ""}</td><td class="type">${type}</td><td>${notes}</td></tr>`,
  );
  const more = table === undefined ? "" : html`<p>${table.note}</p>`;
  if (rows.length === 0) return html`<p>It takes no params.</p>${more}`;
  return html`<table class="params"><thead><tr><th>Param</th><th>Type</th><th>Notes</th></tr></thead><tbody>${rows}</tbody></table>${more}`;
}

function tableRows(action: CatalogAction, { param, rows, count }: TableOf): Html {
  const items = Object.entries(rows).map(
    ([name, row]) =>
      html`<li><code>${name}</code><span>${row.summary}</span>${fullPriceWords(rowPrice(row, action.facts.price))}</li>`,
  );
  return html`<details class="rows"><summary>${count} values of <code>${param}</code></summary><ul>${items}</ul></details>`;
}

function fact(name: string, value: Html | string): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function facts({ effect, price, endpoint, deprecated, status_note }: Descriptor): Html {
  return html`<dl class="facts">${[
    fact("Endpoint", html`<code>POST ${endpoint}</code>`),
    fact("Price", fullPriceWords(price)),
    fact("Effect", effect === "read" ? "reads only" : "starts or changes something"),
    ...(deprecated === undefined ? [] : [fact("Retires", deprecated.sunset)]),
    ...(status_note === undefined ? [] : [fact("Not configured", status_note)]),
  ]}</dl>`;
}

function actionEntry(action: CatalogAction, serviceName: string, publicUrl: string): Html {
  const shown = descriptorOf(action);
  const { keywords = [] } = action.facts;
  const words = [action.id, serviceName, shown.description, shown.category, ...keywords].join(" ").toLowerCase();
  const table = tableOf(action);
  const off = action.configured ? "" : html`<span class="off">not configured</span>`;
  return html`<details id="${action.id}" data-text="${words}" data-available="${action.configured ? "yes" : "no"}">
<summary><span class="name"><span>${action.service}/</span>${action.action}</span><span class="says">${shown.description}</span><span class="price">${priceWords(shown.price)}${off}</span></summary>
<div class="inside">${facts(shown)}<div class="call"><pre tabindex="0"><code>${curl(`${publicUrl}${shown.endpoint}`, shown.example)}</code></pre></div>${paramsTable(shown)}${table === null ? "" : tableRows(action, table)}</div>
</details>
`;
}

/** Tokens as people say them: `200k`, `1m`. */
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact" });

function modelSections(catalog: Catalog): readonly Html[] {
  const { tiers, models } = pricingAnswer(catalog, { sandbox: false });
  const tierRows = Object.entries(tiers).map(
    ([id, slugs]) =>
      html`<tr data-text="core/${id} tier ${slugs.join(" ")}"><td><code>core/${id}</code></td><td>${catalog.tiers.get(id)?.purpose ?? ""}</td><td>${slugs.join(", ")}</td></tr>`,
  );
  const modelRows = models.map(
    ({ model, kind, prompt_usd_per_million, completion_usd_per_million, context_length, available }) =>
      html`<tr data-text="${model} ${kind} model" data-available="${available ? "yes" : "no"}"><td><code>${model}</code>${available ? "" : html` <span class="off">not configured</span>`}</td><td class="kind">${kind}</td><td class="number">$${prompt_usd_per_million}</td><td class="number">${kind === "chat" ? `$${completion_usd_per_million}` : ""}</td><td class="number">${COMPACT.format(context_length).toLowerCase()}</td></tr>`,
  );
  return [
    html`<section id="tiers"><h2>Model tiers</h2><div class="scroll"><table><thead><tr><th>Tier</th><th>For</th><th>Tries, in order</th></tr></thead><tbody>${tierRows}</tbody></table></div></section>`,
    html`<section id="models"><h2>Models <small>USD per million tokens</small></h2><div class="scroll"><table><thead><tr><th>Model</th><th class="kind">Kind</th><th class="number">Prompt</th><th class="number">Completion</th><th class="number">Context</th></tr></thead><tbody>${modelRows}</tbody></table></div></section>`,
  ];
}

function actionSections({ actions, publicUrl }: PageParts): readonly { readonly id: string; readonly section: Html }[] {
  const names = new Map(servicesOf(actions).map(({ service, name }) => [service, name]));
  const categories = CATEGORIES.filter((category) => actions.some(({ facts }) => facts.category === category));
  return categories.map((category) => {
    const own = actions.filter(({ facts }) => facts.category === category);
    const entries = own.map((action) => actionEntry(action, names.get(action.service) ?? "", publicUrl));
    const section = html`<section id="${category}"><h2>${category.replaceAll("-", " ")} <small>${own.length}</small></h2><div class="list">${entries}</div></section>`;
    return { id: category, section };
  });
}

/** The page as it is sent. */
export function catalogPage(parts: PageParts): string {
  const sections = actionSections(parts);
  const places = [...sections.map(({ id }) => id), "tiers", "models"];
  const chips = ["all", ...places].map((id) => html`<li><a href="#${id}">${id.replaceAll("-", " ")}</a></li>`);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Catalog · Tollgate</title>
<meta name="description" content="Every action and model that can be called, with its price and params.">
<link rel="icon" href="${ICON}">
<style>${new Html(STYLE)}</style>
</head>
<body id="all">
<header class="top wide">
<h1>Catalog</h1>
<p class="lead">${parts.actions.length} actions behind one call: <code>POST /api/run/{service}/{action}</code>. You pay the listed price when a call succeeds, and nothing when it fails.</p>
<ul class="links"><li><a href="/llms.txt">Guide for agents</a></li><li><a href="/openapi.json">OpenAPI</a></li><li><a href="/api/catalog">Catalog as JSON</a></li><li><a href="/api/run">Index of actions</a></li></ul>
</header>
<div class="bar"><div class="wide">
<div class="find" role="search" hidden>
<input type="search" placeholder="Search actions and models" aria-label="Search actions and models" autocomplete="off" spellcheck="false">
<label><input type="checkbox"> Configured only</label>
<span class="count" aria-live="polite"></span>
</div>
<nav aria-label="Categories"><ul class="chips">${chips}</ul></nav>
</div></div>
<main class="wide">
<p class="none" hidden>Nothing matches. Try fewer or other words.</p>
${sections.map(({ section }) => section)}
${modelSections(parts.catalog)}
</main>
<footer class="wide"><p>Prices are in US cents per call; fractions of a cent are real. <span class="keys"><kbd>/</kbd> search, <kbd>Esc</kbd> clear, <kbd>↑</kbd> <kbd>↓</kbd> move, <kbd>Enter</kbd> open.</span></p></footer>
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`.text;
}
