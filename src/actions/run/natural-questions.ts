// What answers a question that names no action: "who is the CTO of Stripe" is for our own composites, whatever words actions share with it.
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
/** What is wanted of a person: "email of ...", "phone number for ...". */
const CONTACT = new Set(["email", "mail", "linkedin", "contact", "phone"]);
const WORDS_BETWEEN = 2;
/** What people do of whom one asks: "who runs marketing at ...". */
const DOES = /^(runs|leads|heads|manages|directs|chairs)$/;
const SOMEBODY = /^(who|whos|whom|whose)$/;

/** Where less of a question than this is said by what was found, our own composites come first. */
const COVERED_WELL = 0.75;
/** Where less than this of what is no question is said by what was found, one of them comes third. */
const COVERED_ENOUGH = 0.6;

export interface Questioned {
  /** It asks to be answered, and not which action there is. */
  readonly isQuestion: boolean;
  /** The ids of actions of our own that answer it, the best first. */
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
    (SOMEBODY.test(first) && DOES.test(words[1] ?? "")) ||
    ((words.some((word) => PERSON.has(word)) || asksForContact(words)) && (SOMEBODY.test(first) || !ASKING.has(first)));
  const answeredBy = asksForPerson
    ? ["core/onefind", "core/onesearch", "core/consult"]
    : ["core/onesearch", "core/consult", "core/onefind"];
  return { isQuestion: isQuestion || asksForPerson, answeredBy };
}

/**
 * What was found, with those that answer any question put among it: before it where it is a question that nothing found says well,
 * one of them behind the first two where it is one all the same or nothing found says enough of it, else at the end.
 */
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
