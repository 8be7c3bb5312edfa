// Processes that a test started end with its runner, even where no cleanup could run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "./support/gateway.ts";
import { isRunning } from "./support/is-running.ts";
import { onlyAProcessShows } from "./support/process-fact.ts";

onlyAProcessShows("a killed test run");

test.each(["child", "group"])("a %s ends with a runner that is killed", async (what) => {
  const own = JSON.stringify(new URL("./support/end-with-tests.ts", import.meta.url).href);
  const program = `
    import { spawn } from "node:child_process";
    const { endWithTests } = await import(${own});
    const child = spawn("sh", ["-c", "sleep 1000 & echo $!; wait"], { detached: true });
    endWithTests(child, ${JSON.stringify(what)});
    child.stdout.once("data", (pid) => console.log(child.pid + " " + pid));`;
  const flags = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program];
  const runner = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = (await once(runner.stdout, "data")) as [Buffer];
  const [leader = 0, sleeper = 0] = said.toString().split(" ").map(Number);
  onTestFinished(() => void (isRunning(sleeper) && process.kill(sleeper, "SIGKILL")));
  expect([isRunning(leader), isRunning(sleeper)]).toEqual([true, true]);
  runner.kill("SIGKILL");
  await eventually(() => !isRunning(leader) || undefined, "its end");
  if (what === "group") await eventually(() => !isRunning(sleeper) || undefined, "the end of all");
});
