// An index of fictional people with identical and similar names, and queries as callers write them, with the person meant by each. Both
// were written by hand.
import { readFileSync } from "node:fs";

export interface NamedInIndex {
  readonly id: string;
  readonly name: string;
  readonly company: string | null;
}

function linesOf(file: string): readonly string[] {
  return readFileSync(new URL(file, import.meta.url), "utf8")
    .trim()
    .split("\n");
}

/** `id | name | company`; the company is empty if the source does not know it. */
export const PEOPLE: readonly NamedInIndex[] = linesOf("named-people.txt").map((line) => {
  const [id = "", name = "", company = ""] = line.split("|").map((part) => part.trim());
  return { id, name, company: company === "" ? null : company };
});

export interface Query {
  readonly name: string;
  readonly company: string;
  /** Null: not in the index. */
  readonly id: string | null;
}

/** `name ; company -> id`, or `-` if the person is not in the index. */
const written: readonly Query[] = linesOf("named-queries.txt").map((line) => {
  const [query = "", id = ""] = line.split("->").map((part) => part.trim());
  const [name = "", company = ""] = query.split(";").map((part) => part.trim());
  return { name, company, id: id === "-" ? null : id };
});

/** Every indexed person with a known company, queried under the exact name. */
const asTheyStand: readonly Query[] = PEOPLE.flatMap(({ id, name, company }) =>
  company === null ? [] : [{ id, name, company }],
);

export const NAMED_QUERIES: readonly Query[] = [...written, ...asTheyStand];
