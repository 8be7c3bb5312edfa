// What identifies a person: an email address, a LinkedIn profile, or a name with a company. Pure.
import { z } from "zod";

/** A name and a company, as a caller wrote them. */
export interface NamedPerson {
  readonly name: string;
  readonly company: string;
}

export type Identifier =
  | { readonly kind: "email"; readonly email: string }
  | { readonly kind: "linkedin"; readonly url: string }
  /** `named` is null where the text does not say which of its words are the company. */
  | { readonly kind: "name"; readonly query: string; readonly named: NamedPerson | null };

const EMAIL = z.email().max(320);
const LINKEDIN = /^(?:https?:\/\/)?(?:[a-z]{1,3}\.)?(?:linkedin\.com|lnkd\.in)(?:$|[/?#:])/i;
const PROFILE = /^\/(?:in\/([^/]+)(?:\/|$)|pub\/(.*[^/])\/*$)/i;
const PHONE = /^\+?[\d\s().\-/]{7,30}(?:(?:x|ext\.?)\s*\d{1,6})?$/i;
/** The fewest and the most digits of a number that can be called from anywhere (ITU-T E.164). */
const [DIGITS_MIN, DIGITS_MAX] = [7, 15];
/** What stands between a name and a company. */
const BETWEEN =
  /(?<!\s)(?:\s*[,;|@，、]\s*|\s+[-–—]\s+|\s+(?:works at|working at|who works at|at|from|of|with|bei|chez|en)\s+|\s*[(（])/iu;
const LETTER = /\p{L}/u;
const ANY_NAME_WORDS_MIN = 3;

/** `<ada@example.com>` and `mailto:ada@example.com` are what people copy. */
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

/** What a text identifies a person by, where it is no description and no name: the end of a sentence. Null: it is none of these. */
export function identifierIn(text: string): string | null {
  const given = bare(text);
  if (EMAIL.safeParse(given).success) return "is an email address";
  if (LINKEDIN.test(given)) return "is a LinkedIn address";
  return isPhone(given) ? "is a phone number" : null;
}

/** The address of a profile as everybody writes it; null: it is none. Of pages below a profile, the profile. */
export function profileUrl(text: string): string | null {
  const given = text.trim();
  if (!LINKEDIN.test(given)) return null;
  const url = URL.parse(/^https?:/i.test(given) ? given : `https://${given}`);
  const [, slug, old] = PROFILE.exec(url?.pathname ?? "") ?? [];
  if (slug !== undefined) return `https://www.linkedin.com/in/${slug}`;
  return old === undefined ? null : `https://www.linkedin.com/pub/${old}`;
}

/** A name and a company with something between them; null: there is nothing. */
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

/** What a row identifies a person by, or why it identifies none: the end of a sentence. */
export function readIdentifier(text: string): Identifier | string {
  const given = bare(text);
  if (EMAIL.safeParse(given).success) return { kind: "email", email: given };
  if (LINKEDIN.test(given)) {
    const url = profileUrl(given);
    return url === null ? "is no person's LinkedIn profile, of /in/ or /pub/" : { kind: "linkedin", url };
  }
  if (isPhone(given)) return "is a phone number: an email address, a LinkedIn URL, or a name with a company is needed";
  const query = given.replace(/\s+/g, " ");
  const named = nameWithCompany(query);
  const words = query.split(" ").filter((word) => LETTER.test(word));
  if (named === null && words.length < ANY_NAME_WORDS_MIN) {
    return "is no email address, no LinkedIn URL, and no name with a company, such as Ada Lovelace, Example";
  }
  return { kind: "name", query, named };
}

/** Two rows of the same key mean the same person. */
export function identifierKey(identifier: Identifier): string {
  if (identifier.kind === "email") return identifier.email.toLowerCase();
  return (identifier.kind === "linkedin" ? identifier.url : identifier.query).toLowerCase();
}

/** Whether everybody can have an address there. `webmail` is the tier's list. */
export function isWebmail(email: string, webmail: readonly string[]): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return webmail.some((one) => (one.endsWith(".*") ? domain.startsWith(one.slice(0, -1)) : domain === one));
}
