// A child of the supervisor that does what the file `part` beside its folder says at its start: plays no gateway.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FromChild, ToChild } from "../../src/processes/messages.ts";

export type Part =
  /** Answers, and leaves when told to. */
  | "good"
  /** Ends before it listens. */
  | "stillborn"
  /** Ends once it has listened. */
  | "frail"
  /** Listens, and then its event loop stands still. */
  | "stuck"
  /** Answers, but does not leave. */
  | "stubborn";

let part: Part = "good";
let counted = 0;

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
    writeFileSync(join(folder, `started-${process.pid}`), message.ownDir);
    if (part === "stillborn") process.exit(1);
    tell({ kind: "ready" }, () => {
      if (part === "frail") process.exit(3);
      if (part === "stuck") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
  } else if (message.kind === "metrics") tell(metrics(message.id));
  else if (part !== "stubborn") tell(metrics(0), () => process.exit(0));
});
process.on("disconnect", () => process.exit(0));
