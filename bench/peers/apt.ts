// Servers that the system's own packages bring, installed where they are missing and the bench may.
import { spawnSync } from "node:child_process";
import { type Ground, Unavailable } from "../subjects.ts";

function has(command: string): boolean {
  return spawnSync(command, ["-v"]).status === 0;
}

/** Sees to it that `command` can be run; throws `Unavailable` with what a reader can do about it. */
export function installWithApt(ground: Ground, command: string, name: string): void {
  if (has(command)) return;
  if (process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0) {
    ground.say(`installing ${name} with apt-get`);
    spawnSync("apt-get", ["install", "-y", "--no-install-recommends", name], { stdio: "ignore" });
  }
  if (!has(command)) throw new Unavailable(`${command} is not installed: sudo apt-get install ${name}`);
}
