// A child of the supervisor that follows the file `part` beside its folder: it is not a real gateway.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { FromChild, ToChild } from "../../src/processes/child.ts";

export type Part =
  /** Answers, and exits when told to. */
  | "good"
  /** Exits before it listens. */
  | "stillborn"
  /** Exits before it listens, except the one of the first folder, which is good. */
  | "stillborn but one"
  /** Exits once it has listened. */
  | "frail"
  /** Listens, and then blocks its event loop. */
  | "stuck"
  /** Answers, but does not exit. */
  | "stubborn";

let part: Part = "good";
let counted = 0;

/** In clock ticks since boot, because process ids wrap around. */
function bornAt(): string {
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The program's name precedes it in parentheses; this is the twentieth of the fields after it.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

function tell(message: FromChild, then: () => void = () => {}): void {
  process.send?.(message, undefined, undefined, then);
}

function metrics(id: number): FromChild {
  counted += 1;
  return { kind: "metrics", id, text: `# HELP asked_total\n# TYPE asked_total counter\nasked_total ${counted}\n` };
}

process.on("message", (message: ToChild) => {
  if (message.kind === "start") {
    const folder = dirname(message.ownDir);
    part = readFileSync(join(folder, "part"), "utf8") as Part;
    // The name holds all the data, because a file's name appears at once and complete.
    writeFileSync(join(folder, `started ${bornAt()} ${process.pid} ${basename(message.ownDir)}`), "");
    const isFirst = basename(message.ownDir) === "worker-1";
    if (part === "stillborn" || (part === "stillborn but one" && !isFirst)) process.exit(1);
    tell({ kind: "ready" }, () => {
      if (part === "frail") process.exit(3);
      if (part === "stuck") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
  } else if (message.kind === "metrics") tell(metrics(message.id));
  else if (part !== "stubborn") tell(metrics(0), () => process.exit(0));
});
process.on("disconnect", () => process.exit(0));
