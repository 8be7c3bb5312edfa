// Whether a query names one person, and whether a found person is the one. Pure.
import { type NamedPerson, nameWithCompany } from "./identifier.ts";
import type { FoundPerson } from "./same-person.ts";

const PARTICLE = /^(?:al|bin|da|dal|de|del|della|den|der|di|do|dos|du|el|ibn|la|le|los|mac|of|ten|ter|van|von|y|zu)$/;
/** A word of a name, in scripts with upper case and in scripts without case. */
const NAME_WORD = /^(?:\p{Lu}|\p{Lo})[\p{L}\p{M}'’.-]*$/u;
const NO_CASE = /^\p{Lo}+$/u;
const [NAME_WORDS_MIN, NAME_WORDS_MAX, COMPANY_WORDS_MAX] = [2, 5, 8];
/** In scripts without spaces, one word is a whole name. */
const [WHOLE_NAME_CHARS_MIN, WHOLE_NAME_CHARS_MAX] = [2, 8];
const TITLE_BEHIND_NAME = /(?<!\s)\s+[|–—-]\s+|,\s/u;

/** The words of a text, without case, diacritics and punctuation. */
export function plainWords(text: string): readonly string[] {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

function isRole(word: string, roles: readonly string[]): boolean {
  const plain = word.toLowerCase();
  return (
    roles.includes(plain) || roles.includes(plain.replace(/s$/, "")) || roles.includes(plain.replace(/[’']s$/, ""))
  );
}

function isName(text: string, roles: readonly string[]): boolean {
  const words = text.split(" ");
  if (words.length === 1 && NO_CASE.test(text))
    return text.length >= WHOLE_NAME_CHARS_MIN && text.length <= WHOLE_NAME_CHARS_MAX;
  if (words.length < NAME_WORDS_MIN || words.length > NAME_WORDS_MAX) return false;
  // CTO, VP and AI are roles; upper-case words are names only where the whole name is in upper case.
  const isLoud = words.every((word) => word === word.toUpperCase());
  return words.every((word, at) => {
    if (isRole(word, roles) || (!isLoud && /^\p{Lu}{2,}s?$/u.test(word))) return false;
    return NAME_WORD.test(word) || (at > 0 && PARTICLE.test(word));
  });
}

/** The one person whom a query names, with a company; null where it describes people. `roles` is the tier's list. */
export function personIn(query: string, roles: readonly string[]): NamedPerson | null {
  const named = nameWithCompany(query);
  if (named === null || !isName(named.name, roles)) return null;
  const words = named.company.split(" ");
  return words.length > COMPANY_WORDS_MAX || words.some((word) => isRole(word, roles)) ? null : named;
}

/** The name alone, where a page title continues after it. */
export function nameOf(title: string): string {
  return title.split(TITLE_BEHIND_NAME)[0]?.trim() ?? title;
}

export function isNamedBy(query: string, { name, company }: FoundPerson): boolean {
  const words = plainWords(query);
  const theirs = plainWords(name ?? "");
  if (theirs.length < NAME_WORDS_MIN || words.length <= theirs.length) return false;
  const rest = words.slice(theirs.length);
  const theirCompany = plainWords(company ?? "");
  return (
    theirs.every((word, at) => words[at] === word) &&
    theirCompany.length > 0 &&
    rest.filter((word) => theirCompany.includes(word)).length === Math.min(theirCompany.length, rest.length) &&
    rest.length <= theirCompany.length + 1
  );
}
