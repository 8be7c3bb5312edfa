import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../../src/core/clock.ts";
import { PostingExport } from "../../../../src/money/ledger/archive/export.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import type { Ledger } from "../../../../src/money/ledger/model/ledger.ts";
import { anyRedis, openLink } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { ledgerContract } from "../contract/ledger.ts";
import { modelSuite } from "../model/suite.ts";
import { redisStore } from "../redis/store.ts";
import type { TestStore } from "../store.ts";

/** A ledger that answers an operation only once the archive has its postings. */
async function openArchived(): Promise<TestStore> {
  const server = await anyRedis();
  const link = await openLink(server.url);
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock: systemClock, onFatal: () => {} });
  const dispose = async () => {
    await archive.close();
    await link.close();
    await server.dispose();
    removeFolder(folder);
  };
  const store = redisStore(link, dispose, archive);
  const accounts = new Set<string>();
  const mover = new PostingExport({
    ...{ link, archive, clock: store.clock, clockIsServers: true, every: () => () => {} },
    onBroken: (error) => console.error("archive:", error),
  });
  let moving: Promise<unknown> = Promise.resolve();

  /** One move at a time, as only one of all processes moves: of one account, or of all where the account is unknown. */
  function moveAll(touched: unknown): Promise<unknown> {
    const { accountId = touched } = (typeof touched === "object" ? touched : {}) as { accountId?: unknown };
    const some = typeof accountId === "string" && accounts.has(accountId) ? [accountId] : [...accounts];
    moving = moving.then(() =>
      mover.flush(
        (async function* () {
          yield* some;
        })(),
      ),
    );
    return moving;
  }

  function archived<Kept extends Ledger>(ledger: Kept): Kept {
    return new Proxy(ledger, {
      get(target, name) {
        const operation = Reflect.get(target, name) as unknown;
        if (typeof operation !== "function" || typeof name !== "string") return operation;
        return (...words: unknown[]) => {
          if (name === "openAccount") accounts.add((words[0] as { accountId: string }).accountId);
          const answer = operation.apply(target, words) as Promise<unknown>;
          if (!["openAccount", "post", "sweep", "topUp", "refund", "settleOrphan"].includes(name)) return answer;
          return answer.then(async (value) => {
            await moveAll(words[0]);
            return value;
          });
        };
      },
    });
  }

  return {
    ...store,
    get ledger() {
      return archived(store.ledger);
    },
    get sharedLedger() {
      return store.sharedLedger === null ? null : archived(store.sharedLedger);
    },
    reopen: async () => archived(await store.reopen()),
  };
}

ledgerContract("redis with an archive", openArchived);
modelSuite("redis with an archive", openArchived, 10);
