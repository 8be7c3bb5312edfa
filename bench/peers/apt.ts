// Servers from system packages, installed where they are missing and installing is allowed.
import { spawnSync } from "node:child_process";
import { type Ground, Unavailable } from "../subjects.ts";

function has(command: string): boolean {
  return spawnSync(command, ["-v"]).status === 0;
}

/** Makes `command` available; throws `Unavailable` with what the reader can do. */
export function installWithApt(ground: Ground, command: string, name: string): void {
  if (has(command)) return;
  if (process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0) {
    ground.say(`installing ${name} with apt-get`);
    spawnSync("apt-get", ["install", "-y", "--no-install-recommends", name], { stdio: "ignore" });
  }
  if (!has(command)) throw new Unavailable(`${command} is not installed: sudo apt-get install ${name}`);
}
