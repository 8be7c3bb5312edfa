// A child of the supervisor that does what the file `part` beside its folder says at its start: plays no gateway.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { FromChild, ToChild } from "../../src/processes/messages.ts";

export type Part =
  /** Answers, and leaves when told to. */
  | "good"
  /** Ends before it listens. */
  | "stillborn"
  /** Ends before it listens, except the one of the first folder, which is good. */
  | "stillborn but one"
  /** Ends once it has listened. */
  | "frail"
  /** Listens, and then its event loop stands still. */
  | "stuck"
  /** Answers, but does not leave. */
  | "stubborn";

let part: Part = "good";
let counted = 0;

/** In ticks of the system since its start: numbers of processes begin anew at some point. */
function bornAt(): string {
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The name of the program comes before, in parentheses; of the fields after it this is the twentieth.
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
    // All of it is in the name, which is there at once and whole.
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
