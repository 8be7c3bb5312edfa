// An account has at most a thousand keys; an account that had more before the bound is served and paged, and gets no further keys.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEYS_PER_ACCOUNT_MAX, type KeyRow } from "../../src/core/account-rows.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { accountBase, profileOf, secretKey } from "../../src/money/ledger/redis/rows.ts";
import { sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import { type Gate, openGate, type Seen } from "../money/accounts/gate.ts";
import { redisStore } from "../money/ledger/redis/store.ts";
import { holdRequest, newAccount, newKey } from "../money/ledger/requests.ts";
import { openLedgerThread, START_MS } from "../money/ledger/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { anyRedis, openLink, REDIS_MS_MAX } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const BEFORE = 6_000;

/** The keys of an account from a release without a bound; several share a timestamp. */
const OLD = Array.from({ length: BEFORE }, (_, at) => ({
  ...newKey(`key_old${at}`, { externalId: `old ${at}:created` }),
  createdAtMs: START_MS - 1_000 + Math.floor(at / 7),
}));

interface Stage {
  readonly ledger: Ledger;
  readonly nowMs: number;
  dispose(): Promise<void>;
}

async function inFile(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-keys-"));
  const file = join(folder, "tollgate.db");
  const clock = manualClock(START_MS);
  const before = sqliteLedger(await openLedgerThread(file, clock));
  await before.openAccount(newAccount("old", 100));
  await before.close();
  const database = new DatabaseSync(file);
  const insert = database.prepare(
    `INSERT INTO api_key (key_id, account_id, is_primary, secret_hash, hint, label, external_id, paused, created_at)
       VALUES (?, 'old', 0, ?, ?, ?, ?, 0, ?)`,
  );
  database.exec("BEGIN");
  for (const { keyId, secretHash, hint, label, externalId, createdAtMs } of OLD)
    insert.run(keyId, secretHash, hint, label, externalId, createdAtMs);
  database.exec("COMMIT");
  database.close();
  const ledger = sqliteLedger(await openLedgerThread(file, clock));
  return {
    ledger,
    nowMs: START_MS,
    async dispose() {
      await ledger.close();
      removeFolder(folder);
    },
  };
}

async function inRedis(): Promise<Stage> {
  const redis = await anyRedis();
  const link = await openLink(redis.url);
  const store = redisStore(link, async () => {
    await link.close();
    await redis.dispose();
  });
  await store.ledger.openAccount(newAccount("old", 100));
  await Promise.all(
    OLD.map(async (key) => {
      const { keyId, secretHash, externalId, createdAtMs } = key;
      const fields = { "": JSON.stringify(profileOf(key, false)), ":paused": "0", ":ceiling": "", ":period": "" };
      const written = Object.entries({ ...fields, ":created": createdAtMs }).flatMap(([end, of]) => [keyId + end, of]);
      await link.call("HSET", `${accountBase("old")}:k`, ...written, `external:${externalId}`, keyId);
      await link.call("SET", secretKey(secretHash), JSON.stringify(["old", keyId]));
    }),
  );
  return { ledger: store.ledger, nowMs: store.clock.epochMs(), dispose: () => store.dispose() };
}

describe.each([
  ["a file", inFile],
  ["Redis", inRedis],
])("keys of one account in %s", (_, open) => {
  let stage: Stage;
  let ledger: Ledger;
  beforeAll(async () => {
    stage = await open();
    ledger = stage.ledger;
  }, REDIS_MS_MAX);
  afterAll(() => stage.dispose());

  it("are at most a thousand, the primary one among them, however many are made at once", async () => {
    await ledger.openAccount(newAccount("new", 100));
    const make = (at: number) => ledger.createKey("new", newKey(`key_new${at}`, { externalId: `${at}:created` }));
    const made = await Promise.all(Array.from({ length: KEYS_PER_ACCOUNT_MAX - 11 }, (_, at) => make(at)));
    expect(new Set(made)).toEqual(new Set(["created"]));
    const last = await Promise.all(Array.from({ length: 30 }, (_, at) => make(KEYS_PER_ACCOUNT_MAX + at)));
    expect(last.filter((outcome) => outcome === "created")).toHaveLength(10);
    expect(last.filter((outcome) => outcome === "too_many_keys")).toHaveLength(20);
    expect(await ledger.keys("new")).toHaveLength(KEYS_PER_ACCOUNT_MAX);
    expect(await ledger.deleteKey("new", "key_new0")).toBe(true);
    expect([await make(0), await make(5_000)]).toEqual(["created", "too_many_keys"]);
  });

  it("that were there before the bound are served, changed and revoked, and no further ones are made", async () => {
    expect(await ledger.createKey("old", newKey("key_one_more"))).toBe("too_many_keys");
    expect(await ledger.keyByHash("hash of key_one_more")).toBeNull();
    for (const at of [0, 1_000, 5_999]) {
      const keyId = `key_old${at}`;
      expect(await ledger.keyByHash(`hash of ${keyId}`)).toMatchObject({ keyId, accountId: "old" });
      const hold = { accountId: "old", holdId: `tx_${at}`, cents: 1, nowMs: stage.nowMs };
      expect(await ledger.reserve(holdRequest(hold, { keyId }))).toEqual({ outcome: "held" });
      expect(await ledger.key("old", keyId)).toMatchObject({ keyId, periodHeldNano: 10_000_000 });
      expect(await ledger.patchKey("old", keyId, { label: "renamed" })).toMatchObject({ label: "renamed" });
    }
    expect(await ledger.key("old", "key_new1")).toBeNull();
    expect(await ledger.key("nobody", "key_old1")).toBeNull();
    expect(await ledger.deleteKey("old", "key_old17")).toBe(true);
    expect(await ledger.createKey("old", newKey("key_instead"))).toBe("too_many_keys");
  });

  it("come page by page, each once, the oldest first, also while some are revoked", async () => {
    const seen: KeyRow[] = [];
    for (let after: KeyRow | null = null; ; ) {
      const page: readonly KeyRow[] = await ledger.keys("old", { limit: 1_000, after });
      seen.push(...page);
      if (page.length < 1_000) break;
      after = page.at(-1) ?? null;
      // Revokes the last key of the page before requesting the next page.
      if (seen.length === 2_000 && after !== null) await ledger.deleteKey("old", after.keyId);
    }
    const ids = seen.map(({ keyId }) => keyId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(
      ["old.key", ...OLD.map(({ keyId }) => keyId)].filter((id) => id !== "key_old17").toSorted(),
    );
    const ages = seen.map(({ createdAtMs }) => createdAtMs);
    expect(ages).toEqual(ages.toSorted((a, b) => a - b));
  });
});

describe("the endpoints of an account with as many keys as there may be", () => {
  let gate: Gate;
  let account: { id: string; key: string };
  beforeAll(async () => {
    gate = await openGate();
    const { body } = await gate.admin("POST", "/admin/v1/accounts", { name: "many", credit_cents: 100 });
    account = { id: body.account_id, key: body.api_key };
    for (let at = 1; at < KEYS_PER_ACCOUNT_MAX; at++) await gate.ledger.createKey(account.id, newKey(`key_${at}`));
  });
  afterAll(() => gate.close());

  it("say that there are too many, to the account and to the operator", async () => {
    for (const { status, body } of [
      await gate.call(account.key, "POST", "/api/v1/agents", { label: "more" }),
      await gate.admin("POST", `/admin/v1/accounts/${account.id}/keys`, { label: "more" }),
    ]) {
      expect([status, body.error]).toEqual([409, "too_many_keys"]);
      expect(body.message).toContain("1000 keys");
    }
    expect((await gate.call(account.key, "DELETE", "/api/v1/agents/key_7")).status).toBe(200);
    expect((await gate.call(account.key, "POST", "/api/v1/agents", { label: "more" })).status).toBe(201);
  });

  it("list all of them where nobody asks for less, and otherwise pages", async () => {
    const whole = await gate.call(account.key, "GET", "/api/v1/agents");
    expect([whole.body.agents.length, whole.body.next_cursor]).toEqual([1_000, null]);
    for (const [list, ask] of [
      ["agents", (query: string) => gate.call(account.key, "GET", `/api/v1/agents?${query}`)],
      ["keys", (query: string) => gate.admin("GET", `/admin/v1/accounts/${account.id}/keys?${query}`)],
    ] as const) {
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const { body }: Seen = await ask(`limit=300${cursor === null ? "" : `&cursor=${cursor}`}`);
        ids.push(...body[list].map(({ id }: { id: string }) => id));
        cursor = body.next_cursor;
      } while (cursor !== null);
      expect(ids).toEqual(whole.body.agents.map(({ id }: { id: string }) => id));
    }
  });

  it.each(["limit=0", "limit=1001", "limit=x", "cursor=x", "cursor=", "cursor=1", "page=2"])(
    "refuse %s",
    async (query) => {
      expect((await gate.call(account.key, "GET", `/api/v1/agents?${query}`)).status).toBe(400);
    },
  );

  it("show an agent key itself alone", async () => {
    const { body: made } = await gate
      .call(account.key, "DELETE", "/api/v1/agents/key_8")
      .then(() => gate.call(account.key, "POST", "/api/v1/agents", { label: "own" }));
    const { body } = await gate.call(made.api_key, "GET", "/api/v1/agents");
    expect([body.agents.map(({ id }: { id: string }) => id), body.next_cursor]).toEqual([[made.id], null]);
    expect((await gate.call(made.api_key, "GET", "/api/v1/account")).body.key.id).toBe(made.id);
  });
});
