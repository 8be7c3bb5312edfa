// The contract of reports over any postings, for any backend. A store's test calls `usageContract` with a function that fills one.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PostingPage, PostingRow } from "../../../../src/core/account-rows.ts";
import { nano } from "../../../../src/core/money.ts";
import type { PostingSearch, Reports, UsageField, UsageQuery, UsageRow } from "../../../../src/core/usage-rows.ts";
import type { NumberedPosting } from "../../../../src/money/ledger/archive/archive.ts";
import { runIn } from "../../../../src/money/ledger/model/window-list.ts";
import { posting } from "../archive/contract.ts";
import { START_MS } from "../store.ts";
import { dayStart, searchOf, usageOf } from "./model.ts";

const HOUR_MS = 3_600_000;
const POSTINGS = 400;
const ACCOUNTS = ["alpha", "beta", "gamma"];
/** The third key is in no group. */
const GROUPS = { "alpha.one": "grp_1", "alpha.two": "grp_2" };
const FIELDS: readonly UsageField[] = ["account", "key", "model", "provider", "day", "tag"];
const OPEN_MS_MAX = 300_000;

export const EVERYTHING = {
  ...{ accountId: null, keyId: null, model: null, provider: null, tag: null, fromMs: null, toMs: null, sandbox: null },
  ...{ limit: 1_000, cursor: null },
};

export interface TestBooks {
  readonly reports: Reports;
  /** The prefix of its sum tables. */
  readonly prefix: string;
  /** Stores more postings. */
  add(postings: readonly NumberedPosting[]): Promise<void>;
  /** The doctor's findings about the sums. */
  faults(): Promise<readonly string[]>;
  /** Runs a statement in the database, bypassing every guard. */
  spoil(statement: string): Promise<void>;
  dispose(): Promise<void>;
}

/** Random postings of several accounts over several days. */
export function randomPostings(seed: number): NumberedPosting[] {
  const one = fc.record({
    accountId: fc.constantFrom(...ACCOUNTS),
    waitMs: fc.constantFrom(0, 1, 60_000, HOUR_MS),
    key: fc.constantFrom("one", "two"),
    served: fc.constantFrom("maker/model", "maker/other", "search/web", null),
    provider: fc.constantFrom("vendor", "other", null),
    amount: fc.oneof(fc.constantFrom(0, 1, 999_999_999), fc.nat({ max: 3_000_000_000_000 })),
    kind: fc.constantFrom("charge", "charge", "charge", "charge", "topup", "refund"),
    windows: fc.constantFrom(null, "=group:1", "=run:one", "=group:1;=run:one", "=run:child;=run:one;=account"),
    tags: fc.constantFrom([], [], ["team=red"], ["team=red", "user=a\"b,'é"], ["team=blue", "user=2", "x=y"]),
  });
  const [made = []] = fc.sample(fc.array(one, { minLength: POSTINGS, maxLength: POSTINGS }), { numRuns: 1, seed });
  const numbers = new Map<string, number>();
  let createdAtMs = START_MS;
  return made.map(({ accountId, waitMs, key, served, provider, amount, kind, tags, windows }, at) => {
    createdAtMs += waitMs;
    const number = (numbers.get(accountId) ?? 0) + 1;
    numbers.set(accountId, number);
    const base = { transactionId: `${accountId}.${number}`, createdAtMs, amountNano: nano(amount) };
    const credit = {
      ...posting(accountId, 1),
      ...base,
      number,
      kind: kind as "topup" | "refund",
      reference: `r ${at}`,
    };
    if (kind !== "charge") return credit;
    const usage = {
      inputTokens: at,
      cacheReadTokens: 2,
      cacheWriteTokens: 1,
      outputTokens: at % 7,
      reasoningTokens: 0,
    };
    return {
      ...posting(accountId, number + 1, { keyId: `${accountId}.${key}`, served, provider, tags, windows, legs: [] }),
      ...{ ...base, number, upstreamNano: nano(at), absorbedNano: nano(at % 3), usage: at % 5 > 0 ? usage : null },
    };
  });
}

function sorted(rows: readonly Pick<UsageRow, "group">[]) {
  return rows
    .map(
      (row) =>
        [
          JSON.stringify([...FIELDS, "group" as const, "run" as const].map((field) => row.group[field] ?? "")),
          row,
        ] as const,
    )
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** All pages of a report, a few rows each. */
export async function pagesOf(reports: Reports, query: UsageQuery, limit = 7) {
  const rows: UsageRow[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<Reports["usage"]>> = await reports.usage({ ...query, limit, cursor });
    if ("tooWide" in page) return page;
    rows.push(...page.rows);
    if (page.next === null) return rows;
    cursor = page.next;
  }
}

async function idsOf(reports: Reports, query: PostingSearch, limit = 7): Promise<string[] | string> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<Reports["search"]>> = await reports.search({ ...query, limit, cursor });
    if ("tooWide" in page) return page.tooWide;
    ids.push(...page.rows.map(({ transactionId }) => transactionId));
    if (page.next === null) return ids;
    cursor = page.next;
  }
}

export function usageContract(name: string, open: (postings: readonly NumberedPosting[]) => Promise<TestBooks>): void {
  const seed = Math.floor(Math.random() * 2 ** 31);
  describe(`${name}: reports (seed ${seed})`, () => {
    const postings = randomPostings(seed);
    let books: TestBooks;
    beforeAll(async () => {
      books = await open(postings);
    }, OPEN_MS_MAX);
    afterAll(() => books.dispose());
    const query = (more: Partial<UsageQuery>): UsageQuery => ({ ...EVERYTHING, by: [], kind: "charged", ...more });
    const find = (more: Partial<PostingSearch>): PostingSearch => ({ ...EVERYTHING, kind: null, ...more });
    const lastDay = dayStart(postings.at(-1)?.createdAtMs ?? 0);
    const oneDay = { fromMs: lastDay - 86_400_000, toMs: lastDay };

    const queries: readonly Partial<UsageQuery>[] = [
      {},
      ...FIELDS.map((field) => ({ by: [field] })),
      { by: ["day", "model"] },
      { by: ["account", "key", "model", "provider", "day"] },
      { by: ["group", "day"], accountId: "alpha", groups: GROUPS },
      { by: ["group", "model"], accountId: "alpha", groups: GROUPS, ...oneDay, toMs: oneDay.toMs - 1 },
      { by: ["account", "day", "tag"] },
      { by: ["tag"], accountId: "alpha" },
      { by: ["key"], accountId: "beta", model: "maker/model" },
      { by: ["day"], provider: "vendor" },
      { by: ["day"], tag: "team=red" },
      { by: ["account"], tag: "user=a\"b,'é" },
      { by: ["model"], keyId: "gamma.two" },
      { by: ["account", "day"], kind: "credited" },
      { by: ["model"], ...oneDay },
      { by: ["model", "tag"], ...oneDay },
      { by: ["run"], ...oneDay },
      { by: ["account", "run", "model"], ...oneDay },
      { by: ["key", "tag"], tag: "team=blue", ...oneDay },
      { by: ["account"], fromMs: oneDay.fromMs + HOUR_MS, toMs: oneDay.toMs - 1 },
      { by: ["day"], fromMs: oneDay.fromMs },
      { by: ["day"], toMs: oneDay.fromMs },
      { by: ["day"], fromMs: lastDay + 10 * 86_400_000 },
      ...[true, false].flatMap((sandbox) =>
        [
          { by: [] },
          { by: ["day" as const, "model" as const] },
          { by: ["account" as const] },
          { by: ["tag" as const] },
          { by: [], kind: "credited" as const },
          { by: ["day" as const], provider: "vendor" },
          { by: ["key" as const, "tag" as const], ...oneDay },
          { by: ["day" as const], tag: "team=red", fromMs: oneDay.fromMs },
        ].map((one) => ({ ...one, sandbox })),
      ),
    ];
    test.each(queries.map((one) => [JSON.stringify(one), one] as const))(
      "are the postings' sums, by page: %s",
      async (_, more) => {
        const rows = await pagesOf(books.reports, query(more));
        expect(sorted(rows as UsageRow[])).toEqual(sorted(usageOf(postings, query(more))));
      },
    );

    test.each([
      { by: ["key" as const] },
      { by: ["tag" as const], accountId: "alpha" },
      { by: ["model" as const], ...oneDay },
    ])("the largest sums come first where that is asked for, and no page after them: %j", async (more) => {
      const all = usageOf(postings, query(more)).map(({ amountNano }) => BigInt(amountNano));
      const page = await books.reports.usage(query({ ...more, largestFirst: true, limit: 2 }));
      const shown = "rows" in page ? page.rows.map(({ amountNano }) => BigInt(amountNano)) : [];
      expect(shown).toEqual(all.sort((a, b) => (a < b ? 1 : -1)).slice(0, 2));
      expect(page).toMatchObject({ next: null });
    });

    test("what cannot be read from daily sums is one day's", async () => {
      const twoDays = { fromMs: oneDay.fromMs, toMs: oneDay.toMs + 1 };
      expect(await books.reports.usage(query({ by: ["tag", "model"] }))).toEqual({ tooWide: "model" });
      expect(await books.reports.usage(query({ by: ["day"], tag: "a=b", keyId: "k" }))).toEqual({ tooWide: "key" });
      expect(await books.reports.usage(query({ by: ["day"], ...twoDays }))).toEqual({ tooWide: "to" });
      expect(await books.reports.usage(query({ by: ["run"] }))).toEqual({ tooWide: "run" });
      expect(await books.reports.search(find({ model: "m", ...twoDays }))).toEqual({ tooWide: "model" });
      expect(await books.reports.search(find({ tag: "a=b" }))).toEqual({ tooWide: "tag" });
    });

    test.each([
      [["day"], ["model"]],
      [["model"], ["day"]],
      [
        ["day", "key"],
        ["key", "day"],
      ],
    ] as const)("the cursor of a list by %j finds nothing in one by %j", async (by, other) => {
      const page = await books.reports.usage(query({ by, limit: 1 }));
      const { next: cursor = null } = "next" in page ? page : {};
      expect(cursor).not.toBeNull();
      expect(await books.reports.usage(query({ by: other, cursor }))).toMatchObject({ rows: [], next: null });
      const texts = Buffer.from(JSON.stringify(["a", "b"])).toString("base64url");
      expect(await books.reports.search(find({ cursor: texts }))).toEqual({ rows: [], next: null });
    });

    test("a name that no database can keep is the name of nothing", async () => {
      expect(await books.reports.usage(query({ by: ["day"], model: "a\0b" }))).toMatchObject({ rows: [], next: null });
      expect(await books.reports.usage(query({ by: ["model"], only: ["a\0b"] }))).toMatchObject({ rows: [] });
      const page = await books.reports.search(find({ accountId: "alpha", tag: "a=\0", ...oneDay }));
      expect(page).toEqual({ rows: [], next: null });
    });

    test("the doctor compares sums with postings, and names what differs", async () => {
      expect(await books.faults()).toEqual([]);
      const { prefix } = books;
      await books.spoil(
        `UPDATE ${prefix}usage_day SET amount = amount + 7 WHERE account_id = 'beta' AND model = 'search/web'`,
      );
      await books.spoil(`UPDATE ${prefix}usage_tag SET calls = calls - 1 WHERE account_id = 'gamma' AND tag = 'x=y'`);
      const faults = (await books.faults()).join("\n");
      expect(faults).toMatch(
        /^the sums of 2026-03-1\d beta charge beta.\w+ search\/web \S+ differ from its postings: amount by 7$/m,
      );
      await books.spoil(
        `UPDATE ${prefix}usage_day SET amount = amount - 7 WHERE account_id = 'beta' AND model = 'search/web'`,
      );
      expect((await books.faults()).join("\n")).toMatch(
        /^the sums of 2026-03-1\d gamma x=y differ from its postings: calls by -1$/m,
      );
      await books.spoil(`UPDATE ${prefix}usage_tag SET calls = calls + 1 WHERE account_id = 'gamma' AND tag = 'x=y'`);
      expect(await books.faults()).toEqual([]);
    });

    const searches: readonly Partial<PostingSearch>[] = [
      {},
      { accountId: "alpha" },
      { accountId: "nobody" },
      { accountId: "beta", keyId: "beta.one" },
      { accountId: "beta", keyId: "alpha.one" },
      { accountId: "gamma", ...oneDay },
      { accountId: "gamma", fromMs: oneDay.fromMs + HOUR_MS },
      { accountId: "gamma", keyId: "gamma.one", toMs: oneDay.fromMs + HOUR_MS },
      { fromMs: oneDay.fromMs },
      { model: "maker/model", ...oneDay },
      { accountId: "alpha", provider: "vendor", ...oneDay },
      { tag: "user=a\"b,'é", ...oneDay },
      { kind: "credited", ...oneDay },
      { keyId: "gamma.two", kind: "charged", ...oneDay },
    ];
    test.each(searches.map((one) => [JSON.stringify(one), one] as const))(
      "find postings, newest first: %s",
      async (_, more) => {
        const ids = (await idsOf(books.reports, find(more))) as string[];
        const times = new Map(postings.map(({ transactionId, createdAtMs }) => [transactionId, createdAtMs]));
        expect(ids.toSorted()).toEqual(searchOf(postings, find(more)).toSorted());
        expect(ids.map((id) => times.get(id))).toEqual(ids.map((id) => times.get(id) ?? 0).toSorted((a, b) => b - a));
      },
    );

    test.each([[["one"]], [["child"]], [["one", "child"]], [["nobody's"]]])(
      "the charges of runs %j, oldest first",
      async (runIds) => {
        const own = postings.filter(
          (one) => one.accountId === "alpha" && runIds.includes(runIn(one.windows).runId ?? ""),
        );
        const found: PostingRow[] = [];
        for (let cursor: string | null = null; ; ) {
          const page: PostingPage = await books.reports.runPostings({ accountId: "alpha", runIds, limit: 7, cursor });
          found.push(...page.rows);
          if (page.next === null) break;
          cursor = page.next;
        }
        expect(found.map(({ transactionId }) => transactionId)).toEqual(own.map(({ transactionId }) => transactionId));
        expect(found.map(({ runId }) => runId)).toEqual(own.map(({ windows }) => runIn(windows).runId));
      },
    );

    test("a day of an account counts a hundred tags by themselves, and all further ones together, exactly", async () => {
      const many = Array.from({ length: 130 }, (_, at) => `n=${String(at).padStart(3, "0")}`);
      const own = many.map((tag, at) => ({
        ...posting("many", at + 2, { number: at + 1, transactionId: `many.${at}`, legs: [] }),
        // Each has its own tag and another's, which may or may not be listed.
        tags: [tag, many[(at * 7) % 130] ?? ""].filter((one, place, all) => all.indexOf(one) === place),
        createdAtMs: START_MS - 86_400_000,
      }));
      await books.add(own.slice(0, 50));
      await books.add(own.slice(50));
      const asked = query({ by: ["tag"], accountId: "many" });
      const rows = (await pagesOf(books.reports, asked)) as UsageRow[];
      const listed = new Set(rows.map(({ group }) => group.tag ?? ""));
      expect(listed.size).toBe(101);
      expect(sorted(rows)).toEqual(sorted(usageOf(own, asked, (tag) => (listed.has(tag) ? tag : "*"))));
      expect(await books.faults()).toEqual([]);
      const one = query({ by: [], accountId: "many", tag: "n=129" });
      expect(await books.reports.usage(one)).toMatchObject({ mayLackTags: true });
      const day = { fromMs: dayStart(START_MS, -1), toMs: dayStart(START_MS) };
      expect(await books.reports.usage({ ...one, ...day })).toMatchObject({
        rows: [{ calls: usageOf(own, one)[0]?.calls }],
        mayLackTags: false,
      });
    });
  });
}
