import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("an old Node is turned away");

const SCRIPT = fileURLToPath(new URL("../../src/processes/node-version.cjs", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Runs the check as the given Node version would. `modules`: the ABI version of its compiled modules. */
function check(version: string) {
  const pretend = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;
  const { status, stderr } = spawnSync(process.execPath, ["-e", `${pretend} require(${JSON.stringify(SCRIPT)})`]);
  return { status, said: stderr.toString() };
}

test.each(["22.23.3", "22.23.10", "22.24.0", "24.21.0", "26.9.0", "26.10.0", "27.0.0"])(
  "Node %s will do",
  (version) => {
    expect(check(version)).toEqual({ status: 0, said: "" });
  },
);

test.each(["8.17.0", "20.20.2", "22.22.9", "22.23.2", "23.1.0", "24.20.9", "25.9.0", "26.8.0"])(
  "Node %s is turned away in one line",
  (version) => {
    const { status, said } = check(version);
    expect(status).toBe(1);
    expect(said).toMatch(
      /^tollgate: Node 22\.23\.3 or a later 22, 24\.21 or a later 24, or 26\.9 or later is needed, .*`npm ci --include=optional .*\n$/,
    );
    expect(said).toContain(version);
  },
);

test.each([["src/main.ts"], ["src/cli/tollgate.ts"]])("%s says so too, where it is run without npm", (program) => {
  const pretend = 'Object.defineProperties(process.versions, { node: { value: "23.1.0" } });';
  const words = ["--disable-warning=ExperimentalWarning", "--import", `data:text/javascript,${pretend}`, program];
  const { status, stderr, stdout } = spawnSync(process.execPath, words, { cwd: ROOT, env: { PORT: "abc" } });
  expect([status, stdout.toString()]).toEqual([1, ""]);
  expect(stderr.toString()).toMatch(/^tollgate: Node 22\.23\.3 .* is needed, and this is 23\.1\.0; .*\n$/);
});
