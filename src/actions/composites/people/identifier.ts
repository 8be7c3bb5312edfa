// Identifiers of a person: an email address, a LinkedIn profile, or a name with a company. Pure.
import { z } from "zod";

export interface NamedPerson {
  readonly name: string;
  readonly company: string;
}

export type Identifier =
  | { readonly kind: "email"; readonly email: string }
  | { readonly kind: "linkedin"; readonly url: string }
  /** `named` is null where the text does not show which words are the company. */
  | { readonly kind: "name"; readonly query: string; readonly named: NamedPerson | null };

const EMAIL = z.email().max(320);
const LINKEDIN = /^(?:https?:\/\/)?(?:[a-z]{1,3}\.)?(?:linkedin\.com|lnkd\.in)(?:$|[/?#:])/i;
const PROFILE = /^\/(?:in\/([^/]+)(?:\/|$)|pub\/(.*[^/])\/*$)/i;
const PHONE = /^\+?[\d\s().\-/]{7,30}(?:(?:x|ext\.?)\s*\d{1,6})?$/i;
/** The fewest and most digits of an international number (ITU-T E.164). */
const [DIGITS_MIN, DIGITS_MAX] = [7, 15];
const BETWEEN =
  /(?<!\s)(?:\s*[,;|@，、]\s*|\s+[-–—]\s+|\s+(?:works at|working at|who works at|at|from|of|with|bei|chez|en)\s+|\s*[(（])/iu;
const LETTER = /\p{L}/u;
const ANY_NAME_WORDS_MIN = 3;

/** Strips the decoration of copied addresses: `<ada@example.com>`, `mailto:ada@example.com`. */
function bare(text: string): string {
  return text
    .trim()
    .replace(/^<(.+)>$/, "$1")
    .replace(/^(?:mailto|tel):/i, "")
    .trim();
}

function isPhone(text: string): boolean {
  const digits = (text.split(/x|ext/i, 1)[0] ?? "").replace(/\D/g, "").length;
  return PHONE.test(text) && digits >= DIGITS_MIN && digits <= DIGITS_MAX;
}

/** Names the identifier that a text is, as the end of a sentence; null where it is a description or a name. */
export function identifierIn(text: string): string | null {
  const given = bare(text);
  if (EMAIL.safeParse(given).success) return "is an email address";
  if (LINKEDIN.test(given)) return "is a LinkedIn address";
  return isPhone(given) ? "is a phone number" : null;
}

/** The canonical address of a profile; null where it is none. A page below a profile gives the profile. */
export function profileUrl(text: string): string | null {
  const given = text.trim();
  if (!LINKEDIN.test(given)) return null;
  const url = URL.parse(/^https?:/i.test(given) ? given : `https://${given}`);
  const [, slug, old] = PROFILE.exec(url?.pathname ?? "") ?? [];
  if (slug !== undefined) return `https://www.linkedin.com/in/${slug}`;
  return old === undefined ? null : `https://www.linkedin.com/pub/${old}`;
}

/** Splits a name and a company at their separator; null where there is none. */
export function nameWithCompany(text: string): NamedPerson | null {
  const given = text.trim().replace(/\s+/g, " ");
  const between = BETWEEN.exec(given);
  if (between === null) return null;
  const name = given.slice(0, between.index).trim();
  const company = given
    .slice(between.index + between[0].length)
    .replace(/[)）]$/, "")
    .trim();
  return LETTER.test(name) && LETTER.test(company) ? { name, company } : null;
}

/** The identifier in a row, or why there is none, as the end of a sentence. */
export function readIdentifier(text: string): Identifier | string {
  const given = bare(text);
  if (EMAIL.safeParse(given).success) return { kind: "email", email: given };
  if (LINKEDIN.test(given)) {
    const url = profileUrl(given);
    return url === null ? "is not a person's LinkedIn profile, of /in/ or /pub/" : { kind: "linkedin", url };
  }
  if (isPhone(given)) return "is a phone number: an email address, a LinkedIn URL, or a name with a company is needed";
  const query = given.replace(/\s+/g, " ");
  const named = nameWithCompany(query);
  const words = query.split(" ").filter((word) => LETTER.test(word));
  if (named === null && words.length < ANY_NAME_WORDS_MIN)
    return "is not an email address, a LinkedIn URL or a name with a company, such as Ada Lovelace, Example";
  return { kind: "name", query, named };
}

/** Rows with the same key mean the same person. */
export function identifierKey(identifier: Identifier): string {
  if (identifier.kind === "email") return identifier.email.toLowerCase();
  return (identifier.kind === "linkedin" ? identifier.url : identifier.query).toLowerCase();
}

/** Whether the address is at a public mail provider. `webmail` is the tier's list. */
export function isWebmail(email: string, webmail: readonly string[]): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return webmail.some((one) => (one.endsWith(".*") ? domain.startsWith(one.slice(0, -1)) : domain === one));
}
