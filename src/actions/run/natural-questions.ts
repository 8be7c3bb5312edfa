// Sends questions that name no action, such as "who is the CTO of Stripe", to our own composites.
import { wordsOf } from "./search-words.ts";

const ASKING = new Set(
  (
    "who whos whom what whats when where wheres which why how is are was were does do did can could will should has have tell " +
    "explain latest current"
  ).split(" "),
);
const PERSON = new Set(
  "ceo cto cfo coo cmo vp founder founders cofounder president chairman director head manager owner recruiter".split(
    " ",
  ),
);
/** As in "email of ..." or "phone number for ...". */
const CONTACT = new Set(["email", "mail", "linkedin", "contact", "phone"]);
const WORDS_BETWEEN = 2;
/** As in "who runs marketing at ...". */
const DOES = /^(runs|leads|heads|manages|directs|chairs)$/;
const WHO = /^(who|whos|whom|whose)$/;

/** If the results cover less of a question than this, our composites come first. */
const COVERED_WELL = 0.75;
/** If they cover less than this of any other query, one composite comes third. */
const COVERED_ENOUGH = 0.6;

export interface Questioned {
  /** The query wants an answer rather than an action. */
  readonly isQuestion: boolean;
  /** The ids of our own actions that answer it, best first. */
  readonly answeredBy: readonly string[];
}

function asksForContact(words: readonly string[]): boolean {
  return words.some((word, at) => {
    const next = words.slice(at + 1, at + 2 + WORDS_BETWEEN);
    return CONTACT.has(word) && (next.includes("of") || next.includes("for"));
  });
}

export function questioned(query: string): Questioned {
  const words = wordsOf(query);
  const [first = ""] = words;
  const isQuestion = query.trim().endsWith("?") || ASKING.has(first);
  const asksForPerson =
    (WHO.test(first) && DOES.test(words[1] ?? "")) ||
    ((words.some((word) => PERSON.has(word)) || asksForContact(words)) && (WHO.test(first) || !ASKING.has(first)));
  const answeredBy = asksForPerson
    ? ["core/onefind", "core/onesearch", "core/consult"]
    : ["core/onesearch", "core/consult", "core/onefind"];
  return { isQuestion: isQuestion || asksForPerson, answeredBy };
}

/** Merges composites into results: first where results cover a question badly, third where well or for other queries, else last. */
export function withAnswers<Row extends { readonly covered: number }>(
  found: readonly Row[],
  answers: readonly Row[],
  isQuestion: boolean,
): readonly Row[] {
  const best = found.reduce((most, { covered }) => Math.max(most, covered), 0);
  if (!isQuestion && best >= COVERED_ENOUGH) return [...found, ...answers];
  if (!isQuestion || best >= COVERED_WELL)
    return [...found.slice(0, 2), ...answers.slice(0, 1), ...found.slice(2), ...answers.slice(1)];
  const [first, second, ...others] = answers;
  return [first, ...found.slice(0, 2), second, ...found.slice(2), ...others].filter((row) => row !== undefined);
}
