// C libraries that a process of the tests or the bench preloads, to replace the system's own functions.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { installed } from "./apt-install.ts";

const run = promisify(execFile);
const COMPILERS = ["/usr/bin/cc", "/usr/bin/gcc", "/usr/local/bin/cc"];
const findCompiler = () => COMPILERS.find((place) => existsSync(place));

/** Compiles `source` to `library`, for LD_PRELOAD. Rejects where there is no compiler and none can be installed. */
export async function compilePreloaded(source: string, library: string): Promise<void> {
  const compiler = await installed(findCompiler, "C compiler", "gcc", "libc6-dev");
  await run(compiler, ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"]);
}
