// The frame of all pages for signed-in people: a sidebar with the pages' names and the page's content. Loads nothing from other origins.

import type { Answer } from "../../../core/endpoint.ts";
import { pageAnswer as answerWithPage } from "../../oauth/forms.ts";
import { type Html, html } from "../html.ts";
import { FONT, SCRIPT, STYLE } from "./assets.ts";
import { postForm } from "./forms.ts";

export const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4338ca"/>' +
    '<path d="M3 11h10M4 11V5m0 1 8 2.5" stroke="#fff" stroke-width="1.6" fill="none" stroke-linecap="round"/></svg>',
)}`;

/** What a page may load and where its forms may go; `leadsTo`: a client's URL to which the form's answer redirects. */
export function contentSecurityPolicy(leadsTo = ""): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "font-src 'self'",
    "img-src data:",
    `form-action 'self'${leadsTo}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The sidebar: the addresses of its pages by name, under headings. */
export type Places = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Shell {
  readonly title: string;
  /** The sidebar; empty: not signed in. */
  readonly places?: Places;
  /** The page that finds others by name or id. */
  readonly find?: string;
  /** The `href` of this page's entry in the sidebar. */
  readonly here?: string;
  /** Whether the page is below that entry: it then shows the way back. */
  readonly isBelow?: boolean;
  /** The sign-out form's target and the session's token; absent: there is no session. */
  readonly signOut?: { readonly action: string; readonly csrf: string };
  readonly scripts?: readonly string[];
  readonly isNarrow?: boolean;
  /** Reloads after this many seconds, or continues to another of our pages. */
  readonly again?: { readonly seconds: number; readonly to?: string };
}

/** On a phone the sidebar is a bar; its links appear while the URL names it. */
function sidebar({ places = {}, here, signOut, find }: Shell): Html {
  const out = signOut === undefined ? "" : postForm({ ...signOut, act: "" }, [], "Sign out", { kind: "plain small" });
  const search =
    find === undefined
      ? ""
      : html`<form class="find" role="search" aria-label="Quick find" action="${find}"><input type="search" name="q" placeholder="Find (Ctrl K)" aria-label="Find a page, key, call, model or action" autocomplete="off" spellcheck="false"></form>`;
  const link = ([name, href]: readonly [string, string]) =>
    html`<li><a href="${href}"${href === here ? html` aria-current="page"` : ""}>${name}</a></li>`;
  const groups = Object.entries(places).map(
    ([name, own]) => html`<h2>${name}</h2><ul>${Object.entries(own).map(link)}</ul>`,
  );
  const [home = "/"] = Object.values(places).flatMap((own) => Object.values(own));
  return html`<header class="side" id="menu"><a class="brand" href="${home}"><img src="${ICON}" alt="" width="20" height="20">Tollgate</a><a class="menu button plain small" href="#menu">Menu</a>${search}<nav aria-label="Pages">${groups}</nav>${out}</header>`;
}

function crumbs({ places = {}, here, isBelow }: Shell): Html | string {
  const all = Object.values(places).flatMap((own) => Object.entries(own));
  const place = all.find(([, href]) => href === here);
  if (isBelow !== true || place === undefined) return "";
  return html`<nav class="crumbs" aria-label="Breadcrumb"><a href="${place[1]}">${place[0]}</a> /</nav>`;
}

/** A whole document, with the icon, the font and the stylesheet of all pages. `head`: further elements of it. */
export function documentText(title: string, scripts: readonly string[], head: Html | string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${head}<title>${title} · Tollgate</title>
<link rel="icon" href="${ICON}">
<link rel="preload" href="${FONT.href}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${STYLE.href}">
${scripts.map((src) => html`<script type="module" src="${src}"></script>\n`)}</head>
${body}
</html>
`.text;
}

export function pageText(shell: Shell, body: Html): string {
  const { seconds, to } = shell.again ?? {};
  const again =
    seconds === undefined
      ? ""
      : html`<meta http-equiv="refresh" content="${seconds}${to === undefined ? "" : `; url=${to}`}">\n`;
  const main = html`<main id="main"${shell.isNarrow === true ? html` class="narrow"` : ""}>
${crumbs(shell)}<h1>${shell.title}</h1>
${body}
</main>`;
  const isBare = Object.keys(shell.places ?? {}).length === 0;
  const page = html`<body>
<a class="skip" href="#main">Skip to content</a>
${isBare ? main : html`<div class="frame">${sidebar(shell)}${main}</div>`}
</body>`;
  return documentText(shell.title, [SCRIPT.href, ...(shell.scripts ?? [])], again, page);
}

export function pageAnswer(shell: Shell, body: Html, status = 200): Answer {
  return answerWithPage({ text: pageText(shell, body), contentSecurityPolicy: contentSecurityPolicy() }, status);
}
