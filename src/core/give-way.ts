// Lowers the priority of background threads, so that calls get the processor first.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/** Ten steps of niceness: beside a busy thread it still gets a tenth of a core, so that it soon releases what it holds open. */
const NICENESS = 10;

/** Call at a thread's start. Works on Linux only, where threads have ids. */
export function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    const [, threadId = ""] = readlinkSync("/proc/thread-self").split("/task/");
    setPriority(Number(threadId), NICENESS);
  } catch {
    // Without access to /proc the thread keeps its priority.
  }
}
