// Whether a found person is the wanted one: compares names and companies across their spellings. Pure.
import anyAscii from "any-ascii";
import type { NamedPerson } from "./identifier.ts";
import { NICKNAMES } from "./nicknames.ts";

/** How well a name and a company match, from 0 (a different one) to 1. */
export interface Match {
  readonly name: number;
  /** Null where the source does not name the employer. */
  readonly company: number | null;
}

export interface FoundPerson {
  readonly name: string | null;
  readonly company: string | null;
}

/** Names and companies are cut here: no genuine one is longer, and matching takes time per character. */
const CHARS_MAX = 200;
const WORDS_MAX = 12;

const TITLES =
  /^(?:dr|prof|professor|mr|mrs|ms|miss|sir|herr|frau|dipl|ing|phd|md|mba|msc|bsc|cpa|cfa|esq|jd|ma|ba|sc)$/;
/** `junior` and `senior` are different people. */
const GENERATIONS: ReadonlyMap<string, string> = new Map([
  ["jr", "jr"],
  ["junior", "jr"],
  ["sr", "sr"],
  ["senior", "sr"],
  ["ii", "ii"],
  ["iii", "iii"],
  ["iv", "iv"],
]);
const PARTICLE =
  /^(?:al|el|bin|ibn|ben|da|dal|de|del|della|den|der|di|do|dos|du|la|le|los|ten|ter|van|von|y|zu|zum|af|av|und|e)$/;
const LATIN = /^[\p{Script=Latin}\p{P}\p{S}\p{N}\p{Z}\p{M}]*$/u;

/** German and Nordic names: ä may be written ae, or a without the dots. */
function withoutUmlauts(word: string): string {
  return word.replace(/[aou]e/g, (pair) => pair.charAt(0));
}

/** One form for the romanizations of Russian, Ukrainian, Greek and Arabic names. */
function heard(word: string): string {
  return word
    .replace(/^tch/, "ch")
    .replace(/kh/g, "h")
    .replace(/ph/g, "f")
    .replace(/ks/g, "x")
    .replace(/ou|oy/g, "u")
    .replace(/[yj]/g, "i")
    .replace(/i+/g, "i")
    .replace(/(.)\1/g, "$1")
    .replace(/ie/g, "e")
    .replace(/^e|(?<=[aou])i(?=[aeou])/g, (found) => (found === "e" ? "e" : ""));
}

/** `spelling`: its romanization varies. `vowels`: it is written without vowels. */
type Open = "nothing" | "spelling" | "vowels";

function openIn(text: string): Open {
  if (/[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text)) return "vowels";
  return LATIN.test(text) ? "nothing" : "spelling";
}

/** Whether two words are romanizations of one name, as far as their script leaves that open. */
function soundsAs(a: string, b: string, open: Open): boolean {
  if (open === "nothing") return false;
  const sound = (word: string) => (open === "vowels" ? heard(word).replace(/[aeiou]/g, "") : heard(word));
  return sound(a) === sound(b);
}

interface Name {
  readonly words: readonly string[];
  readonly generation: string | null;
  /** What the script leaves open about the Latin spelling. */
  readonly open: Open;
}

function wordsOf(text: string): readonly string[] {
  const plain = anyAscii(text.normalize("NFC").slice(0, CHARS_MAX))
    .toLowerCase()
    .replace(/['`’.]/g, (sign) => (sign === "." ? " " : ""));
  return plain
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .slice(0, WORDS_MAX);
}

function nameOf(given: string): Name {
  const text = given.slice(0, CHARS_MAX);
  // Before a comma comes the family name.
  const [before = "", after] = text.split(",", 2);
  const isTurned = after !== undefined && wordsOf(after).some((word) => !TITLES.test(word) && !GENERATIONS.has(word));
  // A short name in brackets is an alternative name of the same person.
  const straight = (isTurned ? `${after} ${before}` : text).replace(/[("“][^()"“”]{0,40}[)"”]/g, " ");
  const all = wordsOf(straight);
  const generation =
    all
      .slice(1)
      .map((word) => GENERATIONS.get(word))
      .find((word) => word !== undefined) ?? null;
  const words = all.filter((word, at) => !TITLES.test(word) && !(at > 0 && GENERATIONS.has(word)));
  return { words, generation, open: openIn(text) };
}

/** How well two words of names match; 0: different names. `isFirst`: first names have short forms. */
function wordAgreement(a: string, b: string, open: Open, isFirst: boolean): number {
  if (a === b || withoutUmlauts(a) === withoutUmlauts(b)) return 1;
  // Endings such as -sky, -ski and -skiy are spellings of one ending.
  const ending = (word: string) => word.replace(/(?:iy|ii|yi|ij|i)$/, "y");
  if (a.length > 3 && ending(a) === ending(b)) return 1;
  if (soundsAs(a, b, open)) return 0.95;
  if (a.length === 1 || b.length === 1) return a.charAt(0) === b.charAt(0) ? INITIAL : 0;
  if (!isFirst) return 0;
  const lines = NICKNAMES.get(a);
  const isNickname = lines !== undefined && [...(NICKNAMES.get(b) ?? [])].some((line) => lines.has(line));
  if (isNickname) return 0.9;
  const plain = (word: string) => word.replace(/ks/g, "x").replace(/[yj]/g, "i").replace(/(.)\1/g, "$1");
  return plain(a) === plain(b) ? 0.9 : 0;
}

/** An initial is weak evidence: half a name. */
const INITIAL = 0.5;

/** Pairs each word of the shorter name with one of the longer, in any order; 0 where a word has no pair. */
function pairedAgreement(short: readonly string[], long: readonly string[], open: Open): number {
  const left = [...long];
  let sum = 0;
  let whole = 0;
  for (const [at, word] of short.entries()) {
    let [best, where] = [0, -1];
    for (const [place, other] of left.entries()) {
      // The last word is a family name, unless it comes first in the other name.
      const isFirst = at < short.length - 1 && place < left.length - 1;
      const agreed = wordAgreement(word, other, open, isFirst);
      if (agreed > best) [best, where] = [agreed, place];
    }
    if (where < 0) return 0;
    left.splice(where, 1);
    sum += best;
    if (best > INITIAL) whole++;
  }
  // A family name alone, or two initials, fit many people.
  if (whole === 0 || (short.length > 1 ? sum < 1.5 : true)) return 0;
  const all = long.length === short.length ? 1 : 0.95;
  return Math.round((sum / short.length) * all * 100) / 100;
}

const withoutParticles = (words: readonly string[]) => words.filter((word) => !PARTICLE.test(word));

/** Whether both are the same when written without spaces, with the family name first or last. */
function isOneWritten(a: readonly string[], b: readonly string[]): boolean {
  const written = b.join("");
  return a.some((_, at) => [...a.slice(at), ...a.slice(0, at)].join("") === written);
}

/** James David is not David James: where both words are first names, the order distinguishes two people. */
function areTurned([first, last, more]: readonly string[], other: readonly string[]): boolean {
  if (first === undefined || last === undefined || more !== undefined || other.length !== 2 || first === last)
    return false;
  return first === other[1] && last === other[0] && NICKNAMES.has(first) && NICKNAMES.has(last);
}

/** How likely two names are one person's, from 0 to 1. */
export function nameAgreement(wanted: string, found: string): number {
  const [a, b] = [nameOf(wanted), nameOf(found)];
  if (a.words.length === 0 || b.words.length === 0) return 0;
  if (a.generation !== null && b.generation !== null && a.generation !== b.generation) return 0;
  if (areTurned(a.words, b.words)) return 0;
  if (isOneWritten(a.words, b.words) || isOneWritten(b.words, a.words)) return 1;
  const open = a.open === "nothing" ? b.open : a.open;
  const [one, other] = [withoutParticles(a.words), withoutParticles(b.words)];
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  return pairedAgreement(short, long, open);
}

const LEGAL_FORM =
  /^(?:inc|incorporated|corp|corporation|co|company|ltd|limited|llc|llp|lp|plc|gmbh|mbh|ag|se|kg|kgaa|ug|ohg|ev|eg|sa|sas|sarl|srl|spa|bv|nv|ab|as|asa|oy|oyj|aps|kk|pty|pvt|private|pte|sdn|bhd|sl|slu|ltda|lda|doo|sp|zoo|kft|zrt|ooo|oao|zao|pao|jsc|pjsc|the|and|of|und|et|y|e|holding|holdings|group|gruppe|groupe)$/;
/** Words for a company's location or trade, which do not make it a different company. */
const PART_OF_IT =
  /^(?:international|global|worldwide|europe|emea|apac|americas|america|usa|us|uk|deutschland|germany|france|india|china|japan|canada|austria|schweiz|switzerland|italia|espana|nordic|technologies|technology|tech|systems|solutions|software|services|consulting|cloud|labs|lab|research|studio|studios|design|designs|teknoloji|tecnologia|technologie|digital|ai|io|hq|bank|capital|ventures|partners|media|online|com)$/;
const DOMAIN = /^(?:https?:\/\/)?(?:www\.)?([a-z0-9-]+)\.(?:(?:co|com|ac|org|net|gov)\.)?[a-z]{2,}(?:\/.*)?$/i;

/** Removes brackets after a company's name, which hold another name or a place. */
function withoutBrackets(text: string): string {
  const rest = text.slice(0, CHARS_MAX).replace(/\([^()]{0,60}\)/g, " ");
  return rest.trim() === "" ? text : rest;
}

function companyWords(text: string): readonly string[] {
  const name = DOMAIN.exec(text.trim().slice(0, CHARS_MAX))?.[1];
  // Join S.A. and A/S into one word, and spell out plus signs.
  const joined = (name ?? withoutBrackets(text))
    .replace(/(?<!\p{L})(\p{L})[./]\s?(?=\p{L}(?!\p{L}))/gu, "$1")
    .replaceAll("+", " plus ");
  const words = wordsOf(joined);
  // Letters alone form one word, as in P&G.
  return words.length > 1 && words.every(({ length }) => length === 1) ? [words.join("")] : words;
}

function withoutForms(words: readonly string[]): readonly string[] {
  const rest = words.filter((word) => !LEGAL_FORM.test(word));
  return rest.length === 0 ? words : rest;
}

/** How likely two names are one company's, from 0 to 1. */
export function companyAgreement(wanted: string, found: string): number {
  const [all, others] = [companyWords(wanted), companyWords(found)];
  const [a, b] = [withoutForms(all), withoutForms(others)];
  if (a.length === 0 || b.length === 0) return 0;
  if (a.join("") === b.join("") || withoutUmlauts(a.join("")) === withoutUmlauts(b.join(""))) return 1;
  const open = openIn(wanted) === "nothing" ? openIn(found) : openIn(wanted);
  if (soundsAs(a.join(""), b.join(""), open)) return 0.95;
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  const rest = long.slice(short.length);
  const begins = short.every((word, at) => long[at] === word);
  if (begins && rest.every((word) => PART_OF_IT.test(word))) return 0.9;
  const bare = (words: readonly string[]) => words.filter((word) => !PART_OF_IT.test(word)).join("");
  if (bare(a) !== "" && bare(a) === bare(b)) return 0.9;
  // Letters alone abbreviate a name of that many words.
  const letters = short.length === 1 ? (short[0] ?? "") : "";
  const isShort =
    letters.length >= 2 &&
    [long, all, others].some((words) => words.length > 1 && words.map((word) => word.charAt(0)).join("") === letters);
  if (isShort) return 0.8;
  // A single first word fits many companies: Delta is not Delta Dental.
  return begins && short.length > 1 ? 0.6 : 0;
}

/** Below these, a person is someone else, or cannot be told apart from someone else. */
const [NAME_MIN, COMPANY_MIN, NAME_ALONE_MIN] = [0.7, 0.6, 0.9];

/** How well a found person matches the wanted one; null where it is someone else. */
export function matchOf(wanted: NamedPerson, found: FoundPerson): Match | null {
  const name = found.name === null ? 0 : nameAgreement(wanted.name, found.name);
  const company = found.company === null ? null : companyAgreement(wanted.company, found.company);
  if (company === null) return name >= NAME_ALONE_MIN ? { name, company } : null;
  return name >= NAME_MIN && company >= COMPANY_MIN ? { name, company } : null;
}

/** The wanted person among several; null where none matches, or where two match equally well but not fully, such as by the same initial. */
export function oneMeant<T>(
  wanted: NamedPerson,
  found: readonly (readonly [T, FoundPerson])[],
): { one: T; match: Match } | null {
  const matches = found.flatMap(([one, person]) => {
    const match = matchOf(wanted, person);
    return match === null ? [] : [{ one, match, points: match.name + (match.company ?? 0) }];
  });
  const [best, next] = matches.toSorted((a, b) => b.points - a.points);
  if (best === undefined) return null;
  const isDoubtful = next !== undefined && next.points === best.points && best.match.name < NAME_ALONE_MIN;
  return isDoubtful ? null : { one: best.one, match: best.match };
}
