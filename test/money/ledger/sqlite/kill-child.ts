// The kill tests run this as a separate process: it holds and posts as fast as it can, and prints each acknowledged charge.
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { holdRequest, newAccount, postRequest } from "../requests.ts";
import { openLedgerThread } from "../store.ts";

const LANES = 64;
const ACCOUNTS = 5;
const [file = "", run = ""] = process.argv.slice(2);

const ledger = sqliteLedger(await openLedgerThread(file, systemClock));
for (let at = 0; at < ACCOUNTS; at++) await ledger.openAccount(newAccount(`account-${at}`, 1_000_000));

async function lane(number: number): Promise<void> {
  for (let at = 0; ; at++) {
    const accountId = `account-${(number + at) % ACCOUNTS}`;
    const hold = { accountId, holdId: `${run}-${number}-${at}`, cents: 0, nowMs: Date.now() };
    const amountNano = nano(1 + ((number * 7_919 + at * 104_729) % 9_999));
    const held = await ledger.reserve(
      holdRequest(hold, { amountNano: nano(10_000), owner: `process-${run}`, unwritten: at % 2 === 0, isNew: true }),
    );
    if (held.outcome !== "held") throw new Error(`not held: ${held.outcome}`);
    // Leaves some calls running at any moment when the process dies.
    if (at % 10 === 9) continue;
    const posted = await ledger.post(postRequest(hold, { amountNano }));
    if (posted.outcome === "posted") process.stdout.write(`${hold.holdId} ${amountNano}\n`);
  }
}

await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
