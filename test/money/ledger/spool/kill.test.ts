// A process that dies between a hold and its answer, at each point: every answered call is charged once, nothing stays held.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { endWithTests } from "../../../support/end-with-tests.ts";
import { COST } from "../../../support/scripted-plan.ts";
import { allResolved, openSpooled, type SpooledTest, startSpooled } from "./spooled.ts";

/** In the order in which a call passes them; the child says where the process dies at each. */
const POINTS = ["held", "asked", "answering", "ending", "spooled", "told", "answered", "noted"];
const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

function startChild({ redis, folder }: SpooledTest, name: string, point: string) {
  const own = join(folder, name);
  mkdirSync(own);
  const words = ["--disable-warning=ExperimentalWarning", CHILD, redis.url, own, name, point];
  const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
  endWithTests(child);
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
  const died = Promise.all([once(child, "exit"), once(lines, "close")]).then(([[, signal]]) => signal);
  return { said, lines, died, own, goOn: () => child.stdin.write("\n") };
}

it("gateway kill -9 mid-stream, and at every other point between the hold and after the answer", async () => {
  const test = await startSpooled();
  const children = POINTS.map((point) => ({ point, ...startChild(test, `tx_${point}`, point) }));
  expect(await Promise.all(children.map(({ died }) => died))).toEqual(POINTS.map(() => "SIGKILL"));
  // Each is followed by a process that opens what it left.
  for (const { own } of children) {
    const next = await openSpooled(test.redis.url, own);
    expect(next.ledger.spoolState().depth).toBe(0);
    expect((await next.ledger.doctor()).findings).toEqual([]);
    await next.close();
  }
  await allResolved(test.other);
  const seen = children.map(async ({ point, said }) => {
    const posting = await test.other.transaction("ada", `tx_${point}`);
    return [
      point,
      said,
      posting?.amountNano ?? null,
      await test.other.holdState({ accountId: "ada", holdId: `tx_${point}` }),
    ];
  });
  const answered = [`answered ${COST}`];
  expect(await Promise.all(seen)).toEqual([
    ["held", [], null, "expired"],
    ["asked", [], null, "expired"],
    ["answering", [], null, "expired"],
    ["ending", [], null, "expired"],
    ["spooled", [], COST, "posted"],
    ["told", [], COST, "posted"],
    ["answered", answered, COST, "posted"],
    ["noted", answered, COST, "posted"],
  ]);
  expect(await test.other.account("ada")).toMatchObject({ spentNano: 4 * COST, heldNano: 0 });
  expect((await test.other.doctor()).findings).toEqual([]);
});

it("Redis down at settle, and the process dies after its answer: the next process charges what was answered", async () => {
  const test = await startSpooled();
  const child = startChild(test, "tx_1", "answered-away");
  await once(child.lines, "line");
  await test.redis.kill();
  child.goOn();
  expect(await child.died).toBe("SIGKILL");
  expect(child.said).toEqual(["answering", `answered ${COST}`]);
  await test.redis.start();
  const next = await openSpooled(test.redis.url, child.own);
  expect(await next.ledger.transaction("ada", "tx_1")).toMatchObject({ amountNano: COST });
  expect(await next.ledger.account("ada")).toMatchObject({ spentNano: COST, heldNano: 0 });
  expect((await next.ledger.doctor()).findings).toEqual([]);
  await next.close();
});
