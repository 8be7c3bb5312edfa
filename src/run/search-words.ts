// How words are made equal for the search: what is left out, what is the same word in another form, what means the same.

/** Words that say nothing about which action is meant. */
const SILENT = new Set(
  (
    "a about all an and any are as at be been behind by can could did do does for from give had has have how i in into is it its " +
    "let like make me my need not of on one or our out please should so some somebody someone something than that the " +
    "their them then there these they this those to up us want was way we were what when where which who whose why " +
    "will with without would you your yet way using use via given get"
  ).split(" "),
);

/** Words that mean much the same when somebody looks for an action. Each is found by the others, at less weight. */
const ALIKE: readonly string[] = [
  "image picture photo illustration drawing",
  "video clip movie film animation",
  "speech voice tts narration speak",
  "music song soundtrack",
  "generate create draw produce",
  "page url website site webpage link",
  "scrape read fetch open",
  "crawl spider",
  "search find look google query",
  "company business firm corporation startup organization",
  "person people someone human",
  "paper article publication study scholarly academic",
  "author researcher scientist scholar",
  "cite citation reference",
  "news press headline journalism media",
  "court lawsuit litigation judge sue case",
  "opinion decision ruling judgment",
  "nonprofit charity ngo foundation",
  "regulation rule law cfr statute",
  "drug medicine medication prescription pharmaceutical",
  "car vehicle automobile",
  "patent invention",
  "archive old past history historical snapshot",
  "delete remove erase",
  "upload store save put keep",
  "finished done status ready progress",
  "twitter tweet x",
  "reddit subreddit",
  "subtitle caption transcript",
  "follower follow fan",
  "comment reply",
  "block bot antibot cloudflare captcha unblock",
  "country geo location region germany france city",
  "deep depth thorough comprehensive",
  "answer question",
  "source citation cited",
  "semantic similar meaning neural",
  "stock ticker listed share",
  "revenue financial income profit earnings",
  "filing filed sec edgar",
  "trial study",
  "encyclopedia biography",
  "fact knowledge entity",
];

/** Endings and what stands in their place, longest first. Crude, but the same for what is asked and what is searched. */
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/(ss|[xz]|[cs]h)es$/, "$1"],
  [/([a-z]{2})ies$/, "$1y"],
  [/([^s])s$/, "$1"],
];
const FORMS: readonly RegExp[] = [
  /(?<=[a-z]{3})ations?$/,
  /(?<=[a-z]{4})ate$/,
  /(?<=[a-z]{3})ing$/,
  /(?<=[a-z]{3})ed$/,
];

/** A word without its ending: `charities`, `charity` -> `charity`; `scraping`, `scraped`, `scrape` -> `scrap`. */
export function stem(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word;
  let stemmed = word;
  const plural = ENDINGS.find(([ending]) => ending.test(stemmed));
  if (plural !== undefined && !/(us|is)$/.test(stemmed)) stemmed = stemmed.replace(plural[0], plural[1]);
  const form = FORMS.find((ending) => ending.test(stemmed));
  if (form !== undefined) stemmed = stemmed.replace(form, "");
  stemmed = stemmed.replace(/([bdgmnprt])\1$/, "$1");
  return stemmed.length > 3 ? stemmed.replace(/e$/, "") : stemmed;
}

/** The words of a text, in lower case and without accents: `camelCase` and `snake_case` are two, `10-K` is one. */
export function wordsOf(text: string): readonly string[] {
  const plain = text
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return plain.replace(/\b(\d+)-([a-z])\b/g, "$1$2").match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** A word as the search knows it; null: it says nothing. */
export function termOf(word: string): string | null {
  return SILENT.has(word) ? null : stem(word);
}

function alikeByTerm(): ReadonlyMap<string, readonly string[]> {
  const byTerm = new Map<string, string[]>();
  for (const group of ALIKE) {
    const terms = [...new Set(group.split(" ").map(stem))];
    for (const term of terms) {
      byTerm.set(term, [...(byTerm.get(term) ?? []), ...terms.filter((other) => other !== term)]);
    }
  }
  return byTerm;
}

/** Terms that mean much the same as a term. */
export const ALIKE_TERMS = alikeByTerm();
