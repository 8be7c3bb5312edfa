// Whether a page shows the beginning of what its readers pay for: by what it says for machines, else by the words that stand where the text breaks off.
import type { PageDocument, PageElement, PageNode } from "./page-dom.ts";

/** What stands where a text breaks off, in the languages that most of such pages are in. */
const WORDS = [
  /(?:subscribe|sign up|log ?in|register|subscriber|member|choose a plan) (?:now )?to (?:(?:continue|keep) reading|read (?:on|the full|the rest|the whole))/i,
  /(?:article|story|content|post|issue) is (?:only )?(?:for|reserved for|available to|exclusive to) (?:paying |paid )?(?:subscribers|members)/i,
  /\b\d+ (?:free )?(?:articles?|stories) (?:left|remaining)/i,
  /(?:abonnieren|registrieren) und weiterlesen|nur für abonnent|réservé aux abonnés|(?:exclusivo|solo) para suscriptores|riservato agli abbonati|alleen voor abonnees/i,
];
/** Longer texts with such words are about them. */
const WORDS_CHARS_MAX = 300;
const NODES_MAX = 50_000;
const TEXT = 3;

/** Google's structured data for paywalled content, and the tier that publishers tell crawlers. */
export function isSaidPaid(
  things: readonly Readonly<Record<string, unknown>>[],
  tier: string | undefined,
): boolean | null {
  const said = things.map((thing) => thing.isAccessibleForFree).find((one) => one !== undefined);
  if (said !== undefined) return String(said).toLowerCase() === "false";
  return tier === undefined ? null : /^(?:locked|metered)$/i.test(tier);
}

const hasWords = (text: string | null) => text !== null && WORDS.some((words) => words.test(text));

function hasShortText(body: PageElement): boolean {
  const open: PageNode[] = [body];
  for (let count = 0; count < NODES_MAX; count++) {
    const node = open.pop();
    if (node === undefined) return false;
    if (node.nodeType !== TEXT) open.push(...node.childNodes);
    else if ((node.textContent?.length ?? 0) <= WORDS_CHARS_MAX && hasWords(node.textContent)) return true;
  }
  return false;
}

/** `said`: what the page says of it for machines; null: nothing. */
export function isTeaser({ body }: Pick<PageDocument, "body">, said: boolean | null): boolean {
  return said ?? (hasWords(body.textContent) && hasShortText(body));
}
