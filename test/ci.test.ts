// .ci/run with a fake npm that simulates its lanes: which lanes run, what is counted, the final message, and the exit status.
import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { onlyAProcessShows } from "./support/process-fact.ts";
import { removeFolder } from "./support/remove-folder.ts";

onlyAProcessShows("the lanes of .ci/run");

const CI = join(import.meta.dirname, "../.ci");

/** What a lane does instead of its script: exits with this status, and leaves that report if one is requested. */
interface Played {
  readonly status?: number;
  readonly report?: unknown;
}

const NPM = `#!/bin/sh
echo "$1 $2" >> asked
name=$([ "$1" = run ] && echo "$2" || echo "$1")
case "$*" in *--project=alone*) name="$name-alone" ;; esac
for word in "$@"; do
  case "$word" in --outputFile.json=*) cp "played/$name.json" "\${word#*=}" 2>/dev/null ;; esac
done
if [ "$1" = install ] && [ -e played/node.json ]; then
  mkdir -p "$3/node_modules/node/bin"
  cp bin/other-node "$3/node_modules/node/bin/node"
fi
exit $(cat "played/$name.status" 2>/dev/null || echo 0)
`;

/** The release of Node that `npm install` brings. */
const NODE = `#!/bin/sh
for word in "$@"; do
  case "$word" in --outputFile.json=*) cp played/node.json "\${word#*=}" ;; esac
done
`;

interface Case {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}
const good = (count: number): Case[] =>
  Array.from({ length: count }, (_, at) => ({ fullName: `good ${at}`, status: "passed", failureMessages: [] }));
const bad = (fullName: string): Case => ({ fullName, status: "failed", failureMessages: [`why ${fullName}`] });
const skipped: Case = { fullName: "skipped", status: "skipped", failureMessages: [] };

function reportOf(...cases: readonly Case[]) {
  const status = cases.some((one) => one.status === "failed") ? "failed" : "passed";
  return {
    numTotalTests: cases.length,
    numPendingTests: cases.filter((one) => one.status === "skipped").length,
    testResults: [{ name: "test/a.test.ts", status, message: "", assertionResults: cases }],
  };
}

async function ci(lanes: Readonly<Record<string, Played>>, scripts: readonly string[] = []) {
  const root = mkdtempSync(join(tmpdir(), "tollgate-ci-"));
  onTestFinished(() => removeFolder(root));
  cpSync(CI, join(root, ".ci"), { recursive: true });
  for (const folder of ["bin", "played"]) mkdirSync(join(root, folder));
  writeFileSync(
    join(root, "package.json"),
    JSON.stringify({ scripts: Object.fromEntries(scripts.map((name) => [name, ""])) }),
  );
  writeFileSync(join(root, "bin/npm"), NPM);
  chmodSync(join(root, "bin/npm"), 0o755);
  writeFileSync(join(root, "bin/other-node"), NODE, { mode: 0o755 });
  for (const [name, { status, report }] of Object.entries(lanes)) {
    if (status !== undefined) writeFileSync(join(root, `played/${name}.status`), String(status));
    if (report !== undefined)
      writeFileSync(join(root, `played/${name}.json`), typeof report === "string" ? report : JSON.stringify(report));
  }
  const env = { ...process.env, PATH: `${join(root, "bin")}${delimiter}${process.env.PATH}` };
  const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
    execFile(join(root, ".ci/run"), { env }, (error, stdout) =>
      resolve({ code: Number(error?.code ?? 0), out: stdout }),
    );
  });
  const asked = readFileSync(join(root, "asked"), "utf8")
    .trim()
    .split(/ *\n/)
    .filter((line) => line !== "install --prefix");
  return { code, out, asked, last: out.trim().split("\n").at(-1) };
}

const ALL_GOOD = {
  test: { report: reportOf(...good(3), skipped) },
  "test:system": { report: reportOf(...good(1)) },
  "test:faults": { report: reportOf(...good(2)) },
  "test:faults-alone": { report: reportOf(...good(1)) },
};

test("all lanes run, and the tests of all reports are counted", async () => {
  const { code, out, asked, last } = await ci(ALL_GOOD);
  expect(asked.slice(0, 4)).toEqual(["ci", "run check", "run test", "run test:system"]);
  // Concurrently.
  expect(asked.slice(4, 6).sort()).toEqual(["run demo", "run test:faults"]);
  expect(asked.slice(6)).toEqual(["run test:faults"]);
  expect([code, last]).toEqual([0, "7 passed, 0 failed"]);
  for (const lane of ["check", "test", "system", "demo", "faults", "faults-alone"])
    expect(out).toMatch(new RegExp(`^${lane}: \\d+ s`, "m"));
  expect(out).toMatch(/^test: \d+ s, 1 tests skipped$/m);
  for (const name of ["node-24", "node-26"]) expect(out).toContain(`== ${name} is left out`);
});

test("releases of Node that npm can install run their own part", async () => {
  const { code, out, last } = await ci({ ...ALL_GOOD, node: { report: reportOf(...good(4)) } });
  expect([code, last]).toEqual([0, "15 passed, 0 failed"]);
  for (const lane of ["demo-node-24", "node-24", "demo-node-26", "node-26"])
    expect(out).toMatch(new RegExp(`^${lane}: \\d+ s`, "m"));
});

test("lanes that package.json has come to have run and count as well", async () => {
  const more = { "test:matrix": { report: reportOf(...good(10)) }, "test:clients": { report: reportOf(...good(20)) } };
  const { code, asked, last } = await ci({ ...ALL_GOOD, ...more }, ["test:clients", "test:matrix"]);
  expect(asked).toEqual(expect.arrayContaining(["run test:matrix", "run test:clients"]));
  // The clients run on both HTTP engines.
  expect([code, last]).toEqual([0, "57 passed, 0 failed"]);
});

test("a test that failed is named at the end, and the lanes after it run", async () => {
  const broken = { status: 1, report: reportOf(...good(2), bad("the sum"), bad("the rest")) };
  const { code, out, asked, last } = await ci({ ...ALL_GOOD, test: broken });
  expect(asked).toContain("run test:faults");
  expect([code, last]).toEqual([1, "6 passed, 2 failed"]);
  expect(out).toContain("FAILED test/a.test.ts: the sum\n  why the sum");
});

test.each<[string, Record<string, Played>, string]>([
  ["that wrote no report", { test: { status: 1 } }, "FAILED lane test"],
  ["that wrote half a report", { test: { status: 1, report: '{"testResults": [' } }, "FAILED lane test"],
  ["that says it went well and wrote none", { test: { status: 0 } }, "FAILED lane test"],
  ["that found no tests", { "test:faults": { report: { numTotalTests: 0, testResults: [] } } }, "FAILED lane faults"],
  ["whose error is no test's", { test: { status: 1, report: reportOf(...good(3)) } }, "FAILED lane test"],
  ["that has no tests", { check: { status: 2 } }, "FAILED lane check"],
  ["that shows the product", { demo: { status: 1 } }, "FAILED lane demo"],
  [
    "with a file that cannot be read",
    {
      test: {
        status: 1,
        report: {
          numTotalTests: 3,
          testResults: [
            { name: "test/b.test.ts", status: "failed", message: "no such module", assertionResults: [] },
            ...reportOf(...good(3)).testResults,
          ],
        },
      },
    },
    "FAILED test/b.test.ts\n  no such module",
  ],
])("a lane %s counts as one that failed", async (_, lanes, said) => {
  const { code, out, last } = await ci({ ...ALL_GOOD, ...lanes });
  expect(code).toBe(1);
  expect(last).toMatch(/^[457] passed, 1 failed$/);
  expect(out).toContain(said);
});

test("without its packages nothing else is tried", async () => {
  const { code, asked, last } = await ci({ ...ALL_GOOD, ci: { status: 1 } });
  expect(asked).toEqual(["ci"]);
  expect([code, last]).toEqual([1, "0 passed, 1 failed"]);
});
