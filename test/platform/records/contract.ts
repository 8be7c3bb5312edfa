// The contract of every record store, for any backend. A store's test calls `recordsContract` with a function that opens one.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PutRecord, Records } from "../../../src/platform/records/records.ts";
import { sharedWindow } from "../../../src/platform/records/shared-window.ts";
import type { ManualClock } from "../../support/manual-clock.ts";

export interface TestRecords {
  readonly records: Records;
  readonly clock: ManualClock;
  /** Closes the store and opens it again on its data. */
  reopen(): Promise<Records>;
  dispose(): Promise<void>;
}

export function recordsContract(name: string, open: () => Promise<TestRecords>): void {
  describe(`${name}: the records' contract`, () => {
    let store: TestRecords;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.dispose());

    const put = (id: string, more: Partial<PutRecord> = {}) =>
      store.records.put({ kind: "job", id, payer: "acct:a", value: "{}", ttlMs: null, ifVersion: null, ...more });

    test("a record is read back as it was put, and each put is a new version", async () => {
      const createdAtMs = store.clock.epochMs();
      expect(await put("one", { value: '{"text":"é\\u0000 💶"}' })).toBe(1);
      store.clock.advance(5);
      expect(await put("one", { value: "second", payer: null })).toBe(2);
      expect(await store.records.get("job", "one")).toEqual({
        ...{ kind: "job", id: "one", payer: null, version: 2, value: "second", createdAtMs, expiresAtMs: null },
      });
      expect(await store.records.get("file", "one")).toBeNull();
      expect(await store.records.get("job", "none")).toBeNull();
    });

    test("the sizes of records are those of their values in bytes, as long as they are there", async () => {
      await put("sized", { value: "é💶 and more", ttlMs: 1_000 });
      await put("emptied", { value: "" });
      const bytes = Buffer.byteLength("é💶 and more");
      expect(await store.records.sizes("job", ["sized", "none", "emptied", "sized"])).toEqual([bytes, null, 0, bytes]);
      expect(await store.records.sizes("file", ["sized"])).toEqual([null]);
      expect(await store.records.sizes("file", [])).toEqual([]);
      store.clock.advance(1_000);
      expect(await store.records.sizes("job", ["sized", "emptied"])).toEqual([null, 0]);
    });

    test("of many who put on the same version, one wins", async () => {
      expect(await put("raced", { ifVersion: 1 })).toBeNull();
      const first = await Promise.all([1, 2, 3].map((at) => put("raced", { ifVersion: 0, value: String(at) })));
      expect(first.filter((version) => version !== null)).toEqual([1]);
      const second = await Promise.all([1, 2, 3].map(() => put("raced", { ifVersion: 1 })));
      expect(second.filter((version) => version !== null)).toEqual([2]);
    });

    test("a window that processes share lets through as many as it may, whoever of them counts", async () => {
      const [one, other] = [sharedWindow(store.records, store.clock), sharedWindow(store.records, store.clock)];
      const taken = await Promise.all(Array.from({ length: 9 }, (_, at) => (at % 2 === 0 ? one : other)("tries", 4)));
      expect(taken.filter(Boolean)).toHaveLength(4);
      expect([await one("other tries", 1), await other("other tries", 1)]).toEqual([true, false]);
      store.clock.advance(60_000);
      expect(await other("tries", 4)).toBe(true);
    });

    test("past its time a record is gone for every reader, and its id is free", async () => {
      await put("brief", { ttlMs: 1_000, payer: "acct:brief" });
      store.clock.advance(999);
      expect(await store.records.get("job", "brief")).not.toBeNull();
      store.clock.advance(1);
      expect(await store.records.get("job", "brief")).toBeNull();
      expect((await store.records.list("job", "acct:brief", 10, null)).rows).toEqual([]);
      expect(await store.records.delete("job", "brief")).toBe(false);
      expect(await put("brief", { ifVersion: 0 })).toBe(1);
    });

    test("a put renews or removes the time to live", async () => {
      await put("renewed", { ttlMs: 1_000 });
      store.clock.advance(900);
      await put("renewed", { ttlMs: 1_000 });
      store.clock.advance(900);
      expect(await put("renewed")).toBe(3);
      store.clock.advance(9_000);
      expect(await store.records.get("job", "renewed")).toMatchObject({ version: 3, expiresAtMs: null });
    });

    test("a put with no time to live left removes the record, if it is the version that was read", async () => {
      await put("ended");
      expect(await put("ended", { ttlMs: 0, ifVersion: 2 })).toBeNull();
      expect(await store.records.get("job", "ended")).not.toBeNull();
      const won = await Promise.all([1, 2, 3].map(() => put("ended", { ttlMs: 0, ifVersion: 1 })));
      expect(won.filter((version) => version !== null)).toHaveLength(1);
      expect(await store.records.get("job", "ended")).toBeNull();
    });

    test("a deleted record is gone, and its versions begin again", async () => {
      await put("gone");
      expect(await store.records.delete("job", "gone")).toBe(true);
      expect(await store.records.delete("job", "gone")).toBe(false);
      expect(await store.records.get("job", "gone")).toBeNull();
      expect(await put("gone", { ifVersion: 0 })).toBe(1);
    });

    test("a payer's records of a kind are listed newest first, page by page", async () => {
      for (let at = 0; at < 7; at++) await put(`l${at}`, { payer: "acct:lister" });
      await put("l-other", { payer: "acct:other" });
      await put("l-file", { payer: "acct:lister", kind: "file" });
      await put("l2", { payer: "acct:lister", value: "changed" });
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await store.records.list("job", "acct:lister", 3, cursor);
        ids.push(...page.rows.map((row) => row.id));
        cursor = page.next;
      } while (cursor !== null);
      expect(ids).toEqual(["l6", "l5", "l4", "l3", "l2", "l1", "l0"]);
      expect((await store.records.list("job", "acct:lister", 7, null)).next).toBeNull();
      expect((await store.records.list("job", "acct:nobody", 7, null)).rows).toEqual([]);
    });

    test("the sweep removes what has expired, no more than it was told, and nothing else", async () => {
      await store.records.sweep(1_000);
      for (let at = 0; at < 5; at++) await put(`s${at}`, { ttlMs: 10 });
      await put("kept", { ttlMs: 1_000_000 });
      store.clock.advance(10);
      expect(await store.records.sweep(3)).toBe(3);
      expect(await store.records.sweep(3)).toBe(2);
      expect(await store.records.sweep(3)).toBe(0);
      expect(await store.records.get("job", "kept")).not.toBeNull();
    });

    describe("a share", () => {
      const KIB = 1_024;
      const shared = (id: string, payer: string, more: Partial<PutRecord> = {}) =>
        put(id, {
          ...{ payer, kind: "answer", value: "x".repeat(KIB), ttlMs: 10_000 },
          ...{ share: { bytesMax: 8 * KIB, full: "oldest_leave" as const }, ...more },
        });
      const OUT = { share: { bytesMax: 8 * KIB, full: "newest_stays_out" } } as const;
      const there = async (ids: readonly string[]) => {
        const found = await Promise.all(ids.map((id) => store.records.get("answer", id)));
        return ids.filter((_, at) => found[at] !== null);
      };
      const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

      test("that is full lets the newest in, and the oldest leave", async () => {
        const ids = names("old", 20);
        for (const id of ids) {
          store.clock.advance(1);
          expect(await shared(id, "acct:old")).toBe(1);
        }
        // 8 KiB hold five records of 1 KiB with their overhead.
        expect(await there(ids)).toEqual(ids.slice(-5));
        expect(await shared("long", "acct:old", { value: "x".repeat(6 * KIB) })).toBe(1);
        expect(await there([...ids, "long"])).toEqual(["old19", "long"]);
      });

      test("that is full keeps the newest out, where it says so, until the first have lapsed", async () => {
        const ids = names("first", 20);
        for (const id of ids) await shared(id, "acct:first", OUT);
        expect(await there(ids)).toEqual(ids.slice(0, 5));
        expect(await shared("late", "acct:first", OUT)).toBeNull();
        store.clock.advance(10_000);
        expect(await shared("next", "acct:first", OUT)).toBe(1);
        await store.records.sweep(1_000);
        for (const id of names("again", 20)) await shared(id, "acct:first", OUT);
        expect(await there(["next", ...names("again", 20)])).toEqual(["next", ...names("again", 4)]);
      });

      test("is one payer's and one kind's, and none of it is listed", async () => {
        for (const id of names("full", 20)) await shared(id, "acct:full");
        expect(await shared("of-other", "acct:other-share", OUT)).toBe(1);
        expect(await shared("of-kind", "acct:full", { ...OUT, kind: "refusal" })).toBe(1);
        expect(await put("unshared", { payer: "acct:full", kind: "answer" })).toBe(1);
        const { rows } = await store.records.list("answer", "acct:full", 100, null);
        expect(rows.map(({ id }) => id)).toEqual(["unshared"]);
      });

      test("takes nothing that is larger than itself, and gives nothing up for it", async () => {
        const ids = names("small", 3);
        for (const id of ids) await shared(id, "acct:small");
        expect(await shared("huge", "acct:small", { value: "x".repeat(9 * KIB) })).toBeNull();
        expect(await there([...ids, "huge"])).toEqual(ids);
      });

      test("has what many put at the same time counted once each", async () => {
        const ids = names("many", 30);
        await Promise.all(ids.map((id) => shared(id, "acct:many")));
        expect(await there(ids)).toHaveLength(5);
      });
    });

    test("records are there after closing and opening again", async () => {
      await put("lasting", { value: "x".repeat(1_000_000) });
      const before = await store.records.get("job", "lasting");
      const records = await store.reopen();
      expect(await records.get("job", "lasting")).toEqual(before);
    });
  });
}
