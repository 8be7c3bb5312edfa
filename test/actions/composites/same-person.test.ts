// Matching a name and a company to a person: in 300 queries over an index full of identical and similar names, no wrong person is found,
// and nearly all right ones are.
import { describe, expect, it } from "vitest";
import {
  companyAgreement,
  matchOf,
  nameAgreement,
  oneMeant,
} from "../../../src/actions/composites/people/same-person.ts";
import { NAMED_QUERIES, PEOPLE, type Query } from "./named-people.ts";

const FOUND_SHARE_MIN = 0.97;

function foundBy({ name, company }: Query): string | null {
  const people = PEOPLE.map((person) => [person.id, person] as const);
  return oneMeant({ name, company }, people)?.one ?? null;
}

describe("of 300 queries", () => {
  const answered = NAMED_QUERIES.map((query) => ({ ...query, found: foundBy(query) }));

  it("are as many", () => expect(NAMED_QUERIES.length).toBeGreaterThanOrEqual(300));

  it("none finds a wrong person", () => {
    expect(answered.filter(({ found, id }) => found !== null && found !== id)).toEqual([]);
  });

  it("97 of 100 find the right one", () => {
    const due = answered.filter(({ id }) => id !== null);
    const missed = due.filter(({ found }) => found === null);
    expect(1 - missed.length / due.length, JSON.stringify(missed)).toBeGreaterThanOrEqual(FOUND_SHARE_MIN);
  });
});

describe("what agrees", () => {
  it("is told for the name and for the company apart", () => {
    expect(
      matchOf(
        { name: "Bob Frost", company: "Globex Frozen" },
        { name: "Robert Frost", company: "Globex Frozen Foods" },
      ),
    ).toEqual({ name: 0.95, company: 0.6 });
  });

  it("is no company that begins with another's name", () => {
    expect(companyAgreement("Delta", "Delta Dental")).toBe(0);
    expect(companyAgreement("Deniz A.Ş.", "Deniz")).toBe(1);
  });

  it("is a whole name alone, where the source knows no company", () => {
    const wanted = { name: "Ada Lovelace", company: "Example" };
    expect(matchOf(wanted, { name: "Ada Lovelace", company: null })).toEqual({ name: 1, company: null });
    expect(matchOf(wanted, { name: "A. Lovelace", company: null })).toBeNull();
    expect(matchOf(wanted, { name: null, company: "Example" })).toBeNull();
  });

  it("takes no word for a generation that only every object has", () => {
    expect(nameAgreement("Ann Lee Constructor", "Ann Lee Jr")).toBe(nameAgreement("Ann Lee Builder", "Ann Lee Jr"));
  });

  it("is no word alone, and no text without letters", () => {
    expect(nameAgreement("Miller", "Jane Miller")).toBe(0);
    expect(nameAgreement("!!", "--")).toBe(0);
    expect(companyAgreement("Ltd", "Ltd")).toBe(1);
    expect(companyAgreement("", "Acme")).toBe(0);
  });
});
