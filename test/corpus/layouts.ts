// Eight common page layouts, each with its surroundings.
import { type Draft, escaped } from "./draft.ts";
import { advert, cookies, footer, menu, newsletter, related, sidebar, unseen, within } from "./surroundings.ts";

export interface Text {
  readonly title: string;
  readonly main: string;
  /** Whether the text already contains the title. */
  readonly isTitled?: boolean;
  readonly head?: string;
  readonly lang?: string;
  /** Applications and shops have no article element. */
  readonly container?: "article" | "div";
}

type Frame = (draft: Draft, heading: string, main: string, container: string) => string;

const wordpress: Frame = (draft, heading, main, container) =>
  `<body class="single single-post"><div id="page" class="site">${menu(draft)}<div id="content" class="site-content"><div id="primary" class="content-area"><main id="main" class="site-main"><${container} class="post type-post hentry"><header class="entry-header">${heading}<div class="entry-meta"><span class="byline">by <a href="/author/x">${draft.name()}</a></span></div></header><div class="entry-content">${main}</div></${container}>${related(draft)}</main></div>${sidebar(draft)}</div>${footer(draft)}</div>${cookies(draft)}</body>`;

const bootstrap: Frame = (draft, heading, main) =>
  `<body>${cookies(draft)}${menu(draft)}<div class="container"><div class="row"><div class="col-md-8">${heading}${main}${within(draft)}</div>${sidebar(draft)}</div></div>${footer(draft)}${unseen(draft)}</body>`;

const utility: Frame = (draft, heading, main, container) =>
  `<body class="antialiased bg-white"><div class="min-h-screen">${menu(draft)}<main class="mx-auto max-w-3xl px-4"><${container} class="prose">${heading}${main}</${container}>${newsletter(draft)}</main>${footer(draft)}</div>${cookies(draft)}${unseen(draft)}</body>`;

const blocks: Frame = (draft, heading, main) =>
  `<body><div class="page page--wide"><div class="page__top">${menu(draft)}</div><div class="page__body"><div class="page__main"><div class="story"><div class="story__head">${heading}</div><div class="story__text">${main}</div></div>${related(draft)}</div><div class="page__rail">${advert(draft)}${newsletter(draft)}</div></div><div class="page__bottom">${footer(draft)}</div></div>${cookies(draft)}</body>`;

const hashed: Frame = (draft, heading, main) =>
  `<body><div id="__next"><div class="css-1k3j9s"><div class="css-0">${menu(draft)}</div><div class="css-a8f2k1"><div class="css-19dk2p">${heading}</div><div class="css-2m4n6b">${main}</div></div>${related(draft)}${footer(draft)}</div></div>${cookies(draft)}<script id="__NEXT_DATA__" type="application/json">{"page":"/a"}</script></body>`;

const tables: Frame = (draft, heading, main) =>
  `<body bgcolor="#ffffff">${cookies(draft)}<table width="100%" border="0" cellspacing="0"><tr><td class="menu" width="160" valign="top">${menu(draft)}</td><td valign="top">${heading}${main}</td></tr><tr><td colspan="2">${footer(draft)}</td></tr></table></body>`;

const documentation: Frame = (draft, heading, main) =>
  `<body>${menu(draft)}<div class="md-container"><main class="md-main"><div class="md-main__inner"><div class="md-sidebar md-sidebar--primary"><nav class="md-nav"><ul><li><a href="/1">${draft.word()}</a></li><li><a href="/2">${draft.unwanted()}</a></li></ul></nav></div><div class="md-content"><article class="md-content__inner md-typeset">${heading}${main}</article></div>${sidebar(draft)}</div></main>${footer(draft)}</div>${cookies(draft)}</body>`;

const components: Frame = (draft, heading, main, container) =>
  `<body><site-header>${menu(draft)}</site-header><site-page><div slot="body"><${container}>${heading}${main}</${container}></div>${related(draft)}</site-page><site-footer>${footer(draft)}</site-footer>${unseen(draft)}${cookies(draft)}</body>`;

const FRAMES: readonly [Frame, ...Frame[]] = [
  wordpress,
  bootstrap,
  utility,
  blocks,
  hashed,
  tables,
  documentation,
  components,
];
export const FRAMES_COUNT = FRAMES.length;

/** Puts a text into the layout of this number. */
export function framed(draft: Draft, at: number, text: Text): string {
  const { title, main, isTitled = false, head = "", lang = "en", container = "article" } = text;
  const frame = FRAMES[at % FRAMES.length] ?? wordpress;
  if (!isTitled) draft.exact.push(`# ${title}`);
  const heading = isTitled
    ? ""
    : draft.chance.of([`<h1>${escaped(title)}</h1>`, `<h1 class="title"><span>${escaped(title)}</span></h1>`]);
  return `<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${escaped(title)} | Example</title><link rel="stylesheet" href="/app.css">${head}<script>window.dataLayer=[]</script></head>${frame(draft, heading, main, container)}</html>`;
}
