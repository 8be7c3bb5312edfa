// What Node makes of our files at a start, without types and compiled, is kept beside the packages for the next start: a third of its time.
import { hash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url).href;
/** `npm ci` empties it with the rest of node_modules. */
const FOLDER = fileURLToPath(new URL(`node_modules/.cache/tollgate/${process.version}`, ROOT));

/** The file without its types: as it was kept under its content, or made now and kept where the folder can be written. */
function stripped(file: string): string {
  const source = readFileSync(file, "utf8");
  const kept = join(FOLDER, `${hash("sha256", source)}.js`);
  try {
    return readFileSync(kept, "utf8");
  } catch {
    const code = stripTypeScriptTypes(source);
    try {
      const own = `${kept}.${process.pid}`;
      writeFileSync(own, code);
      // Several processes may start at once: what is there under the name is always whole.
      renameSync(own, kept);
    } catch {
      // Nothing is kept, as in an image that is read alone.
    }
    return code;
  }
}

/** From now on files of ours that this thread imports are taken from what was kept. To be called before they are imported. */
export function keepSources(): void {
  try {
    mkdirSync(FOLDER, { recursive: true });
  } catch {
    // It may have been filled when the image was made.
  }
  enableCompileCache(FOLDER);
  registerHooks({
    load(url, context, nextLoad) {
      const [file = ""] = url.split("?");
      if (!file.startsWith(ROOT) || !file.endsWith(".ts")) return nextLoad(url, context);
      return { format: "module", source: stripped(fileURLToPath(file)), shortCircuit: true };
    },
  });
}
