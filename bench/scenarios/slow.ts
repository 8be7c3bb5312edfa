// 64 clients that read one byte a second of 50 MB answers: does anything on the way buffer for them.
import { atMost, type Bench, expectWhole, type Row, told, withSubjects } from "../bench.ts";
import { openDescriptors, residentMb, watchResident } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "64 slow readers of 50 MB";
const READERS = 64;
const MAX_MB = 64;

async function measure(bench: Bench, subject: Subject, client: Client): Promise<Row[]> {
  const pid = subject.pid ?? process.pid;
  const request = requestText(subject, { stream: true });
  const descriptors = openDescriptors(pid);
  // A first crowd of ordinary readers, so that what a program allocates once is not taken for buffering.
  const crowd = await client.run({
    kind: "streams",
    port: subject.port,
    request,
    streams: 8,
    rampMs: 0,
    events: 30_000,
  });
  expectWhole(subject, crowd);
  const beforeMb = residentMb(pid);
  const watch = watchResident(pid);
  let held = 0;
  const look = setInterval(() => {
    held = Math.min(READERS, Math.max(0, Math.floor((openDescriptors(pid) - descriptors) / 2)));
  }, 500);
  const ms = bench.quick ? 5_000 : 25_000;
  const result = await client.run({ kind: "slow", port: subject.port, request, connections: READERS, ms });
  clearInterval(look);
  const grownMb = watch.stop() - beforeMb;
  const rate = `${held} still served after ${ms / 1000} s, ${result.bytes} bytes read`;
  bench.say(`  ${NAME}: ${subject.name} grew by ${grownMb.toFixed(1)} MB from ${beforeMb.toFixed(0)} MB; ${rate}`);
  if (subject.name !== "tollgate")
    return [told(NAME, `${subject.name}: resident grows by`, `${grownMb.toFixed(1)} MB`)];
  return [told(NAME, "readers at the end", rate), atMost(NAME, "resident grows by", grownMb, MAX_MB, " MB")];
}

export function slow(bench: Bench): Promise<Row[]> {
  const names = bench.quick ? (["tollgate"] as const) : (["bare", "tollgate"] as const);
  const work = async (subjects: ReadonlyMap<SubjectName, Subject>, client: Client) => {
    const rows: Row[] = [];
    for (const subject of subjects.values()) rows.push(...(await measure(bench, subject, client)));
    return rows;
  };
  return withSubjects(bench, names, work, { upstreamPort: bench.upstream.bigPort });
}
