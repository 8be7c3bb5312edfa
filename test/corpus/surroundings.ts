// The surroundings of a page's text: bars, boxes, menus and prompts, in the markup of common web frameworks.
import type { Draft } from "./draft.ts";

type Box = (draft: Draft) => string;

const links = (draft: Draft, count: number) =>
  Array.from(
    { length: count },
    (_, at) => `<li class="item-${at}"><a href="/${draft.word()}/${at}">${draft.word()} ${draft.word()}</a></li>`,
  ).join("");

export const menu: Box = (draft) =>
  draft.chance.of([
    `<nav class="navbar navbar-expand-lg"><ul class="navbar-nav">${links(draft, 7)}</ul><p class="navbar-text">${draft.unwanted()}</p></nav>`,
    `<header class="site-header" role="banner"><a class="skip-link" href="#main">Skip to content</a><div class="menu-main"><ul id="menu-primary" class="menu">${links(draft, 9)}</ul><span>${draft.unwanted()}</span></div></header>`,
    `<header><div class="flex justify-between px-4 py-2"><a href="/">${draft.word()}</a><ul class="flex gap-4">${links(draft, 5)}</ul><div class="text-xs">${draft.unwanted()}</div></div></header>`,
    `<div role="navigation" aria-label="Main"><div class="css-1q2w3e">${links(draft, 8)}</div><div>${draft.unwanted()}</div></div>`,
  ]);

export const footer: Box = (draft) =>
  draft.chance.of([
    `<footer class="site-footer"><div class="footer-widgets"><ul>${links(draft, 10)}</ul></div><p>© 2026 ${draft.word()}. ${draft.unwanted()}</p></footer>`,
    `<div role="contentinfo"><p class="small">${draft.unwanted()}</p><ul>${links(draft, 6)}</ul></div>`,
    `<div id="footer" class="footer-dark"><p>${draft.unwanted()}</p><p>All rights reserved.</p></div>`,
    `<footer><div class="max-w-7xl grid grid-cols-4"><div>${links(draft, 4)}</div><p>${draft.unwanted()}</p></div></footer>`,
  ]);

export const cookies: Box = (draft) =>
  draft.chance.of([
    `<div id="onetrust-banner-sdk" class="otFlat bottom"><p id="onetrust-policy-text">We use cookies. ${draft.unwanted()}</p><button>Accept all</button></div>`,
    `<div class="cookie-consent fixed-bottom"><span>${draft.unwanted()}</span><button>OK</button></div>`,
    `<div id="CybotCookiebotDialog" role="dialog"><h2>This website uses cookies</h2><p>${draft.unwanted()}</p><button>Allow all</button></div>`,
    `<section aria-label="Cookie banner" class="css-9x8y7z"><p>${draft.unwanted()}</p><button>Reject</button><button>Accept</button></section>`,
    `<div class="gdpr-notice"><p>${draft.unwanted()} <a href="/privacy">Privacy policy</a></p></div>`,
    `<div class="css-77aa1"><p>We and our 812 partners use cookies to store and access information on your device. ${draft.unwanted()}</p><button>Accept all cookies</button></div>`,
  ]);

export const newsletter: Box = (draft) =>
  draft.chance.of([
    `<div class="newsletter-signup"><h3>Subscribe to our newsletter</h3><p>${draft.unwanted()}</p><form><input type="email" placeholder="Your email"><button>Subscribe</button></form></div>`,
    `<section class="mailing-list-box"><p>${draft.unwanted()}</p><form action="/subscribe"><input name="email" type="email"><button>Sign up</button></form></section>`,
    `<div class="css-5b6n7m"><h4>Get our weekly newsletter</h4><div>${draft.unwanted()}</div><form><input type="email"><input type="submit" value="Join"></form></div>`,
  ]);

const cards = (draft: Draft, tag: string) =>
  Array.from(
    { length: 3 },
    (_, at) =>
      `<${tag} class="card"><a href="/r/${at}"><img src="/r/${at}.jpg" alt=""><h4>${draft.title()}</h4></a><p>${draft.unwanted()}</p></${tag}>`,
  ).join("");

export const related: Box = (draft) =>
  draft.chance.of([
    `<aside class="related-posts"><h3>Related articles</h3>${cards(draft, "div")}</aside>`,
    `<div class="yarpp-related"><h3>You may also like</h3>${cards(draft, "div")}</div>`,
    `<section class="css-0p9o8i"><h2>Customers also bought</h2><ul>${cards(draft, "li")}</ul></section>`,
    `<div class="recommendations" data-module="recirc"><h2>More from this section</h2>${cards(draft, "div")}</div>`,
    `<section aria-labelledby="rel"><h2 id="rel">Recommended for you</h2><div class="grid">${cards(draft, "div")}</div></section>`,
  ]);

export const advert: Box = (draft) =>
  draft.chance.of([
    `<div class="ad-slot" data-ad="top"><span>Advertisement</span><p>${draft.unwanted()}</p></div>`,
    `<ins class="adsbygoogle"><p>${draft.unwanted()}</p></ins>`,
    `<div class="sponsored-box promo"><p>${draft.unwanted()}</p></div>`,
    `<div id="google_ads_frame2" class="advert"><p>${draft.unwanted()}</p></div>`,
  ]);

export const share: Box = (draft) =>
  draft.chance.of([
    `<div class="social-share"><ul><li><a href="https://social.example/share">Share on Social</a></li><li><a href="mailto:?x">Mail</a></li></ul><span>${draft.unwanted()}</span></div>`,
    `<div class="sharedaddy sd-sharing-enabled"><h3>Share this:</h3><span>${draft.unwanted()}</span></div>`,
  ]);

export const sidebar: Box = (draft) =>
  draft.chance.of([
    `<aside class="sidebar widget-area"><section class="widget"><h2>Recent posts</h2><ul>${links(draft, 5)}</ul></section><section class="widget"><p>${draft.unwanted()}</p></section></aside>`,
    `<div id="sidebar" class="col-md-4"><div class="panel"><h4>Popular</h4><ul>${links(draft, 6)}</ul><p>${draft.unwanted()}</p></div></div>`,
    `<div class="md-sidebar md-sidebar--secondary"><nav><ul>${links(draft, 6)}</ul></nav><p>${draft.unwanted()}</p></div>`,
  ]);

export const unseen: Box = (draft) =>
  draft.chance.of([
    `<div style="display:none"><p>${draft.unwanted()}</p></div>`,
    `<div class="modal fade" role="dialog" aria-hidden="true"><div class="modal-dialog"><p>${draft.unwanted()}</p></div></div>`,
    `<template><p>${draft.unwanted()}</p></template>`,
    `<script type="application/json">{"text":"${draft.unwanted()}"}</script><style>.x{color:red}</style>`,
    `<div hidden><p>${draft.unwanted()}</p></div>`,
    `<p style="font-size:0">${draft.unwanted()}</p>`,
    `<p style="color:#fff;background-color:#ffffff">${draft.unwanted()}</p>`,
  ]);

const WITHIN: readonly [Box, ...Box[]] = [advert, share, related, newsletter];

/** What sites insert between or after the paragraphs of a text. */
export function within(draft: Draft): string {
  return draft.chance.happens(0.55) ? draft.chance.of(WITHIN)(draft) : "";
}
