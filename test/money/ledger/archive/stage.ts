// A ledger in Redis with an archive, and exporters that move postings when a test says so.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import type { Archive } from "../../../../src/money/ledger/archive/archive.ts";
import { type ExportOptions, PostingExport } from "../../../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import type { SharedLedger } from "../../../../src/money/ledger/model/ledger.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import type { LedgerLink } from "../../../../src/money/ledger/redis/script.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { anyRedis, openLink } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { CENT, charge, newAccount } from "../requests.ts";
import { START_MS } from "../store.ts";

export const LEASE_MS = 60_000;

export async function* only(...accountIds: string[]) {
  yield* accountIds;
}

export async function openArchiveStage() {
  const server = await anyRedis();
  const link = await openLink(server.url);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-export-"));
  const file = join(folder, "archive.db");
  const archive = await openSqliteArchive({ file, clock: systemClock, onFatal: (error) => console.error(error) });
  const clock = manualClock(START_MS);
  const ledger = open(archive);
  let made = 0;

  function open(to: Archive): SharedLedger {
    const settled: LedgerLink = { ...link, uptimeMs: () => Promise.resolve(LEASE_MS) };
    return redisLedger({ link: settled, clock, clockIsServers: true, leaseMs: LEASE_MS, archive: to });
  }

  /** An exporter that runs on demand. */
  function exporter(options: Partial<ExportOptions> = {}) {
    const errors: unknown[] = [];
    let tick = () => {};
    const every: ExportOptions["every"] = (_, run) => {
      tick = run;
      return () => {};
    };
    const onBroken = (error: unknown) => errors.push(error);
    const own = new PostingExport({ ...{ link, archive, clock, clockIsServers: true, onBroken, every }, ...options });
    return Object.assign(own, { errors, tick: () => tick() });
  }

  async function account(cents = 1_000): Promise<string> {
    const accountId = `account-${made++}`;
    await ledger.openAccount(newAccount(accountId, cents, { inferenceCapNano: nano(100_000 * CENT) }));
    return accountId;
  }

  async function charges(accountId: string, first: number, last: number): Promise<void> {
    for (let at = first; at <= last; at++) {
      await charge(ledger, { accountId, holdId: `${accountId}.${at}`, cents: 1, nowMs: clock.epochMs() });
    }
  }

  async function listed(accountId: string, keyId: string | null = null, limit = 3): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: Awaited<ReturnType<SharedLedger["transactions"]>> = await ledger.transactions({
        ...{ accountId, keyId, limit, cursor },
      });
      ids.push(...page.rows.map((row) => row.transactionId.replace(`${accountId}.`, "")));
      if (page.next === null) return ids;
      cursor = page.next;
    }
  }

  const findings = async () => (await ledger.doctor()).findings;
  const inRedis = async (accountId: string) => Number(await link.call("ZCARD", `{a:${accountId}}:x`));

  return {
    ...{ link, file, archive, clock, ledger, open, exporter, account, charges, listed, findings, inRedis },
    async dispose() {
      await archive.close();
      await link.close();
      await server.dispose();
      removeFolder(folder);
    },
  };
}
