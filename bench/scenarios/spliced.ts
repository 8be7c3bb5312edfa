// 20 MB answers of an action, one after the other: how fast they pass, and whether anything on the way keeps them.
import { atLeast, atMost, type Bench, expectWhole, type Row, told, withCpu, withSubjects } from "../bench.ts";
import { residentMb, Samples, watchResident } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { pagesText, searchText } from "../workload.ts";

const NAME = "answers of 20 MB";
const MEGABYTES = 20;
const ADDED_MB_MAX = 16;

export function spliced(bench: Bench): Promise<Row[]> {
  return withSubjects(bench, ["bare", "tollgate", "base"], (subjects, client) => measure(bench, subjects, client));
}

async function measure(bench: Bench, subjects: ReadonlyMap<SubjectName, Subject>, client: Client): Promise<Row[]> {
  const speeds = new Samples<SubjectName>();
  const costs = new Samples<SubjectName>();
  const added = new Samples<SubjectName>();

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
      speeds.add(subject.name, mbPerSecond);
      costs.add(subject.name, cpu);
      added.add(subject.name, addedMb);
    }
  }
  const addedMost = (name: SubjectName) => Math.max(0, ...added.of(name));
  const rows = speeds.names().map((name) => {
    const speed = `${speeds.median(name).toFixed(0)} MB/s, ${costs.median(name).toFixed(1)} ms`;
    return told(NAME, `${name}: speed, CPU each, added memory`, `${speed}, ${addedMost(name).toFixed(1)} MB`);
  });
  if (!speeds.has("tollgate")) return rows;
  return [
    ...rows,
    atLeast(NAME, "speed over the bare proxy's", speeds.ratio("tollgate", "bare"), 0.5, "x"),
    atMost(NAME, "memory added", addedMost("tollgate"), ADDED_MB_MAX, " MB"),
  ];
}
