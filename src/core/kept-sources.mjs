// What Node makes of our files, found, without types and compiled, is kept beside the packages for the next start: half of its time.
// Read first by both programs and by every thread of theirs, before Node has taken the types off any file.
import { hash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url).href;
const PACKAGES = `${ROOT}node_modules/`;
/** `npm ci` empties it with the rest of node_modules. */
const FOLDER = fileURLToPath(new URL(`.cache/tollgate/${process.version}`, PACKAGES));

const MARK = "\n//";
const marked = (code) => `${code}${MARK}${hash("sha256", code)}`;

/** What was kept, where it is whole: a disk that was full, or a copy that broke off, leaves less. Null: there is none that is. */
function readKept(kept) {
  try {
    const text = readFileSync(kept, "utf8");
    const code = text.slice(0, Math.max(0, text.lastIndexOf(MARK)));
    return text === marked(code) ? text : null;
  } catch {
    return null;
  }
}

/** The file without its types: as it was kept under its content, or made now and kept where the folder can be written. */
export function stripped(file) {
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

/** Whether it is a file of ours. */
const isOurs = (url) => url.startsWith(ROOT) && !url.startsWith(PACKAGES);

/** Which file of ours one of ours means; null: Node finds out, as it does for packages. */
function placeOf(specifier, from) {
  const [path] = specifier.split("?");
  if (from === undefined || !path.endsWith(".ts") || !isOurs(from)) return null;
  if (path.startsWith("./") || path.startsWith("../")) return new URL(specifier, from).href;
  return isOurs(path) ? specifier : null;
}

try {
  mkdirSync(FOLDER, { recursive: true });
} catch {
  // It may have been filled when the image was made.
}
enableCompileCache(FOLDER);
registerHooks({
  resolve(specifier, context, nextResolve) {
    const url = placeOf(specifier, context.parentURL);
    return url === null ? nextResolve(specifier, context) : { url, format: "module", shortCircuit: true };
  },
  load(url, context, nextLoad) {
    const [file] = url.split("?");
    if (!isOurs(file) || !file.endsWith(".ts")) return nextLoad(url, context);
    return { format: "module", source: stripped(fileURLToPath(file)), shortCircuit: true };
  },
});
