// The spool's kill tests run this as a separate process: one paid call over Redis, and an exit at a named point.

import { once } from "node:events";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { COST, openStage } from "../../../support/scripted-plan.ts";
import { holdRequest } from "../requests.ts";
import { LEASE_MS, openSpooled } from "./spooled.ts";

const [url = "", folder = "", name = "", wanted = ""] = process.argv.slice(2);

/** Passes a point, or exits there. */
function pass(point: string): void {
  if (point === wanted) process.kill(process.pid, "SIGKILL");
}

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

const { ledger } = await openSpooled(url, folder, {
  wrap: (store) => ({
    ...store,
    async post(request) {
      pass("spooled");
      const posted = await store.post(request);
      pass("told");
      return posted;
    },
  }),
});
// It is never closed: its folder is removed with the test's.
const stage = await openStage(join(folder, "stage"));
const running = stage.begin({
  deps: { leaseMs: LEASE_MS },
  ledger: {
    // The call's own id would be the same in every process.
    async reserve({ amountNano }) {
      const hold = { accountId: "ada", holdId: name, cents: 0, nowMs: Date.now() };
      const outcome = await ledger.reserve(holdRequest(hold, { amountNano, leaseMs: LEASE_MS }));
      pass("held");
      return outcome;
    },
    post(request) {
      pass("ending");
      return ledger.post({ ...request, holdId: name });
    },
  },
});
const attempt = await running.attempt(0);
pass("asked");
attempt.content("hello ");
pass("answering");
if (wanted === "answered-away") {
  say("answering");
  await once(process.stdin, "data");
}
attempt.done();
await running.over;
if (running.reply.text().endsWith("end")) say(`answered ${COST}`);
if (wanted === "answered-away") process.kill(process.pid, "SIGKILL");
pass("answered");
await ledger.doctor();
pass("noted");
