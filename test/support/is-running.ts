// Whether a process exists and runs, whichever process started it.
import { readFileSync } from "node:fs";

/** A zombie, which has ended but was not reaped by its parent, does not run: an orphan may stay one for long. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name precedes it, in parentheses.
    return stat.charAt(stat.lastIndexOf(")") + 2) !== "Z";
  } catch {
    return false;
  }
}
