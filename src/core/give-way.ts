// Threads that do what may wait let those go first that calls wait for.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/** Ten steps of niceness: beside a thread that is always busy it still gets a tenth of a core, so that what it holds open meanwhile is let go of. */
const NICENESS = 10;

/** To be called by a thread at its start, for all that it does: where cores are short, it gets what others leave. Linux alone knows threads by ids of their own. */
export function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    const [, threadId = ""] = readlinkSync("/proc/thread-self").split("/task/");
    setPriority(Number(threadId), NICENESS);
  } catch {
    // Without /proc, or where that is forbidden, it goes on as any other.
  }
}
