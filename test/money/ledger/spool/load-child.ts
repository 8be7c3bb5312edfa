// The fault tests run this as one of several gateway processes: holds and ends calls over Redis until it is stopped or killed.
import { mkdirSync } from "node:fs";
import { systemClock } from "../../../../src/core/clock.ts";
import { nano } from "../../../../src/core/money.ts";
import { keepLeases } from "../../../../src/money/ledger/sweep.ts";
import { holdRequest, postRequest } from "../requests.ts";
import { allTold, openSpooled } from "./spooled.ts";

const LANES = 24;
const HOLD = nano(10_000);
const REST_MS = 100;
const [url = "", folder = "", run = "", accounts = "", lease = ""] = process.argv.slice(2);
const leaseMs = Number(lease);
const owner = `process-${run}`;

mkdirSync(folder, { recursive: true });
let stopping = false;
process.stdin
  .once("end", () => {
    stopping = true;
  })
  .resume();
const { ledger, link, forfeits, broken } = await openSpooled(url, folder, { leaseMs });
const leases = keepLeases({ ledger, clock: systemClock, owner, leaseMs, onBroken() {} });

async function lane(number: number): Promise<void> {
  const names = accounts.split(",");
  for (let at = 0; !stopping; at++) {
    const accountId = names[(number + at) % names.length] ?? "";
    const hold = { accountId, holdId: `${run}-${number}-${at}`, cents: 0, nowMs: Date.now() };
    const placing = ledger.reserve(holdRequest(hold, { amountNano: HOLD, owner, leaseMs }));
    const held = await placing.catch(() => null);
    if (held === null) void ledger.void(hold, "reserve failed").catch(() => {});
    if (held?.outcome !== "held") {
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      continue;
    }
    leases.keep(hold);
    if (at % 5 === 4) await ledger.void(hold, "failed");
    else {
      // Now and then a call costs more than it holds.
      const amountNano = nano(1 + ((number * 7_919 + at * 104_729) % 11_000));
      const told = await ledger.post(postRequest(hold, { amountNano }));
      if ("chargedNano" in told)
        process.stdout.write(`${accountId} ${hold.holdId} ${told.chargedNano} ${amountNano}\n`);
      else process.stdout.write(`lost ${hold.holdId} ${told.outcome}\n`);
    }
    leases.release(hold);
  }
}

await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
await allTold(ledger);
await leases.stop();
await ledger.close();
await link.close();
for (const error of broken) process.stderr.write(`${String(error)}\n`);
for (const forfeit of forfeits) process.stdout.write(`lost ${forfeit.transactionId} ${forfeit.hold}\n`);
