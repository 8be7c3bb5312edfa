// The gateway as a process that is killed, as by `kill -9`, at one step of what it writes into its folder of lists: `<function of node:fs/promises>:before`, or `:after`.
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const [step = "", when] = String(process.argv[2]).split(":");
const functions = promises as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
const real = functions[step];
if (real === undefined) throw new Error(`node:fs/promises has no ${step}`);

functions[step] = async (...args) => {
  const isOurs = /\/models(\/|$)/.test(String(args[0]));
  if (isOurs && when === "before") process.kill(process.pid, "SIGKILL");
  const result = await real(...args);
  if (isOurs && when === "after") process.kill(process.pid, "SIGKILL");
  return result;
};
syncBuiltinESMExports();
await import("../../src/main.ts");
