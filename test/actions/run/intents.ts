// What agents ask for in their own words, and which actions serve it. The lists were written before the search was tuned to them: improve
// the catalog's words or the search, never the lists.
import { readFileSync } from "node:fs";

/** An intent and every action that serves it. */
export interface Intent {
  readonly says: string;
  readonly right: readonly string[];
}

type Row = readonly [says: string, ...right: string[]];

/** Lists of rows: the intent, then the right actions. */
function listsOf<Name extends string>(file: string): Readonly<Record<Name, readonly Intent[]>> {
  const lists = JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8")) as Readonly<Record<string, Row[]>>;
  const intents = ([says, ...right]: Row): Intent => ({ says, right });
  const read: Record<string, Intent[]> = {};
  for (const [name, rows] of Object.entries(lists)) read[name] = rows.map(intents);
  return read as Record<Name, Intent[]>;
}

/** `questions` and the two lists after it were written by people who never saw the catalog. */
export const {
  intents: INTENTS,
  questions: QUESTIONS,
  asPeoplePutIt: AS_PEOPLE_PUT_IT,
  asOthersPutIt: AS_OTHERS_PUT_IT,
} = listsOf<"intents" | "questions" | "asPeoplePutIt" | "asOthersPutIt">("intents.json");

/** Nothing was tuned to these: `unseen` is half of 120, selected by a hash of the words; `afterwards` was written after the search. */
export const { unseen: UNSEEN, afterwards: AFTERWARDS } = listsOf<"unseen" | "afterwards">("unseen-intents.json");
