// 20 MB answers of an action, one after the other: how fast they pass, and whether anything on the way keeps them.
import {
  atLeast,
  atMost,
  type Bench,
  expectWhole,
  type Row,
  startClient,
  startSubjects,
  stopSubjects,
  told,
  withCpu,
} from "../bench.ts";
import { median, medianRatio, residentMb, watchResident } from "../measure.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { pagesText, searchText } from "../workload.ts";

const NAME = "answers of 20 MB";
const MEGABYTES = 20;
const ADDED_MB_MAX = 16;

export async function spliced(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, ["bare", "tollgate", "base"]);
  const speeds = new Map<SubjectName, number[]>();
  const costs = new Map<SubjectName, number[]>();
  const added = new Map<SubjectName, number>();

  const ask = (subject: Subject, request: string, connections: number, ms: number) =>
    client.run({ kind: "closed", port: subject.port, request, connections, ms });

  // Small calls, and answers passed on in the same way but a tenth as long: what a program allocates once, and what it leaves
  // lying until it is collected, is not what a long answer adds. Who keeps whole answers stands out by the other nine tenths.
  for (const subject of subjects.values()) {
    expectWhole(subject, await ask(subject, searchText(subject), 64, bench.quick ? 2_000 : 5_000));
    expectWhole(subject, await ask(subject, pagesText(subject, MEGABYTES / 10), 1, bench.quick ? 2_000 : 5_000));
  }
  for (let round = 1; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      const pid = subject.pid ?? process.pid;
      const beforeMb = residentMb(pid);
      const watch = watchResident(pid);
      const ms = bench.quick ? 1_500 : 4_000;
      const { result, cpuMs } = await withCpu(subject, () => ask(subject, pagesText(subject, MEGABYTES), 1, ms));
      const addedMb = watch.stop() - beforeMb;
      expectWhole(subject, result);
      const mbPerSecond = result.bytes / 1e6 / result.seconds;
      const cpu = cpuMs / result.whole;
      bench.say(
        `  ${NAME}, round ${round}: ${subject.name} ${mbPerSecond.toFixed(0)} MB/s, ${cpu.toFixed(1)} ms CPU each, grew by ${addedMb.toFixed(1)} MB from ${beforeMb.toFixed(0)} MB`,
      );
      speeds.set(subject.name, [...(speeds.get(subject.name) ?? []), mbPerSecond]);
      costs.set(subject.name, [...(costs.get(subject.name) ?? []), cpu]);
      added.set(subject.name, Math.max(added.get(subject.name) ?? 0, addedMb));
    }
  }
  await stopSubjects(bench, subjects);
  const rows = [...subjects.keys()].map((name) => {
    const speed = `${median(speeds.get(name) ?? []).toFixed(0)} MB/s, ${median(costs.get(name) ?? []).toFixed(1)} ms`;
    return told(NAME, `${name}: speed, CPU each, added memory`, `${speed}, ${(added.get(name) ?? 0).toFixed(1)} MB`);
  });
  const ours = speeds.get("tollgate");
  if (ours === undefined) return rows;
  return [
    ...rows,
    atLeast(NAME, "speed over the bare proxy's", medianRatio(ours, speeds.get("bare")), 0.5, "x"),
    atMost(NAME, "memory added", added.get("tollgate") ?? Number.NaN, ADDED_MB_MAX, " MB"),
  ];
}
