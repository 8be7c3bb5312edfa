// Whether a process is there and runs, whoever has started it.
import { readFileSync } from "node:fs";

/** One that has ended and whose parent has not asked how does not run: who becomes an orphan may stay so for long. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program comes before, in parentheses.
    return stat.charAt(stat.lastIndexOf(")") + 2) !== "Z";
  } catch {
    return false;
  }
}
