// Detects pages that show only the beginning of paid content: by their structured data, else by the words where the text breaks off.
import { nextIn, type PageElement, TEXT } from "./page-tree.ts";

/** Phrases where a text breaks off, in the most common languages of such pages. */
const WORDS = [
  /(?:subscribe|sign up|log ?in|register|subscriber|member|choose a plan) (?:now )?to (?:(?:continue|keep) reading|read (?:on|the full|the rest|the whole))/i,
  /(?:article|story|content|post|issue) is (?:only )?(?:for|reserved for|available to|exclusive to) (?:paying |paid )?(?:subscribers|members)/i,
  /\b\d+ (?:free )?(?:articles?|stories) (?:left|remaining)/i,
  /(?:abonnieren|registrieren) und weiterlesen|nur für abonnent|réservé aux abonnés|(?:exclusivo|solo) para suscriptores|riservato agli abbonati|alleen voor abonnees/i,
];
/** Longer texts with such words are about paywalls. */
const WORDS_CHARS_MAX = 300;

/** Reads Google's structured data for paywalled content, and the tier that publishers declare to crawlers. */
export function isSaidPaid(
  things: readonly Readonly<Record<string, unknown>>[],
  tier: string | undefined,
): boolean | null {
  const said = things.map((thing) => thing.isAccessibleForFree).find((one) => one !== undefined);
  if (said !== undefined) return String(said).toLowerCase() === "false";
  return tier === undefined ? null : /^(?:locked|metered)$/i.test(tier);
}

const hasWords = (text: string) => text.length <= WORDS_CHARS_MAX && WORDS.some((words) => words.test(text));

function hasShortText(body: PageElement): boolean {
  for (let node = body.firstChild; node !== null; node = nextIn(body, node))
    if (node.nodeType === TEXT && hasWords(node.textContent)) return true;
  return false;
}

/** `said`: what the page declares; null where it declares nothing. */
export function isTeaser(body: PageElement, said: boolean | null): boolean {
  return said ?? hasShortText(body);
}
