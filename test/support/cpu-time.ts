// The CPU time that work takes in this process with all its threads: a bound on it holds however busy the machine is.
import { cpuUsage } from "node:process";

export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = cpuUsage();
  await work();
  const { user, system } = cpuUsage(before);
  return (user + system) / 1_000;
}
