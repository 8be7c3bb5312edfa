// The contract of every archive, for any backend. An archive's test calls `archiveContract` with a function that opens one.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nano } from "../../../../src/core/money.ts";
import type { Archive, NumberedPosting } from "../../../../src/money/ledger/archive/archive.ts";
import { legOf } from "../requests.ts";
import { START_MS } from "../store.ts";
import { lastNumber, sumsOf } from "./numbers.ts";

const DAY = Math.floor(START_MS / 86_400_000);

export interface TestArchive {
  readonly archive: Archive;
  /** Opens the same archive as another process would. */
  another(): Promise<Archive>;
  dispose(): Promise<void>;
}

/** Posting `number` of an account: number 1 is its credit, the others are charges of `number` nano. */
export function posting(accountId: string, number: number, more: Partial<NumberedPosting> = {}): NumberedPosting {
  const base = {
    ...{ transactionId: `${accountId}.${number}`, accountId, number, createdAtMs: START_MS + number, day: null },
    ...{ keyId: null, parentId: null, requestId: null, operation: null, asked: null, served: null, provider: null },
    ...{ chargedCents: 0, upstreamNano: nano(0), absorbedNano: nano(0), absorbReason: null, usage: null },
    ...{
      estimated: false,
      priceVersion: null,
      reference: null,
      reason: null,
      legs: [],
      tags: [],
      inference: false,
      windows: null,
    },
  };
  if (number === 1) return { ...base, kind: "topup", amountNano: nano(1_000_000), reference: "opening", ...more };
  return {
    ...base,
    ...{ kind: "charge", keyId: `key ${number % 2}`, requestId: `req ${number}`, day: DAY + (number % 3) },
    ...{ inference: number % 4 === 0, operation: "chat", asked: "core/cheap", served: "maker/model" },
    ...{ amountNano: nano(number), chargedCents: number % 2, upstreamNano: nano(3), absorbedNano: nano(number % 5) },
    ...{ provider: "vendor", absorbReason: number % 5 > 0 ? "usage_above_hold" : null, priceVersion: "2026-01-01" },
    usage: { inputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 },
    estimated: true,
    tags: number % 2 > 0 ? [] : ["team=red", `user=${number % 3}`],
    // Every third posting names who did its work.
    legs:
      number % 3 > 0
        ? []
        : [
            legOf({ vendor: "tollgate", model: "direct/fetch", upstreamNano: nano(0) }),
            legOf({ upstreamNano: nano(1), ok: false, reason: "provider" }),
            legOf({ upstreamNano: nano(2) }),
          ],
    ...more,
  };
}

function postings(accountId: string, first: number, last: number): NumberedPosting[] {
  return Array.from({ length: last - first + 1 }, (_, at) => posting(accountId, first + at));
}

export function archiveContract(name: string, open: () => Promise<TestArchive>, timeoutMs: number): void {
  describe(`${name}: the archive's contract`, () => {
    let store: TestArchive;
    beforeAll(async () => {
      store = await open();
    }, timeoutMs);
    afterAll(() => store?.dispose());

    test("a posting is read back as it was given, by its id", async () => {
      const { archive } = store;
      const all = [
        ...postings("whole", 1, 2),
        posting("whole", 3, { kind: "refund", reference: "whole.2", keyId: null }),
      ];
      expect(await archive.append(all)).toBeNull();
      for (const one of all) expect(await archive.transaction("whole", one.transactionId)).toEqual(one);
      expect(await archive.transaction(null, "whole.2")).toEqual(all[1]);
      expect(await archive.transaction("other", "whole.2")).toBeNull();
      expect(await archive.transaction(null, "nothing")).toBeNull();
    });

    test("amounts as large as any account's, and any text, are kept; what no database can keep is replaced", async () => {
      const { archive } = store;
      const large = posting("text", 1, { amountNano: nano(9e15), reference: '\'; -- \\ " é 💶 {"a":1}\n' });
      const odd = posting("text", 2, { asked: "a\0b\ud800c", reason: "x".repeat(10_000) });
      expect(await archive.append([large, odd])).toBeNull();
      expect(await archive.transaction("text", "text.1")).toEqual(large);
      expect(await archive.transaction("text", "text.2")).toEqual({ ...odd, asked: "a\ufffdb\ufffdc" });
      expect((await sumsOf(archive, "text")).credited).toBe(9e15);
    });

    test("what is given again, whole or in part, by anybody, is there once", async () => {
      const { archive } = store;
      const other = await store.another();
      await Promise.all([
        archive.append(postings("twice", 1, 30)),
        other.append(postings("twice", 1, 30)),
        archive.append(postings("twice", 1, 20)),
      ]);
      expect(await other.append(postings("twice", 11, 40))).toBeNull();
      expect(await sumsOf(archive, "twice")).toMatchObject({ count: 40, charged: 819, credited: 1_000_000 });
      await other.close();
    });

    test("a posting whose place or id is taken by another is refused, with all that was given with it", async () => {
      const { archive } = store;
      await archive.append(postings("taken", 1, 3));
      const stranger = posting("taken", 3, { transactionId: "taken.stranger" });
      expect(await archive.append([posting("taken", 4), stranger])).toMatch(
        /posting 3 of taken .* is taken\.3 and not/,
      );
      const moved = posting("taken", 5, { transactionId: "taken.2" });
      expect(await archive.append([posting("taken", 4), moved])).toMatch(/posting 5 of taken is taken\.2; .* taken 2/);
      const foreign = posting("thief", 1, { transactionId: "taken.2" });
      expect(await archive.append([foreign])).toMatch(/taken 2/);
      expect([await lastNumber(archive, "taken"), await lastNumber(archive, "thief")]).toEqual([3, 0]);
    });

    test("an account's and a key's postings are listed downward and upward", async () => {
      const { archive } = store;
      await archive.append(postings("list", 1, 9));
      const numbers = async (keyId: string | null, from: number | null, limit: number) =>
        (await archive.page({ accountId: "list", keyId }, from, limit)).map(({ number }) => number);
      expect(await numbers(null, null, 3)).toEqual([9, 8, 7]);
      expect(await numbers(null, 2, 5)).toEqual([2, 1]);
      expect(await numbers("key 0", 7, 2)).toEqual([6, 4]);
      expect(await numbers("key 7", null, 2)).toEqual([]);
      const after = await archive.after("list", 6, 2);
      expect(after).toEqual(postings("list", 7, 8));
      expect(await archive.after("list", 9, 5)).toEqual([]);
    });

    test("another process finds the same archive, with all that is in it", async () => {
      await store.archive.append(postings("lasting", 1, 5));
      const other = await store.another();
      expect(other.id).toBe(store.archive.id);
      expect(await other.after("lasting", 0, 10)).toEqual(postings("lasting", 1, 5));
      await other.close();
    });
  });
}
