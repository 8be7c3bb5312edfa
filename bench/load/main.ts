// The bench's client, in its own process: takes one job at a time from the harness, and reports.
import { closedLoop } from "./closed-loop.ts";
import type { Job, JobResult } from "./jobs.ts";
import { manyStreams } from "./many-streams.ts";
import { openLoop } from "./open-loop.ts";
import { slowReaders } from "./slow-readers.ts";

function run(job: Job): Promise<JobResult> {
  switch (job.kind) {
    case "closed":
      return closedLoop(job);
    case "open":
      return openLoop(job);
    case "streams":
      return manyStreams(job);
    case "slow":
      return slowReaders(job);
  }
}

process.on("message", (job: Job) => {
  run(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.({ port: 0 });
