// What a call, an action and a chunk allocate on the event loop's heap, with room for all of it, so that no collection runs.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atMost, type Bench, expectWhole, type Row, startClient, startSubjects, stopSubjects, told } from "../bench.ts";
import type { Job, JobResult } from "../load/jobs.ts";
import { askProbe, Samples } from "../measure.ts";
import type { Subject } from "../subjects.ts";
import { eventsOf, requestText, searchText } from "../workload.ts";

const NAME = "bytes allocated";
const PROBE = fileURLToPath(new URL("../heap-probe.ts", import.meta.url));
/** Size of the young generation in megabytes: many times what a round allocates. */
const ROOM_MB = 256;
const CALLS_A_SECOND = 250;
const CHUNKS = 200;

interface Load {
  readonly each: string;
  readonly job: (subject: Subject, ms: number) => Job;
  readonly units: (result: JobResult) => number;
}

function calls(each: string, request: (subject: Subject) => string): Load {
  return {
    each,
    job: (subject, ms) => ({
      kind: "open",
      port: subject.port,
      request: request(subject),
      perSecond: CALLS_A_SECOND,
      ms,
    }),
    units: ({ whole }) => whole,
  };
}

const LOADS: readonly Load[] = [
  calls("chat call", (subject) => requestText(subject, { stream: false })),
  calls("action", searchText),
  {
    each: "chunk",
    job: (subject) => ({
      kind: "streams",
      port: subject.port,
      request: requestText(subject, { stream: true, chunks: CHUNKS, perSecond: 100 }),
      streams: 32,
      rampMs: 100,
      events: eventsOf(CHUNKS),
    }),
    units: ({ events }) => events,
  },
];

/** Heap bytes of a gateway's event loop before and after a collection. */
async function readHeap(pid: number, folder: string): Promise<{ before: number; after: number }> {
  const [before = 0, after = 0] = (await askProbe(pid, join(folder, String(pid)))).split(" ").map(Number);
  return { before, after };
}

export async function allocated(bench: Bench): Promise<Row[]> {
  const folder = join(bench.folder, "heap");
  mkdirSync(folder, { recursive: true });
  const room = [`--min-semi-space-size=${ROOM_MB}`, `--max-semi-space-size=${ROOM_MB}`, "--expose-gc"];
  const nodeFlags = [...room, "--import", PROBE];
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, ["tollgate", "base"], { nodeFlags, settings: { HEAP_FOLDER: folder } });
  const rows: Row[] = [];
  for (const { each, job, units } of LOADS) {
    const bytes = new Samples();
    for (let round = 0; round <= bench.rounds; round++) {
      for (const subject of subjects.values()) {
        const { pid } = subject;
        if (pid === null) continue;
        const from = await readHeap(pid, folder);
        // Round 0 warms up: unoptimized code allocates more.
        const result = await client.run(job(subject, round === 0 ? 6_000 : 1_500));
        expectWhole(subject, result);
        const to = await readHeap(pid, folder);
        if (round === 0) continue;
        bytes.add(subject.name, (to.before - from.after) / units(result));
      }
    }
    for (const name of bytes.names()) rows.push(told(NAME, `${name}: bytes a ${each}`, bytes.median(name).toFixed(0)));
    if (!bytes.has("base")) continue;
    rows.push(atMost(NAME, `${each}: over base's`, bytes.ratio("tollgate", "base"), 0.5, "x"));
  }
  await stopSubjects(bench, subjects);
  return rows;
}
