// Identifiers of people, queries that name a person, matching of found people, and how a job keeps its budget and position.
import { describe, expect, it } from "vitest";
import {
  identifierIn,
  identifierKey,
  isWebmail,
  readIdentifier,
} from "../../../src/actions/composites/people/identifier.ts";
import { isNamedBy, personIn } from "../../../src/actions/composites/people/person-query.ts";
import { StepBudget } from "../../../src/actions/composites/step-budget.ts";
import { inOrder, Places } from "../../../src/core/places.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";

const spec = (await shippedCatalog({})).compositeTiers.get("onefind");
if (spec?.kind !== "people-finder") throw new Error("tiers/onefind.ts finds no people");
const { roles, webmail } = spec;

describe("an identifier", () => {
  it.each([
    ["ada@example.com", { kind: "email", email: "ada@example.com" }],
    [" mailto:Ada.L+x@Example.co.uk ", { kind: "email", email: "Ada.L+x@Example.co.uk" }],
    ["<ada@example.com>", { kind: "email", email: "ada@example.com" }],
    ["https://www.linkedin.com/in/ada", { kind: "linkedin", url: "https://www.linkedin.com/in/ada" }],
    ["LinkedIn.com/in/Ada/?trk=x#y", { kind: "linkedin", url: "https://www.linkedin.com/in/Ada" }],
    [
      "http://de.linkedin.com/in/j%C3%BCrgen/details/skills/",
      { kind: "linkedin", url: "https://www.linkedin.com/in/j%C3%BCrgen" },
    ],
    ["m.linkedin.com/pub/ada/1/2b/3c4", { kind: "linkedin", url: "https://www.linkedin.com/pub/ada/1/2b/3c4" }],
    ["linkedin.com/in/jürgen", { kind: "linkedin", url: "https://www.linkedin.com/in/j%C3%BCrgen" }],
    ["Ada  Lovelace,Example", { kind: "name", named: { name: "Ada Lovelace", company: "Example" } }],
    ["ada lovelace at example ltd", { kind: "name", named: { name: "ada lovelace", company: "example ltd" } }],
    ["Ada Lovelace (Example)", { kind: "name", named: { name: "Ada Lovelace", company: "Example" } }],
    ["Ada Lovelace - Example", { kind: "name", named: { name: "Ada Lovelace", company: "Example" } }],
    ["Anne-Marie O'Neill @ Example", { kind: "name", named: { name: "Anne-Marie O'Neill", company: "Example" } }],
    ["王小明，腾讯", { kind: "name", named: { name: "王小明", company: "腾讯" } }],
    ["Tim Cook Apple", { kind: "name", query: "Tim Cook Apple", named: null }],
  ])("%s", (text, wanted) => expect(readIdentifier(text)).toMatchObject(wanted));

  it.each([
    ["Ada Lovelace", "name with a company"],
    ["ada", "name with a company"],
    ["12345", "name with a company"],
    ["+44 20 7946 0000", "phone number"],
    ["https://www.linkedin.com/company/example", "LinkedIn profile"],
    ["https://www.linkedin.com/sales/lead/ACwAAA", "LinkedIn profile"],
    ["linkedin.com", "LinkedIn profile"],
    ["https://example.com/ada", "name with a company"],
  ])("%s is none: %s", (text, words) => expect(readIdentifier(text)).toContain(words));

  it("is the same in another case", () => {
    const keys = ["Ada@Example.com", "ada@example.com"].map((text) => {
      const read = readIdentifier(text);
      return typeof read === "string" ? read : identifierKey(read);
    });
    expect(new Set(keys).size).toBe(1);
  });

  it.each(["founders in Berlin", "Ada Lovelace, Example", "who wrote to ada@example.com", "CTOs 2024", "10 engineers"])(
    "is not in the query %s",
    (text) => expect(identifierIn(text)).toBeNull(),
  );

  it("of webmail is known by its domain alone", () => {
    const everybodys = ["a@gmail.com", "a@GMX.ch", "a@yahoo.co.jp", "a@outlook.com", "a@qq.com"];
    expect(everybodys.filter((email) => !isWebmail(email, webmail))).toEqual([]);
    const own = ["a@example.com", "a@notgmail.com", "a@gmail.com.example.com", "a@mail.example.com", "a@yahoo-inc.com"];
    expect(own.filter((email) => isWebmail(email, webmail))).toEqual([]);
  });
});

describe("a query", () => {
  it.each([
    ["Ada Lovelace, Example", "Ada Lovelace", "Example"],
    ["Ada Lovelace at Example Ltd", "Ada Lovelace", "Example Ltd"],
    ["Ludwig van Beethoven from Example", "Ludwig van Beethoven", "Example"],
    ["María José de la Cruz, Ejemplo", "María José de la Cruz", "Ejemplo"],
    ["JOHN SMITH, EXAMPLE", "JOHN SMITH", "EXAMPLE"],
    ["J. K. Rowling @ Example", "J. K. Rowling", "Example"],
    ["王小明, 腾讯", "王小明", "腾讯"],
    ["Иван Петров, Пример", "Иван Петров", "Пример"],
  ])("%s names one person", (query, name, company) => expect(personIn(query, roles)).toEqual({ name, company }));

  it.each([
    "founders of fintech companies in Berlin",
    "Software Engineers at Google",
    "CTOs at startups, Paris",
    "VP Marketing at Example",
    "Head of Growth, Example",
    "Product Managers, Stripe",
    "engineers at google",
    "ada lovelace, example",
    "Investors - Seed",
    "Ada Lovelace, Engineer",
    "Example",
    "Women in Tech, London",
  ])("%s describes people", (query) => expect(personIn(query, roles)).toBeNull());

  it("names whom it finds, in whatever case it is written", () => {
    const ada = { name: "Ada Lovelace", company: "Example" };
    for (const query of ["ada lovelace example", "Ada Lovelace, example inc", "ADA LOVELACE EXAMPLE"]) {
      expect([query, isNamedBy(query, ada)]).toEqual([query, true]);
    }
    for (const query of [
      "ada lovelace",
      "ada lovelace fans of example",
      "engineers at example",
      "example ada lovelace",
    ]) {
      expect([query, isNamedBy(query, ada)]).toEqual([query, false]);
    }
  });
});

describe("a budget", () => {
  it("gives no step more than there is, and waits for those under way", async () => {
    const budget = new StepBudget(25, 0);
    expect(await budget.setAside(10)).toBe(true);
    expect(await budget.setAside(10)).toBe(true);
    const third = budget.setAside(10);
    budget.settle(10, 10);
    budget.settle(10, 0);
    expect(await third).toBe(true);
    const fourth = budget.setAside(10);
    budget.settle(10, 10);
    expect([await fourth, budget.spentCents]).toEqual([false, 20]);
    expect(await budget.setAside(5)).toBe(true);
  });

  it("goes on with what was spent before", async () => {
    const budget = new StepBudget(20, 15);
    expect([await budget.setAside(10), await budget.setAside(5)]).toEqual([false, true]);
  });
});

describe("the places of a process", () => {
  it("are never more than there are, and go to accounts in turn", async () => {
    const places = new Places(2);
    const began: string[] = [];
    let running = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const row = (payer: string) =>
      places.run(payer, async () => {
        began.push(payer);
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => gates.push(resolve));
        running -= 1;
      });
    const rows = [...Array(6).fill("a"), "b", "b", "c"].map(row);
    while (began.length < rows.length || gates.length > 0) {
      gates.shift()?.();
      await new Promise(setImmediate);
    }
    await Promise.all(rows);
    expect(most).toBe(2);
    expect(began).toEqual(["a", "a", "a", "b", "c", "a", "b", "a", "a"]);
  });

  it("are given back by what fails", async () => {
    const places = new Places(1);
    await expect(places.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await places.run("a", async () => 1)).toBe(1);
  });

  it("rows are begun in order, and none more after one has failed", async () => {
    const begun: number[] = [];
    const work = inOrder([1, 2, 3, 4, 5], 2, async (row) => {
      begun.push(row);
      await new Promise(setImmediate);
      if (row === 2) throw new Error("two");
    });
    await expect(work).rejects.toThrow("two");
    expect(begun.slice(0, 2)).toEqual([1, 2]);
    expect(begun.length).toBeLessThan(5);
  });
});
