// Pages without readable content: skeletons that scripts fill, and walls; and short pages that are complete.
import { type CorpusPage, Draft } from "./draft.ts";
import { framed } from "./layouts.ts";
import { cookies, footer, menu } from "./surroundings.ts";

const at = (list: readonly string[], number: number) => list[number % list.length] ?? "";

const bundle = (draft: Draft) =>
  `<script type="module" crossorigin src="/assets/index-${draft.chance.whole(1000, 9999)}.js"></script>`;

/** The server-sent skeletons of six frameworks, before any script has run. */
function skeletonBody(draft: Draft, number: number): string {
  const waits = at(["Loading…", "Loading your dashboard…", "Please wait...", "", "Getting things ready…"], number);
  const bars = `<div class="skeleton"><div class="skeleton-line"></div><div class="skeleton-line w-50"></div></div>`;
  return at(
    [
      `<noscript>You need to enable JavaScript to run this app.</noscript><div id="root">${waits}</div>${bundle(draft)}`,
      `<div id="__next"><div class="skeleton"><header>${draft.word()}</header>${bars}<p>${waits}</p></div></div><script id="__NEXT_DATA__" type="application/json">{"props":{}}</script>${bundle(draft)}`,
      `<div id="__nuxt"><div class="loader" aria-busy="true"><h1>${draft.word()}</h1>${waits}</div></div><script>window.__NUXT__={}</script>${bundle(draft)}`,
      `<app-root><div class="splash"><img src="/logo.svg" alt=""><span>${waits}</span></div></app-root>${bundle(draft)}`,
      `<div id="app"><nav><a href="/">${draft.word()}</a><a href="/b">${draft.word()}</a></nav><main><div class="shimmer"></div><p>${waits}</p></main></div>${bundle(draft)}`,
      `<div id="svelte" style="display:contents"><header><a href="/">${draft.word()}</a></header><main>${bars}${waits}</main></div>${bundle(draft)}`,
    ],
    number,
  );
}

export function skeleton(seed: number, number: number): CorpusPage {
  const draft = new Draft(seed);
  const html = `<!doctype html><html><head><title>${draft.word()}</title></head><body>${skeletonBody(draft, number)}</body></html>`;
  return draft.end({ kind: "skeleton", name: `skeleton-${number}`, html, is: "shell" });
}

const LOGINS = [
  "Please log in to continue reading this article.",
  "Sign in to view this page. You need to log in to your account.",
  "Log in to see the discussion. This content is for members.",
  "Subscribe to read. Already have an account? Sign in to continue.",
  "You must be logged in to view this profile. Sign in or create an account to continue.",
];

export function login(seed: number, number: number): CorpusPage {
  const draft = new Draft(seed);
  const form = `<form method="post"><label>Email <input name="email"></label><label>Password <input type="password" name="password"></label><button>Sign in</button><a href="/forgot">Forgot password?</a></form>`;
  const around = number % 3 === 0 ? "" : menu(draft);
  const html = `<!doctype html><html><head><title>${at(["Log in", "Sign in to continue", "Members only"], number)}</title></head><body>${around}<main><h1>${at(["Welcome back", "Sign in", "Members only"], number)}</h1><p>${at(LOGINS, number)}</p>${form}</main>${number % 2 === 0 ? footer(draft) : ""}</body></html>`;
  return draft.end({ kind: "login", name: `login-${number}`, html, is: "wall" });
}

/** Eight vendors of walls: the markers in their code, and their texts. */
const CAPTCHAS: readonly (readonly [string, string])[] = [
  [
    `<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script><div id="cf-chl-widget"></div>`,
    "Just a moment... Verifying you are human. This may take a few seconds.",
  ],
  [
    `<div id="px-captcha"></div><script>window._pxAppId="PX1"</script>`,
    "Press & Hold to confirm you are a human (and not a bot).",
  ],
  [`<script src="https://ct.captcha-delivery.com/c.js"></script>`, "Please enable JS and disable any ad blocker"],
  [`<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>`, "Request unsuccessful. Incident ID: 8830-1."],
  [
    `<script>window.gokuProps={"key":"a"};</script><script>awsWafCookieDomainList=[]</script>`,
    "Let's confirm you are human. Complete the security check before continuing.",
  ],
  [
    `<div id="sec-if-cpt-container"></div>`,
    "Access Denied. You don't have permission to access this page on this server. Reference #18.2d35",
  ],
  [`<script src="/149e9513-01fa/kpsdk.js"></script><script>window.KPSDK={};kpsdk=1</script>`, ""],
  [
    `<form><div class="g-recaptcha" data-sitekey="k" data-callback="onCaptcha"></div></form>`,
    "Our systems have detected unusual traffic from your computer network. Solve this captcha.",
  ],
];

export function captcha(seed: number, number: number): CorpusPage {
  const draft = new Draft(seed);
  const [mark, says] = CAPTCHAS[number % CAPTCHAS.length] ?? ["", ""];
  const host = `${draft.word()}-${draft.word()}.example`;
  const more =
    number % 2 === 0 ? "" : `<p>${host} needs to review the security of your connection before proceeding.</p>`;
  const foot =
    number % 3 === 0 ? `<footer>Ray ID: ${seed.toString(16)}ab. Performance &amp; security by Example</footer>` : "";
  const html = `<!doctype html><html><head><title>${host}</title></head><body><div class="main-wrapper">${mark}<h1>${host}</h1><p>${says}</p>${more}</div>${foot}</body></html>`;
  return draft.end({
    kind: "captcha",
    name: `captcha-${number}`,
    html,
    is: "wall",
    status: [200, 200, 403][number % 3] ?? 200,
  });
}

const LIMITS = [
  "Too many requests. You have been rate limited.",
  "Rate limit exceeded. Your request was blocked, try again in 60 seconds.",
  "Unusual traffic from your network: too many requests. Please slow down.",
  "You have been blocked. Automated requests are not allowed.",
  "Access to this page has been denied because of automated access. Too many requests.",
];

export function limited(seed: number, number: number): CorpusPage {
  const draft = new Draft(seed);
  const status = [429, 200, 503, 200][number % 4] ?? 200;
  const html = `<html><head><title>${at(["Too Many Requests", "Error", "Slow down", "Blocked"], number)}</title></head><body><center><h1>${at(LIMITS, number)}</h1></center><hr><p>Request ${draft.chance.whole(1000, 9999)}</p></body></html>`;
  return draft.end({ kind: "limited", name: `limited-${number}`, html, is: "wall", status });
}

const MISSING = [
  "The page that you look for does not exist any more.",
  "Sorry, this article has been removed by its author.",
  "We could not find that page. It may have moved.",
  "Nothing lives at this address.",
];

/** Answers 200 and says that there is nothing: that is all there is to read, and no other rung gets more. */
export function missing(seed: number, number: number): CorpusPage {
  const draft = new Draft(seed);
  const says = at(MISSING, number);
  draft.must.push(says);
  const main = `<p>${says}</p><p>Go <a href="/">home</a> or search the site.</p>`;
  const html = framed(draft, number, {
    title: at(["Page not found", "404", "Gone", "Oops"], number),
    main,
    container: "div",
  });
  return draft.end({ kind: "missing", name: `missing-${number}`, html });
}

export function empty(seed: number, number: number): CorpusPage {
  const draft = new Draft(seed);
  const says = `${at(["No results for", "0 results were found for", "Nothing matches", "Your search did not match any entries:"], number)} ${draft.word()} ${draft.word()}`;
  draft.must.push(says);
  const html = `<!doctype html><html><head><title>Search</title></head><body>${menu(draft)}<main><h1>Search</h1><form role="search"><input type="search"></form><div class="results"><p>${says}</p></div></main>${footer(draft)}${cookies(draft)}</body></html>`;
  return draft.end({ kind: "empty", name: `empty-${number}`, html });
}
