import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("an old Node is turned away");

const SCRIPT = fileURLToPath(new URL("../../src/processes/node-version.cjs", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Runs the check as the given version of Node would. `modules`: the version of what is compiled for it. */
function check(version: string, { script = SCRIPT, modules = process.versions.modules } = {}) {
  const pretend = `Object.defineProperties(process.versions, ${JSON.stringify({ node: { value: version }, modules: { value: modules } })});`;
  const { status, stderr } = spawnSync(process.execPath, ["-e", `${pretend} require(${JSON.stringify(script)})`]);
  return { status, said: stderr.toString() };
}

test.each(["22.23.3", "22.23.10", "22.24.0"])("Node %s will do", (version) => {
  expect(check(version)).toEqual({ status: 0, said: "" });
});

test.each(["8.17.0", "20.20.2", "22.22.9", "22.23.2", "23.1.0", "24.0.0"])(
  "Node %s is turned away in one line",
  (version) => {
    const { status, said } = check(version, { modules: "1" });
    expect(status).toBe(1);
    expect(said).toMatch(/^tollgate: Node 22\.23\.3 or a later 22 is needed, .*`npm ci --include=optional .*\n$/);
    expect(said).toContain(version);
  },
);

// Its authors' package has its binaries beside its package.json, the repacked one in a folder of its own.
test.each([
  ["24.21.0", "137", "."],
  ["26.10.0", "147", "dist/bin"],
])("Node %s will do where the server's package brings a binary for it", (version, modules, folder) => {
  const root = mkdtempSync(join(tmpdir(), "tollgate-node-version-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const binaries = join(root, "node_modules/uWebSockets.js", folder);
  for (const made of [binaries, join(root, "src/processes")]) mkdirSync(made, { recursive: true });
  const script = join(root, "src/processes/node-version.cjs");
  copyFileSync(SCRIPT, script);
  expect(check(version, { script, modules }).said).toContain(
    `has no uws_${process.platform}_${process.arch}_${modules}.node`,
  );
  writeFileSync(join(binaries, `uws_${process.platform}_${process.arch}_${modules}.node`), "");
  expect(check(version, { script, modules })).toEqual({ status: 0, said: "" });
  expect(check("23.1.0", { script, modules }).status).toBe(1);
});

test.each([["src/main.ts"], ["src/cli/tollgate.ts"]])("%s says so too, where it is run without npm", (program) => {
  const pretend = 'Object.defineProperties(process.versions, { node: { value: "24.0.0" }, modules: { value: "1" } });';
  const words = ["--disable-warning=ExperimentalWarning", "--import", `data:text/javascript,${pretend}`, program];
  const { status, stderr, stdout } = spawnSync(process.execPath, words, { cwd: ROOT, env: { PORT: "abc" } });
  expect([status, stdout.toString()]).toEqual([1, ""]);
  expect(stderr.toString()).toMatch(/^tollgate: Node 22\.23\.3 or a later 22 is needed, and this is 24\.0\.0; .*\n$/);
});
