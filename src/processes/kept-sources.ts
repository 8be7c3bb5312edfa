// What Node makes of our files at a start, without types and compiled, is kept beside the packages for the next start: a third of its time.
import { hash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url).href;
/** `npm ci` empties it with the rest of node_modules. */
const FOLDER = fileURLToPath(new URL(`node_modules/.cache/tollgate/${process.version}`, ROOT));

const MARK = "\n//";
const marked = (code: string) => `${code}${MARK}${hash("sha256", code)}`;

/** What was kept, where it is whole: a disk that was full, or a copy that broke off, leaves less. Null: there is none that is. */
function readKept(kept: string): string | null {
  try {
    const text = readFileSync(kept, "utf8");
    const code = text.slice(0, Math.max(0, text.lastIndexOf(MARK)));
    return text === marked(code) ? text : null;
  } catch {
    return null;
  }
}

/** The file without its types: as it was kept under its content, or made now and kept where the folder can be written. */
function stripped(file: string): string {
  const source = readFileSync(file, "utf8");
  const kept = join(FOLDER, `${hash("sha256", source)}.js`);
  const before = readKept(kept);
  if (before !== null) return before;
  const code = marked(stripTypeScriptTypes(source));
  try {
    // Several processes may start at once, in containers with one number each too: what is there under the name is always whole.
    const own = `${kept}.${randomUUID()}`;
    writeFileSync(own, code);
    renameSync(own, kept);
  } catch {
    // Nothing is kept, as in an image that is read alone.
  }
  return code;
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
