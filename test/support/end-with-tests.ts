// Ends a test's process with the process that runs the tests, however that one ends.
import { type ChildProcess, spawn } from "node:child_process";

/** Waits for the end of its pipe. */
const WATCH = `read -r _; kill -s KILL -- "$1" 2>/dev/null`;

/**
 * The runner ends its processes with a signal, after which none of their code runs: a timed-out test may be between two gateways then. The
 * system closes their pipes, and a shell at the other end kills what is left: the child alone, or the group that it leads.
 */
export function endWithTests(child: ChildProcess, what: "child" | "group" = "child"): void {
  if (child.pid === undefined) return;
  const target = String(what === "child" ? child.pid : -child.pid);
  // Detached, so that a signal to the whole group, as by Ctrl-C, does not reach it.
  const watch = spawn("/bin/sh", ["-c", WATCH, "sh", target], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  child.once("exit", () => watch.kill("SIGKILL"));
}
