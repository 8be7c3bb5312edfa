// Removes what surrounds a page's text: bars, menus, forms, promotions and pleas, in the markup of common frameworks.
import { measured, standsIn, textOf, walkElements } from "./page-dom.ts";
import type { PageElement } from "./page-tree.ts";

/** Beginnings of headings of boxes that link elsewhere, beg for sign-ups, or invite comments. */
const HEADED =
  /^(?:related\b|you (?:may|might) also|customers (?:also|who)|people also|more from|more in\b|more on\b|recommended|read next|up next|trending|trends for you|who to follow|popular\b|most (?:read|popular|viewed)|recent posts|latest (?:posts|news)|hot network|share this|follow us|subscribe to (?:our|the)|sign up for|new to \S{1,20}\?|get our|join (?:our|my)|leave a (?:reply|comment)|post a comment|write a (?:comment|review|response)|your answer$|apply for this (?:job|position)|is this page|was this (?:page|article)|this (?:web)?site uses cookies|we (?:value|use)|das könnte|mehr zum|ähnliche|à lire aussi|articles similaires|artículos relacionados|también te|leia também|potrebbe|lees ook|läs också|czytaj też|читайте также|اقرأ أيض|関連記事|相关(?:文章|阅读)|관련 기사)/i;

const ADVERT =
  /^(?:advertisement|ad|sponsored|anzeige|werbung|publicidad|publicité|pubblicità|publicidade|advertentie|reklama|реклама|広告|广告|إعلان)$/i;
const COPYRIGHT = /^(?:©|\(c\)|copyright)\s?(?:©|\(c\))?\s?\d{4}\b/i;
const RIGHTS =
  /(?:all rights reserved|alle rechte vorbehalten|tous droits réservés|todos los derechos reservados|جميع الحقوق محفوظة|版权所有)\.?$/i;
/** Labels of links and buttons that do something. */
const PRESSED =
  /^(?:share|print|save|reply|permalink|follow|listen|report|log ?in|sign ?(?:in|up)|subscribe|add a comment|jump to recipe|print recipe|back to top|view all jobs|•••|\[–\]|\[-\])$/i;

function isLineOfClutter(line: string): boolean {
  return ADVERT.test(line) || PRESSED.test(line) || COPYRIGHT.test(line) || RIGHTS.test(line);
}

export const AROUND =
  "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],dialog";
const AROUND_NAMES = new Set(["nav", "header", "footer", "aside", "dialog"]);
const AROUND_ROLES = /^(?:navigation|banner|contentinfo|complementary)$/;

/** Never part of a text, whatever they contain. */
const CONTROLS = new Set(["select", "textarea", "input", "amp-ad", "amp-sidebar", "amp-consent", "clipboard-copy"]);
const CONTROL_ROLES = /^(?:tablist|search)$/;
const CONTROL_CLASS =
  /(?:^|\s)(?:skip-link|sr-only-focusable|linenos|lineno|line-numbers-rows|gutter|copy-button|mw-editsection|noprint|no-print|d-print-none|print:d-none|hidden-print|language-name|viewcode-link|ltx_ERROR|ltx_note_mark|ltx_tag_note)(?:$|\s)/;
const ANCHOR_CLASS = /(?:^|\s)(?:headerlink|header-anchor|hash-link|doc-anchor|anchor|anchorjs-link)(?:$|\s)/;
/** Parents in which a button is a heading that opens its text, or a column head that sorts. */
const NAMED_BY_BUTTONS = new Set(["h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary", "th"]);
const CELLS = new Set(["td", "dd"]);

/** Names of such boxes, as words of a class, id, label or test name. */
const NAMED =
  /(?:^|[\s_-])(?:cookies?|cookiebot\w{0,20}|cookieconsent|consent|gdpr|ccpa|onetrust|newsletters?|mailing-?list|mailinglist|subscribe-(?:box|form)|signup-(?:box|form)|related|relatedposts|yarpp|recommend(?:ed|ations?)|recirc|recirculation|also-(?:like|bought|viewed)|upsells?|cross-?sells?|outbrain|taboola|share|sharing|sharedaddy|addtoany|social|social-?links?|ads?|adsbygoogle|advert\w{0,10}|google_ads\w{0,20}|sponsored|sponsor|promo|breadcrumbs?|sidebar|widget-area|navbar|navigation|site-header|site-footer|footer|masthead|menu|popup|modal|toast|pagination|pager|post-controls|votecell|vote|toc|skip-to-content|dialog)(?:$|[\s_-])/i;
const NAMED_BY_FRAMES =
  /(?:^|[\s_-])(?:subscription-widget|navbox|catlinks|announcement-?bar|top-?bar|bottom-?bar|dropdown|portlet|cart-drawer|mini-cart|prev-next|skip-links?|jump-?link|back-to-top|comment-respond|signed-out-comment|page-feedback|links-block)(?:$|[\s_-])/i;
/** Names that boxes of the text itself may have as well. */
const ITS_OWN = /(?:^|[\s_-])(?:entry|article|post|story|main)-(?:content|body|text|header)(?:$|[\s_-])/i;
const NAME_ATTRIBUTES = ["class", "id", "aria-label", "data-testid", "data-component"];

const CONSENTING =
  /\b(?:accept|agree|allow|reject|ok|got it|akzeptieren|accepter|aceptar|aceitar|accetta|accepteren)\b/i;
const NOTE = /note|tip|warning|callout|admonition|hint|important|pull/i;

/** A box around the text is neither longer than this nor a larger share of the page. */
const BOX_CHARS_MAX = 6_000;
const BOX_SHARE_MAX = 0.5;
const PLEA_CHARS_MAX = 900;
/** A shorter box is only a button, not a plea. */
const PLEA_CHARS_MIN = 40;
const HEADING_CHARS_MAX = 80;
const LINE_CHARS_MAX = 200;
const LEVELS_MAX = 6;
/** Bounds of a bar of links above the heading: the length of each link, and the bar's share of the page. */
const BAR_LINK_CHARS_MAX = 60;
const BAR_SHARE_MAX = 0.15;
/** Elements that structure a page; never a box of clutter. */
const FRAME = new Set(["html", "body", "main", "article", "td", "h1"]);
const HEADING = /^h[1-6]$/;
const PARTS = new Set(["article", "main", "section", "li"]);
const LINES = new Set(["a", "div", "span", "p", "li", "small", "summary"]);
const TEXTS = new Set(["p", "td", "dd", "figure", "blockquote", "pre", "code"]);

const isFrame = (element: PageElement) => FRAME.has(element.localName) || element.getAttribute("role") === "main";

/** The names that an author gives an element, for styles, tests or screen readers. */
function nameOf(element: PageElement): string {
  const { localName } = element;
  const said = NAME_ATTRIBUTES.map((name) => element.getAttribute(name)?.slice(0, 300) ?? "").join(" ");
  return localName.includes("-") ? `${localName} ${said}` : said;
}

/** Whether a word says what an element has beside it rather than what it is. */
function isBeside(word: string): boolean {
  return /^(?:has|with|no|without|content-sidebar)-|-not-|^has[A-Z]|(?:With|Has)[A-Z]/.test(word);
}

function isNamedSo(element: PageElement): boolean {
  if (HEADING.test(element.localName)) return false;
  const name = nameOf(element);
  if (name.length <= NAME_ATTRIBUTES.length) return false;
  const words = name.split(/\s+/).filter((word) => !isBeside(word));
  const said = words.join(" ").replace(/([a-z])([A-Z])/g, "$1-$2");
  return (NAMED.test(said) || NAMED_BY_FRAMES.test(said)) && !ITS_OWN.test(name);
}

type Chars = (element: PageElement) => number;

export function removeClutter(body: PageElement): void {
  const chars = measured(body);
  const charsIn: Chars = (element) => chars.get(element) ?? 0;
  const all = charsIn(body);
  const isBox = (element: PageElement) => {
    if (element === body || isFrame(element)) return false;
    const own = charsIn(element);
    if (own > BOX_CHARS_MAX) return false;
    return own <= all * BOX_SHARE_MAX || element.querySelector("main,article,h1") === null;
  };
  for (const plea of pleasIn(body, charsIn)) if (isBox(plea)) plea.remove();
  walkElements(body, (element) => {
    const box = clutterAt(element, charsIn, isBox);
    box?.remove();
    return box === null;
  });
  removeBar(body, charsIn);
}

/** What to remove for an element: itself, or the box that it heads; null where it stays. */
function clutterAt(element: PageElement, charsIn: Chars, isBox: (element: PageElement) => boolean): PageElement | null {
  if (isControl(element, charsIn) || isAround(element)) return element;
  if (element.localName === "form" && isToFillIn(element) && isBox(element)) return element;
  if (isNamedSo(element) && isBox(element)) return element.closest("pre,code") === null ? element : null;
  const own = charsIn(element);
  if (own === 0 || own > LINE_CHARS_MAX) return null;
  const box =
    own < HEADING_CHARS_MAX && isHeading(element, charsIn) && HEADED.test(textOf(element)) ? boxOf(element) : null;
  if (box !== null && isBox(box)) return box;
  return isLine(element, charsIn) && isLineOfClutter(textOf(element)) ? element : null;
}

/** Whether an element is a line of its own; a word within a sentence or cell may be anything. */
function isLine(element: PageElement, charsIn: Chars): boolean {
  if (!LINES.has(element.localName) || element.children.length > 3 || standsIn(element, TEXTS)) return false;
  const parent = element.parentElement;
  return (
    element.localName === "p" || parent === null || parent.localName !== "li" || charsIn(parent) === charsIn(element)
  );
}

function isControl(element: PageElement, charsIn: Chars): boolean {
  const { localName } = element;
  if (localName === "button") return !saysSomething(element, charsIn);
  if (CONTROLS.has(localName)) return true;
  const role = element.getAttribute("role");
  if (role !== null && CONTROL_ROLES.test(role)) return true;
  const classes = element.getAttribute("class");
  if (classes === null) return false;
  if (classes === "lang") return /(?:^|\s)language-/.test(element.parentElement?.getAttribute("class") ?? "");
  return CONTROL_CLASS.test(classes) || (localName === "a" && ANCHOR_CLASS.test(classes));
}

/** Whether a button is a whole heading, or the text of a cell. */
function saysSomething(button: PageElement, charsIn: Chars): boolean {
  let at = button.parentElement;
  for (let level = 0; at !== null && level < 3; level++, at = at.parentElement) {
    if (NAMED_BY_BUTTONS.has(at.localName)) return charsIn(at) <= charsIn(button) + 5;
    if (CELLS.has(at.localName)) return button.querySelector("div,p,abbr") !== null;
  }
  return false;
}

/** Whether an element surrounds the text. Not a header within the text, a note, or the footer of a quotation. */
function isAround(element: PageElement): boolean {
  const name = element.localName;
  const role = element.getAttribute("role") ?? "";
  if (!AROUND_NAMES.has(name) && !AROUND_ROLES.test(role)) return false;
  if (name === "header") return !standsIn(element, PARTS, LEVELS_MAX) || element.querySelector("nav") !== null;
  if (name === "aside" || role === "complementary") return !NOTE.test(nameOf(element));
  if (name === "footer") return element.closest("blockquote") === null;
  return element.querySelector("main,article > p") === null;
}

function isToFillIn(form: PageElement): boolean {
  const fields = [...form.querySelectorAll("input,textarea,select")].map((field) =>
    field.localName === "input" ? (field.getAttribute("type") ?? "text") : field.localName,
  );
  if (fields.some((type) => /^(?:textarea|email|tel|file)$/i.test(type))) return true;
  return (
    fields.some((type) => /^text$/i.test(type)) &&
    fields.filter((type) => /^(?:text|url|select)$/i.test(type)).length > 1
  );
}

function isHeading(element: PageElement, charsIn: Chars): boolean {
  if (HEADING.test(element.localName)) return true;
  const [only, another] = element.children;
  return (
    element.localName === "p" &&
    another === undefined &&
    only !== undefined &&
    charsIn(only) === charsIn(element) &&
    /^(?:b|strong)$/.test(only.localName)
  );
}

/** The box that a heading heads; null where the heading is part of the text. */
function boxOf(heading: PageElement): PageElement | null {
  const box = heading.parentElement;
  if (box === null || isFrame(box)) return null;
  return box.firstElementChild === heading ? box : null;
}

/** Removes the links above the heading, on pages that mark up no navigation. */
function removeBar(body: PageElement, charsIn: Chars): void {
  const bar: PageElement[] = [];
  let chars = 0;
  for (const element of body.querySelectorAll("h1,a")) {
    if (element.localName === "h1") break;
    const own = charsIn(element);
    if (own === 0 || own > BAR_LINK_CHARS_MAX || standsIn(element, TEXTS)) continue;
    chars += own;
    bar.push(element);
  }
  const hasHeading = bar.length > 0 && body.querySelector("h1") !== null;
  if (hasHeading && chars <= charsIn(body) * BAR_SHARE_MAX) for (const link of bar) link.remove();
}

/** Finds short boxes that ask for cookie consent or an email address, by their buttons and fields. */
function pleasIn(body: PageElement, charsIn: Chars): readonly PageElement[] {
  const pleas: PageElement[] = [];
  for (const control of body.querySelectorAll("button,input[type=email],[role=button]")) {
    const asksAddress =
      control.getAttribute("type") === "email" && control.closest("form")?.querySelector("[type=password]") == null;
    let box = control.parentElement;
    for (let level = 0; box !== null && level < LEVELS_MAX; level++, box = box.parentElement) {
      const chars = charsIn(box);
      if (chars > PLEA_CHARS_MAX || isFrame(box)) break;
      if (chars < PLEA_CHARS_MIN) continue;
      const text = textOf(box);
      if (asksAddress || (/cookie/i.test(text) && CONSENTING.test(text))) pleas.push(box);
      else continue;
      break;
    }
  }
  return pleas;
}
