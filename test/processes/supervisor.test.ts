// The parent of several processes, with small scripted children: which are replaced, when, and when it gives up.
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type Families, readMetrics } from "../../src/platform/observe/merge-metrics.ts";
import { PATIENCE, type Patience, startSupervisor } from "../../src/processes/supervisor.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { isRunning } from "../support/is-running.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import type { Part } from "../support/scripted-child.ts";

onlyAProcessShows("workers that die, hang or never start");

const FILE = fileURLToPath(new URL("../support/scripted-child.ts", import.meta.url));

interface SupervisorSetting {
  readonly count?: number;
  readonly part?: Part;
  readonly patience?: Partial<Patience>;
  readonly drainMsMax?: number;
}

const newFolder = () => folderForTest("tollgate-supervisor-");

/** The children so far, oldest first: process id and folder. */
function startedIn(dataDir: string) {
  return readdirSync(dataDir)
    .map((name) => name.split(" "))
    .filter(([word]) => word === "started")
    .map(([, born, pid, folder]) => ({ born: Number(born), pid: Number(pid), folder }))
    .sort((one, other) => one.born - other.born || one.pid - other.pid);
}

async function supervised(
  { count = 2, part = "good", patience = {}, drainMsMax = 5_000 }: SupervisorSetting = {},
  dataDir = newFolder(),
) {
  const play = (next: Part): void => writeFileSync(join(dataDir, "part"), next);
  play(part);
  const said: string[] = [];
  const givenUp = Promise.withResolvers<Error>();
  const supervisor = await startSupervisor({
    file: FILE,
    args: [],
    count,
    partOf: () => ({ role: "both", serves: true }),
    dataDir,
    port: 1,
    sandboxUrl: null,
    drainMsMax,
    retireMsMax: drainMsMax,
    patience: { ...PATIENCE, againMs: 1, ...patience },
    clock: systemClock,
    say: (sentence) => said.push(sentence),
    onGivenUp: givenUp.resolve,
  });
  onTestFinished(async () => {
    play("good");
    await supervisor.drain();
  });
  return { supervisor, play, said, givenUp: givenUp.promise, started: () => startedIn(dataDir) };
}

function asked(families: Families): number {
  return families.get("asked_total")?.samples.get("asked_total") ?? 0;
}

test("starts as many as there should be, each with a folder of its own", async () => {
  const { supervisor, started } = await supervised({ count: 3 });
  expect(supervisor.ready()).toBe(3);
  expect(started().map(({ folder }) => folder)).toEqual(["worker-1", "worker-2", "worker-3"]);
});

test("a start where one ends before it listens is no start, and leaves none behind", async () => {
  const dataDir = newFolder();
  const start = supervised({ part: "stillborn but one" }, dataDir);
  await expect(start).rejects.toThrow("a process ended before it listened");
  const pids = startedIn(dataDir).map(({ pid }) => pid);
  expect(pids.map(isRunning)).toEqual([false, false]);
});

test("a child that dies is replaced, in the same folder", async () => {
  const { supervisor, said, started } = await supervised();
  const [, victim] = started();
  process.kill(victim?.pid ?? 0, "SIGKILL");
  const third = await eventually(() => started()[2], "the new one");
  expect(third.folder).toBe("worker-2");
  await eventually(() => (supervisor.ready() === 2 ? true : undefined), "both");
  expect(said).toEqual(["Process 2 ended (SIGKILL) and is started again."]);
});

test("children that all die soon after their start, again and again, are given up", async () => {
  const { givenUp, started, said } = await supervised({ part: "frail", patience: { shortLivesMax: 3 } });
  expect((await givenUp).message).toBe("every process ended 3 times in a row soon after its start");
  expect(said.length).toBeGreaterThanOrEqual(4);
  expect(started().length).toBeGreaterThanOrEqual(6);
});

test("one that cannot live is tried again for as long as another one lives", async () => {
  const { supervisor, play, started, said } = await supervised({
    patience: { shortLivesMax: 2, againMsMax: 5, stableMs: 0 },
  });
  play("frail");
  process.kill(started()[1]?.pid ?? 0, "SIGKILL");
  await eventually(() => (said.length > 4 ? true : undefined), "some lives");
  expect(supervisor.stopping).toBe(false);
  play("good");
  await eventually(() => (supervisor.ready() === 2 ? true : undefined), "both");
});

test("restarts come later and later", async () => {
  const { started } = await supervised({ count: 1, part: "frail", patience: { againMs: 100, shortLivesMax: 4 } });
  const startedMs = performance.now();
  await eventually(() => (started().length === 4 ? true : undefined), "four lives");
  // 100 + 200 + 400 ms lie between them.
  expect(performance.now() - startedMs).toBeGreaterThan(600);
});

test("a child whose event loop stands still is killed and replaced", async () => {
  const { supervisor, play, started, said } = await supervised({
    part: "stuck",
    patience: { lookMs: 50, answerMsMax: 400, missedMax: 3 },
  });
  const stuck = started();
  play("good");
  const replaced = () => supervisor.ready() === 2 && !stuck.some(({ pid }) => isRunning(pid));
  await eventually(() => replaced() || undefined, "two new ones");
  // On a busy machine a new one may be late as well.
  const killed = said.filter((sentence) => sentence.endsWith("answers no more and is killed."));
  expect(killed.length).toBeGreaterThanOrEqual(2);
});

test("all are replaced one at a time: there are never fewer than before", async () => {
  const { supervisor, started, said } = await supervised();
  const before = started();
  const readyCounts: number[] = [];
  const watch = setInterval(() => readyCounts.push(supervisor.ready()), 1);
  await supervisor.roll();
  clearInterval(watch);
  expect(Math.min(...readyCounts)).toBe(2);
  const after = started().slice(2);
  // The spare folder, then the folder of the first one.
  expect(after.map(({ folder }) => folder)).toEqual(["worker-3", "worker-1"]);
  expect(before.map(({ pid }) => isRunning(pid))).toEqual([false, false]);
  expect(said).toEqual([]);
});

test("where a new one does not come up the old ones stay", async () => {
  const { supervisor, play, started } = await supervised();
  const before = started();
  play("stillborn");
  await expect(supervisor.roll()).rejects.toThrow("process 1 was not replaced: the new one ended before it listened");
  expect(before.map(({ pid }) => isRunning(pid))).toEqual([true, true]);
  expect(supervisor.ready()).toBe(2);
});

test("requests to replace all that come while it is done are one", async () => {
  const { supervisor, started } = await supervised({ count: 1 });
  await Promise.all([supervisor.roll(), supervisor.roll(), supervisor.roll()]);
  expect(started()).toHaveLength(2);
  const first = supervisor.roll();
  await eventually(() => (started().length === 3 ? true : undefined), "the first to begin");
  await Promise.all([first, supervisor.roll(), supervisor.roll()]);
  expect(started()).toHaveLength(4);
});

test("those that do not leave in time are killed", async () => {
  const { supervisor, started } = await supervised({ part: "stubborn", drainMsMax: 50 });
  await supervisor.drain();
  expect(started().map(({ pid }) => isRunning(pid))).toEqual([false, false]);
  expect(supervisor.ready()).toBe(0);
});

test("what was counted by those that have ended stays in the sums", async () => {
  // The checks of the supervisor ask for the metrics, too, which would count.
  const { supervisor, started } = await supervised({ patience: { lookMs: 3_600_000 } });
  expect(asked(await supervisor.metrics(new Map()))).toBe(2);
  await supervisor.roll();
  // Each counted once more as it exited, and the new ones count from 1.
  expect(asked(await supervisor.metrics(new Map()))).toBe(2 * 2 + 2);
  process.kill(started()[3]?.pid ?? 0, "SIGKILL");
  // Its successor is the fifth: how few are ready in between may be over before anybody looks.
  await eventually(() => started().length === 5 || undefined, "its successor");
  const own = readMetrics("# HELP asked_total\n# TYPE asked_total counter\nasked_total 10\n");
  await eventually(() => (supervisor.ready() === 2 ? true : undefined), "the new one");
  expect(asked(await supervisor.metrics(own))).toBe(10 + 2 * 2 + 1 + 2 + 1);
});
