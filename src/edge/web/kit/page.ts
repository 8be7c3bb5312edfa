// The frame of all pages for signed-in people: a navigation bar and the page's content. Loads nothing from other origins.
import type { Answer } from "../../../core/endpoint.ts";
import { type Html, html } from "../html.ts";
import { SCRIPT, STYLE } from "./assets.ts";

/** The program's icon, inline. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b5d4e"/>' +
    '<path d="M3 11h10M4 11V5m0 1 8 2.5" stroke="#fff" stroke-width="1.6" fill="none" stroke-linecap="round"/></svg>',
)}`;

/** What a page may load and where its forms may go; `leadsTo`: a client's URL to which the form's answer redirects. */
export function contentSecurityPolicy(leadsTo = ""): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src data:",
    `form-action 'self'${leadsTo}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

export const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": contentSecurityPolicy(),
  // The page is personal and must not reappear after the sign-out.
  "cache-control": "no-store",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  // Not "no-referrer": browsers would then send our own forms with a null origin.
  "referrer-policy": "same-origin",
} as const;

/** An entry of the navigation bar. */
export interface Place {
  readonly href: string;
  readonly name: string;
}

export interface Shell {
  readonly title: string;
  /** The navigation bar; empty: not signed in. */
  readonly places?: readonly Place[];
  /** The `href` of this page's entry in the bar. */
  readonly here?: string;
  /** The sign-out form's target and the session's token; absent: there is no session. */
  readonly signOut?: { readonly action: string; readonly csrf: string };
  /** URLs of scripts besides the common one. */
  readonly scripts?: readonly string[];
  readonly isNarrow?: boolean;
  /** Reloads after this many seconds, or continues to another of our pages. */
  readonly again?: { readonly seconds: number; readonly to?: string };
}

function bar({ places = [], here, signOut }: Shell): Html {
  const links = places.map(({ href, name }) => {
    const current = href === here ? html` aria-current="page"` : "";
    return html`<li><a href="${href}"${current}>${name}</a></li>`;
  });
  const out =
    signOut === undefined
      ? ""
      : html`<form method="post" action="${signOut.action}"><input type="hidden" name="csrf" value="${signOut.csrf}"><button class="plain small">Sign out</button></form>`;
  const nav = links.length === 0 ? "" : html`<nav aria-label="Pages"><ul>${links}</ul></nav>`;
  return html`<header class="top"><div><a class="brand" href="${places[0]?.href ?? "/"}"><img src="${ICON}" alt="" width="20" height="20">Tollgate</a>${nav}${out}</div></header>`;
}

export function pageText(shell: Shell, body: Html): string {
  const scripts = [SCRIPT.href, ...(shell.scripts ?? [])].map(
    (src) => html`<script type="module" src="${src}"></script>\n`,
  );
  const { seconds, to } = shell.again ?? {};
  const again =
    seconds === undefined
      ? ""
      : html`<meta http-equiv="refresh" content="${seconds}${to === undefined ? "" : `; url=${to}`}">\n`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${again}<title>${shell.title} · Tollgate</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${STYLE.href}">
${scripts}</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${bar(shell)}
<main id="main"${shell.isNarrow === true ? html` class="narrow"` : ""}>
<h1>${shell.title}</h1>
${body}
</main>
</body>
</html>
`.text;
}

export function pageAnswer(shell: Shell, body: Html, status = 200): Answer {
  return { status, body: pageText(shell, body), headers: PAGE_HEADERS };
}
