// A test's server as a process that ends with the test's process, however that one ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** When the test's process ends, its end of the pipe closes, and the server is killed. */
const GUARD = `exec 3<&0; "$@" & child=$!; echo "pid $child"; (cat <&3 >/dev/null; kill -9 $child 2>/dev/null) & wait $child`;

export interface GuardedServer {
  readonly exited: Promise<void>;
  signal(name: NodeJS.Signals): void;
}

/** Settles when a line of the server matches `ready`; rejects with all of its lines where it ends first. */
export async function startGuarded(
  program: string,
  words: readonly string[],
  ready: RegExp,
  as: { readonly uid?: number; readonly gid?: number; readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<GuardedServer> {
  const child = spawn("/bin/sh", ["-c", GUARD, "sh", program, ...words], { ...as, stdio: ["pipe", "pipe", "pipe"] });
  let over = false;
  const exited = once(child, "exit").then(() => {
    over = true;
    child.stdin.destroy();
  });
  const said: string[] = [];
  const pid = Promise.withResolvers<number>();
  await new Promise<void>((resolve, reject) => {
    for (const lines of [child.stdout, child.stderr]) {
      createInterface({ input: lines }).on("line", (line) => {
        said.push(line);
        if (line.startsWith("pid ")) pid.resolve(Number(line.slice(4)));
        if (ready.test(line)) resolve();
      });
    }
    void exited.then(() => reject(new Error(`${program} did not start: ${said.join("\n")}`)));
  });
  const serverPid = await pid.promise;
  return {
    exited,
    signal(name) {
      // If it has ended by itself, another process may have its id by now.
      if (over) return;
      try {
        process.kill(serverPid, name);
      } catch (error) {
        // It has ended, which is not known here yet.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    },
  };
}
