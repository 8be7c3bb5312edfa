// Detects emails, URLs, flight numbers and the like in a text by pattern. Each word is examined once.

export type FormKind =
  | "email"
  | "linkedin"
  | "url"
  | "wallet"
  | "iban"
  | "doi"
  | "cve"
  | "phone"
  | "subreddit"
  | "profile"
  | "audio"
  | "video"
  | "document"
  | "image"
  | "domain"
  | "year"
  | "flight"
  | "house";

export interface TextPattern {
  readonly kind: FormKind;
  readonly text: string;
}

const ENDINGS: Readonly<Record<string, FormKind>> = {
  mp3: "audio",
  wav: "audio",
  m4a: "audio",
  mp4: "video",
  mov: "video",
  mkv: "video",
  pdf: "document",
  docx: "document",
  xlsx: "document",
  csv: "document",
  png: "image",
  jpg: "image",
  jpeg: "image",
  gif: "image",
};
const TOP_DOMAIN = /^(com|org|net|io|dev|ai|gov|edu|example|[a-z]{2})$/;
const STREET = /^(st|street|ave|avenue|road|rd|blvd|lane|ln|drive|dr|way|court|ct|place|pl|terrace)$/i;
const STREET_WORDS_MAX = 4;
const WHOLE: readonly (readonly [FormKind, RegExp])[] = [
  ["wallet", /^0x[\da-f]{8,64}$/i],
  ["iban", /^[A-Z]{2}\d{2}[A-Z\d]{11,30}$/],
  ["cve", /^cve-\d{4}-\d{3,7}$/i],
  ["phone", /^\+\d[\d()-]{6,18}$/],
  ["year", /^(19[6-9]\d|20[01]\d)$/],
  ["flight", /^([A-Z][A-Z\d]|\d[A-Z])\d{2,4}$/],
];

function kindOf(word: string): FormKind | null {
  const at = word.indexOf("@");
  const lastDot = word.lastIndexOf(".");
  if (at === 0 && word.length > 2) return "profile";
  if (at > 0 && lastDot > at + 1) return "email";
  if (/^https?:\/\/./i.test(word)) return word.includes("linkedin.") ? "linkedin" : "url";
  if (word.startsWith("10.") && word.indexOf("/") > 3) return "doi";
  if (/^r\/\w{2}/.test(word)) return "subreddit";
  const [whole] = WHOLE.find(([, form]) => form.test(word)) ?? [];
  if (whole !== undefined) return whole;
  if (lastDot < 1 || !/^[\w.-]{3,200}$/.test(word) || word.includes("..")) return null;
  const ending = word.slice(lastDot + 1).toLowerCase();
  return ENDINGS[ending] ?? (TOP_DOMAIN.test(ending) ? "domain" : null);
}

/** The number of words, starting here, that are a house number and street; 0 if none. */
function houseAt(words: readonly string[], at: number): number {
  if (!/^\d{1,5}$/.test(words[at] ?? "")) return 0;
  const end = words
    .slice(at + 2, at + 2 + STREET_WORDS_MAX)
    .findIndex((word) => STREET.test(word.replace(/[.,]/g, "")));
  return end < 0 ? 0 : end + 3;
}

export function formsIn(text: string): { readonly forms: readonly TextPattern[]; readonly rest: string } {
  const words = text.split(/\s/);
  const forms: TextPattern[] = [];
  const rest: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const house = houseAt(words, at);
    // Surrounding punctuation and brackets are not part of the form.
    const word = (words[at] ?? "").replace(/^["'(<[]/, "").replace(/["')>\],.;:!?]$/, "");
    const kind = house > 0 ? "house" : kindOf(word);
    if (kind === null) rest.push(words[at] ?? "");
    else if (house === 0) forms.push({ kind, text: word });
    else {
      forms.push({ kind, text: words.slice(at, at + house).join(" ") });
      at += house - 1;
    }
  }
  return { forms, rest: rest.join(" ") };
}
