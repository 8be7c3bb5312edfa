// The gateway as several processes: all of them die, or their parent does, or they are replaced under load without end.
import { expect, it, onTestFinished } from "vitest";
import { randomFrom } from "../../src/sandbox/vocabulary.ts";
import type { SeenCall } from "../support/chat-call.ts";
import { expectNothingHeld, expectNothingLost, startFleet, startLoad } from "../support/fleet.ts";
import { eventually } from "../support/gateway.ts";
import { isRunning } from "../support/is-running.ts";
import {
  allReady,
  charged,
  childrenOf,
  inFlight,
  LONG,
  processesReady,
  SHORT,
  startSeveral,
} from "../support/several.ts";

it("processes that are replaced five times under load turn nobody away, cut no stream and lose no sum", async () => {
  const gateway = await startSeveral(2);
  let over = false;
  const kept: SeenCall[] = [];
  const fresh: SeenCall[] = [];
  const streams: SeenCall[] = [];
  const run = async (seen: SeenCall[], call: () => Promise<SeenCall>) => {
    while (!over) seen.push(await call());
  };
  const load = [1, 2, 3, 4].flatMap(() => [
    run(kept, () => gateway.call(SHORT, "keep-alive")),
    run(fresh, () => gateway.call()),
    run(streams, () => gateway.call(LONG)),
  ]);
  for (let round = 0; round < 5; round++) {
    const done = gateway.says(/replaced/);
    gateway.send("SIGHUP");
    expect(await done).toBe("Every process was replaced.");
  }
  over = true;
  await Promise.all(load);
  const all = [...kept, ...fresh, ...streams];
  const reset = all.filter(({ status }) => status === 0).length;
  console.log(
    `10 processes replaced: ${kept.length} calls on open connections, ${fresh.length} on new ones, ` +
      `${streams.length} long streams; ${reset} connections reset before an answer`,
  );
  expect(all.filter(({ status }) => status !== 0 && status !== 200)).toEqual([]);
  // A stream that has begun completes; a connection still waiting to be accepted may be reset.
  expect(charged(all)).toBe(all.length - reset);
  expect(reset).toBeLessThanOrEqual(Math.ceil(all.length / 200));
  await allReady(gateway, 2);
  expect(await gateway.total("tollgate_outcomes_total", 'operation="chat"')).toBe(charged(all));
});

it("processes that are killed as soon as they are there end in exit 1, with a sentence", async () => {
  const gateway = await startSeveral(2, { shortLivesMax: 2, againMs: 1, stableMs: 3_600_000 });
  const said = gateway.says(/in a row/);
  const killer = setInterval(() => {
    try {
      for (const pid of gateway.children()) process.kill(pid, "SIGKILL");
    } catch {
      // The parent has exited, or a child did between the check and the kill.
    }
  }, 50);
  onTestFinished(() => clearInterval(killer));
  expect(await said).toBe("tollgate: every process ended 2 times in a row soon after its start");
  expect(await gateway.exited).toEqual({ code: 1, signal: null });
});

it("children whose parent is killed answer what is open, and give the port up", async () => {
  const gateway = await startSeveral(2);
  const stream = gateway.call({ ...LONG, model: "sandbox/ok-at-1000" });
  await inFlight(gateway, 1);
  const children = gateway.children();
  await gateway.kill();
  await eventually(
    () =>
      fetch(gateway.url).then(
        () => undefined,
        () => true,
      ),
    "the port to be free",
  );
  // The sandbox was the parent's, so the answer breaks off and says so; what matters is that all processes exit.
  await stream;
  await eventually(() => !children.some(isRunning) || undefined, "the children to leave");
});

it("processes over one file are killed six times under load, and then the parent: nothing is lost, doubled or held", async () => {
  const credit = 1_000_000;
  // A process killed repeatedly within seconds does not count as one that cannot start.
  const patience = JSON.stringify({ againMs: 20, againMsMax: 20, shortLivesMax: 1_000 });
  const fleet = await startFleet(1, null, { WORKERS: "2" }, ["test/support/several-processes.ts", patience]);
  onTestFinished(() => fleet.dispose());
  const [account, poor] = [await fleet.account(credit), await fleet.account(1)];
  const loads = [startLoad(fleet, account, randomFrom(1), 4), startLoad(fleet, poor, randomFrom(2), 2)] as const;
  const children = () => fleet.up().flatMap(({ pid }) => childrenOf(pid));
  for (let round = 0; round < 3; round++) {
    await processesReady(2, fleet.up()[0]?.adminUrl ?? "");
    const victims = children();
    expect(victims).toHaveLength(2);
    // The second dies while the first restarts.
    for (const pid of victims) {
      await loads[0].progress(5);
      process.kill(pid, "SIGKILL");
    }
  }
  await loads[0].progress(5);
  const last = children();
  const told = fleet.up()[0]?.says(/the store has ended/);
  await fleet.kill(0);
  await eventually(() => !last.some(isRunning) || undefined, "the children to end with their store");
  // They exit silently: the operator who killed the parent knows.
  await expect(told).rejects.toThrow(/ended and never said/);
  await fleet.start(0);
  await loads[0].progress(5);
  await Promise.all(loads.map((load) => load.stop()));
  // The killed processes' holds ended with them, not with their leases.
  await expectNothingHeld(fleet, 30_000);
  await expectNothingLost(fleet, account, credit, loads[0]);
  await expectNothingLost(fleet, poor, 1, loads[1]);
  expect(await fleet.drain()).toEqual([0]);
});
