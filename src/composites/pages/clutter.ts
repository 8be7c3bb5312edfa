// Takes out what stands around a page's text: bars, menus, boxes that sell or plead, whatever framework has written them.
import { measured, type PageElement, textOf } from "./page-dom.ts";

export const AROUND = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],dialog";
/** Never a part of a text, whatever it holds. */
const CONTROLS =
  "button,select,textarea,input,a.headerlink,a.anchor,a.anchorjs-link,.skip-link,.sr-only-focusable,[role=tablist],[role=search],.linenos,.lineno,.line-numbers-rows,.gutter,.copy-button,.mw-editsection";

/** As words of a class, an id or a label: what sites call such boxes. */
const NAMED =
  /(?:^|[\s_-])(?:cookies?|cookiebot\w{0,20}|cookieconsent|consent|gdpr|ccpa|onetrust|newsletters?|mailing-?list|mailinglist|subscribe-(?:box|form)|signup-(?:box|form)|related|relatedposts|yarpp|recommend(?:ed|ations?)|recirc|recirculation|also-(?:like|bought|viewed)|upsells?|cross-?sells?|outbrain|taboola|share|sharing|sharedaddy|addtoany|social|social-?links?|ads?|adsbygoogle|advert\w{0,10}|google_ads\w{0,20}|sponsored|sponsor|promo|breadcrumbs?|sidebar|widget-area|navbar|navigation|site-header|site-footer|footer|masthead|menu|popup|modal|toast|pagination|pager|post-controls|votecell|vote|toc|skip-to-content|dialog)(?:$|[\s_-])/i;
/** Words that a box of the text itself may have in its name too. */
const ITS_OWN = /(?:^|[\s_-])(?:entry|article|post|story|main)-(?:content|body|text|header)(?:$|[\s_-])/i;

/** How boxes begin that lead away from the page, or plead. */
const HEADED =
  /^(?:related\b|you (?:may|might) also|customers also|people also|more from|more in\b|more on\b|recommended|read next|up next|trending|popular\b|most (?:read|popular)|recent posts|latest (?:posts|news)|share this|follow us|subscribe to (?:our|the)|sign up for|get our|join our|this (?:web)?site uses cookies|we (?:value|use)|das könnte|mehr zum|ähnliche|à lire aussi|articles similaires|artículos relacionados|también te|leia também|potrebbe|lees ook|läs också|czytaj też|читайте также|関連記事|相关(?:文章|阅读)|관련 기사)/i;
const CONSENTING =
  /\b(?:accept|agree|allow|reject|ok|got it|akzeptieren|accepter|aceptar|aceitar|accetta|accepteren)\b/i;
const NOTE = /note|tip|warning|callout|admonition|hint|important|pull/i;

/** No box around a text is so long, nor so much of a page. */
const BOX_CHARS_MAX = 6_000;
const BOX_SHARE_MAX = 0.5;
const PLEA_CHARS_MAX = 900;
/** What is to be pressed is no plea alone. */
const PLEA_CHARS_MIN = 40;
const HEADING_CHARS_MAX = 80;
const LEVELS_MAX = 6;
/** What pages are built of: no box. */
const FRAME = "html,body,main,article,[role=main],td,h1";

/** What its author calls an element, for styles or for readers who listen. */
const nameOf = (element: PageElement) =>
  ["class", "id", "aria-label"].map((name) => (element.getAttribute(name) ?? "").slice(0, 300)).join(" ");

/** Takes out of `body` all that is no part of its text. */
export function removeClutter(body: PageElement): void {
  const chars = measured(body);
  const charsOf = (element: PageElement) => chars.get(element) ?? 0;
  const all = charsOf(body);
  const isBox = (element: PageElement) => {
    if (element === body || element.matches(FRAME)) return false;
    const own = charsOf(element);
    if (own > BOX_CHARS_MAX) return false;
    return own <= all * BOX_SHARE_MAX || element.querySelector("main,article,h1") === null;
  };
  for (const plea of pleasIn(body, charsOf)) if (isBox(plea)) plea.remove();
  for (const element of body.querySelectorAll(CONTROLS)) element.remove();
  for (const element of body.querySelectorAll(AROUND)) if (isAround(element)) element.remove();
  for (const element of body.querySelectorAll("[class],[id],[aria-label]")) {
    const name = nameOf(element);
    if (NAMED.test(name) && !ITS_OWN.test(name) && isBox(element) && element.closest("pre,code") === null)
      element.remove();
  }
  for (const heading of body.querySelectorAll("h2,h3,h4,h5,h6")) {
    const box = charsOf(heading) < HEADING_CHARS_MAX && HEADED.test(textOf(heading)) ? boxOf(heading) : null;
    if (box !== null && isBox(box)) box.remove();
  }
}

/** The title of a text, and a remark within it, stand in such elements too. */
function isAround(element: PageElement): boolean {
  const name = element.nodeName.toLowerCase();
  if (name === "header")
    return element.closest("article,main,[role=main]") === null || element.querySelector("h1") === null;
  if (name === "aside") return !NOTE.test(nameOf(element));
  if (name === "footer") return element.closest("blockquote") === null;
  return element.querySelector("main,article > p") === null;
}

/** The box that a heading is the head of; null: it stands among the text. */
function boxOf(heading: PageElement): PageElement | null {
  const box = heading.parentElement;
  if (box === null || box.matches("body,main,article,td")) return null;
  return box.firstElementChild === heading ? box : null;
}

/** Short boxes that ask for consent to cookies, or for an address to write to: found from what is to be pressed or filled in. */
function pleasIn(body: PageElement, charsOf: (element: PageElement) => number): readonly PageElement[] {
  const pleas: PageElement[] = [];
  for (const control of body.querySelectorAll("button,input[type=email],[role=button]")) {
    const asksAddress =
      control.getAttribute("type") === "email" && control.closest("form")?.querySelector("[type=password]") == null;
    let box = control.parentElement;
    for (let level = 0; box !== null && level < LEVELS_MAX; level++, box = box.parentElement) {
      const chars = charsOf(box);
      if (chars > PLEA_CHARS_MAX || box.matches(FRAME)) break;
      if (chars < PLEA_CHARS_MIN) continue;
      const text = textOf(box);
      if (asksAddress || (/cookie/i.test(text) && CONSENTING.test(text))) pleas.push(box);
      else continue;
      break;
    }
  }
  return pleas;
}
