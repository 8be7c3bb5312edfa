// A ledger file with some of everything, an empty Redis to migrate it to, and what either shows.
import { copyFileSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../src/cli/run.ts";
import { systemClock as clock } from "../../src/core/clock.ts";
import { nano } from "../../src/core/money.ts";
import { claimArchive } from "../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../src/money/ledger/archive/sqlite.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { redisLedger } from "../../src/money/ledger/redis/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import type { Records } from "../../src/platform/records/records.ts";
import { redisRecords } from "../../src/platform/records/redis-records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { CENT, holdRequest, legOf, newAccount, newKey, postRequest } from "../money/ledger/requests.ts";
import { NO_BOUNDS } from "../money/ledger/store.ts";
import { openLink, startRedis } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const DAY_MS = 86_400_000;

interface Store {
  readonly ledger: Ledger;
  readonly records: Records;
  close(): Promise<void>;
}

export async function openFile(dataDir: string): Promise<Store> {
  mkdirSync(dataDir, { recursive: true });
  const units = { ledger: LEDGER_UNIT, records: RECORDS_UNIT };
  const file = join(dataDir, "tollgate.db");
  const thread = await openSqliteThread({ file, units, clock, disk: NO_BOUNDS, onFatal: console.error });
  return { ledger: sqliteLedger(thread), records: sqliteRecords(thread), close: () => thread.close() };
}

export async function tollgate(environment: Record<string, string>, ...words: string[]) {
  const out: string[] = [];
  const place = { ADMIN_PORT: "1", ...environment };
  const say = (line: string) => out.push(line);
  const code = await run(words, { environment: place, out: say, err: say });
  return { code, out: out.join("\n") };
}

export const hold = (accountId: string, id: string, cents: number) => ({
  ...{ accountId, holdId: `${accountId}.${id}`, cents, nowMs: clock.epochMs() },
});
export const order = (key: string, fingerprint = "body") => ({ idempotency: { key, fingerprint, keepMs: DAY_MS } });

/** Two accounts with some of everything, and records. */
async function fill({ ledger, records }: Store): Promise<void> {
  const limits = { services: ["files", "exa/search"], models: [], expiresAtMs: 1_900_000_000_000 };
  await ledger.openAccount(newAccount("ada", 1_000, { name: "Ada é 💶", kind: "business" }));
  await ledger.openAccount(newAccount("bob", 0));
  await ledger.createKey(
    "ada",
    newKey("bot", { externalId: "bot-1", ceilingNano: nano(90 * CENT), ceilingPeriod: "week", ...limits }),
  );
  await ledger.createKey("ada", newKey("old"));
  await ledger.patchKey("ada", "bot", { label: "robot" });
  for (let at = 0; at < 520; at++) {
    const keyId = ["ada.key", "bot", "old"][at % 3] ?? "";
    const one = hold("ada", String(at), 1);
    const amountNano = nano(at % 7);
    await Promise.all([
      ledger.reserve(holdRequest(one, { keyId, amountNano: nano(5), inference: at % 2 === 0 })),
      ledger.post(postRequest(one, { amountNano })),
    ]);
  }
  await ledger.rotateKey("ada", "bot", "new secret of bot", "tg_sk_new");
  await ledger.deleteKey("ada", "old");
  await ledger.topUp("ada", "ada.topup", nano(7), "invoice 7");
  await ledger.refund("ada.1", "ada.refund", "wrong answer");
  await ledger.patchAccount("bob", { frozen: true, strictBounds: true, requestsPerMinute: 5 });
  await ledger.reserve(holdRequest(hold("ada", "done", 2), order("done")));
  const legs = [legOf({ vendor: "first", ok: false, reason: "timeout", upstreamNano: nano(0) }), legOf({})];
  await ledger.post(postRequest(hold("ada", "done", 2), { legs }));
  await ledger.reserve(holdRequest(hold("ada", "maybe", 2), { ...order("maybe"), effect: "write" }));
  await ledger.void(hold("ada", "maybe", 0), "died", { keyFate: "unknown" });
  await ledger.reserve(
    holdRequest(hold("ada", "lapsed", 2), { idempotency: { key: "l", fingerprint: "f", keepMs: 0 } }),
  );
  await ledger.void(hold("ada", "lapsed", 0), "failed", { keyFate: "answered" });
  await records.put({ kind: "job", id: "one", payer: "acct:ada", value: "first", ttlMs: null, ifVersion: null });
  await records.put({ kind: "job", id: "one", payer: "acct:ada", value: "second", ttlMs: null, ifVersion: null });
  await records.put({ kind: "job", id: "two", payer: "acct:ada", value: '{"é":1}', ttlMs: DAY_MS, ifVersion: null });
  await records.put({ kind: "day", id: "x", payer: null, value: "7", ttlMs: null, ifVersion: null });
  await records.put({ kind: "job", id: "brief", payer: "acct:ada", value: "", ttlMs: 1, ifVersion: null });
}

/** Everything that callers and operators can see. */
export async function seen({ ledger, records }: Store) {
  const transactions = async (accountId: string, keyId: string | null) => {
    const rows: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Ledger["transactions"]>> = await ledger.transactions({
        accountId,
        keyId,
        limit: 100,
        cursor,
      });
      rows.push(...page.rows);
      cursor = page.next;
    } while (cursor !== null);
    return rows;
  };
  return {
    accounts: await ledger.accounts(),
    keys: [await ledger.keys("ada"), await ledger.keys("bob")],
    bySecret: await Promise.all(
      ["hash of ada.key", "new secret of bot", "hash of bot", "hash of old"].map(ledger.keyByHash),
    ),
    transactions: [await transactions("ada", null), await transactions("ada", "bot"), await transactions("bob", null)],
    refund: await ledger.transaction(null, "ada.refund"),
    legs: (await ledger.transaction("ada", "ada.done"))?.legs,
    jobs: await records.list("job", "acct:ada", 10, null).then(({ rows }) => rows),
    day: await records.get("day", "x"),
  };
}

/** The answers to late and repeated calls. */
export async function answers({ ledger, records }: Store, tries: string) {
  const reserve = (id: string, more: object) => ledger.reserve(holdRequest(hold("ada", `${tries}.${id}`, 1), more));
  return {
    done: await reserve("a", order("done")),
    other: await reserve("b", order("done", "another body")),
    maybe: await reserve("c", { ...order("maybe"), effect: "write" }),
    posted: await ledger.reserve(holdRequest(hold("ada", "done", 2))),
    repeat: await ledger.post(postRequest(hold("ada", "done", 2))),
    topUp: await ledger.topUp("ada", "again", nano(7), "invoice 7"),
    refund: await ledger.refund("ada.1", "again", "again"),
    ceiling: await ledger
      .reserve(holdRequest(hold("ada", `${tries}.d`, 95), { keyId: "bot" }))
      .then((refused) => ({ ...refused, resetsAtMs: null })),
    frozen: await ledger.reserve(holdRequest(hold("bob", `${tries}.e`, 1))),
    stale: await records.put({ kind: "job", id: "one", payer: "acct:ada", value: "", ttlMs: null, ifVersion: 1 }),
  };
}

export async function openStage() {
  const root = mkdtempSync(join(tmpdir(), "tollgate-migrate-"));
  const server = await startRedis();
  let folders = 0;
  const store = await openFile(join(root, "sound"));
  await fill(store);
  /** What the initial ledger of all tests shows. */
  const before = { seen: await seen(store), answers: await answers(store, "x") };
  await store.close();

  const folder = () => join(root, `data-${folders++}`);
  const copy = () => join(root, `copy-${folders++}`);

  async function openServer(dataDir: string): Promise<Store> {
    const link = await openLink(server.url);
    const archive = await openSqliteArchive({ file: join(dataDir, "archive.db"), clock, onFatal: console.error });
    // If the archive is in PostgreSQL, this file is not the one that Redis knows.
    await claimArchive(link, archive).catch(() => {});
    return {
      ledger: redisLedger({ link, clock, leaseMs: 60_000, archive }),
      records: redisRecords(link),
      async close() {
        await archive.close();
        await link.close();
      },
    };
  }

  /** A data folder with a ledger in it. */
  function filled(): string {
    const dataDir = folder();
    mkdirSync(dataDir);
    copyFileSync(join(root, "sound", "tollgate.db"), join(dataDir, "tollgate.db"));
    return dataDir;
  }

  return {
    ...{ server, before, folder, copy, filled, openServer },
    async dispose() {
      await server.dispose();
      removeFolder(root);
    },
  };
}
