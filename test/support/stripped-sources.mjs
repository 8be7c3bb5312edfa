// Read first by every process and thread of a run of the tests: each source loses its types once a run, and not in every process anew.
// Taking the types off was a third of what the start of a gateway's process cost. Node's own function does it, on Node's own terms.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { threadId } from "node:worker_threads";

/** In the folder of the run, which goes with it. */
const folder = new URL(import.meta.url).searchParams.get("folder");

/** Throws where the source cannot be read, or is not TypeScript that Node takes. */
function stripped(path) {
  const source = readFileSync(path, "utf8");
  const kept = join(folder, createHash("sha256").update(source).digest("hex"));
  try {
    return readFileSync(kept, "utf8");
  } catch {
    const code = module.stripTypeScriptTypes(source);
    const unfinished = `${kept}.${process.pid}.${threadId}`;
    try {
      writeFileSync(unfinished, code);
      renameSync(unfinished, kept);
    } catch {
      // The disk may be full, or the run over: the next process does it again.
    }
    return code;
  }
}

// A tool that a test runs may bring an older Node, which has no such hooks.
if (folder !== null && module.registerHooks !== undefined) {
  module.registerHooks({
    load(url, context, nextLoad) {
      if (!url.startsWith("file:") || !/\.ts(\?|$)/.test(url)) return nextLoad(url, context);
      const path = fileURLToPath(url);
      try {
        return { format: "module", source: `${stripped(path)}\n\n//# sourceURL=${path}`, shortCircuit: true };
      } catch {
        // Node says itself what is wrong with it.
        return nextLoad(url, context);
      }
    },
  });
}
