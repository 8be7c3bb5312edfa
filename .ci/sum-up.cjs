// Says at the end of a run what failed, what each lane took, and counts: all tests of all reports there are. Exits with 1 where anything failed.
const { existsSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const SHOWN_CHARS = 600;
const folder = process.argv[2];
const lanes = readFileSync(join(folder, "lanes"), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split(" "))
  .map(([name, status, seconds, kind]) => ({ name, status: Number(status), seconds: Number(seconds), kind }));

let passed = 0;
let failed = 0;

function fail(what, why) {
  failed += 1;
  console.log(`FAILED ${what}\n  ${why.slice(0, SHOWN_CHARS)}`);
}

/** Null where there is none, or half of one: the lane did not start, or was ended. */
function reportOf(name) {
  const file = join(folder, `${name}.json`);
  try {
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
  } catch {
    return null;
  }
}

for (const { name, status, kind } of lanes) {
  const failedBefore = failed;
  const report = kind === "tests" ? reportOf(name) : null;
  for (const file of report?.testResults ?? []) {
    const tests = file.assertionResults;
    passed += tests.filter((test) => test.status === "passed").length;
    const broken = tests.filter((test) => test.status === "failed");
    for (const test of broken) fail(`${file.name}: ${test.fullName}`, test.failureMessages.join("\n"));
    // A file that could not be read, or whose hooks failed.
    if (file.status === "failed" && broken.length === 0) fail(file.name, file.message);
  }
  if (kind === "tests" && report === null) fail(`lane ${name}`, `it has no report; exit status ${status}`);
  else if (kind === "tests" && report.numTotalTests === 0) fail(`lane ${name}`, "it ran no tests");
  // What no test says: a command that failed, or an error outside of the tests.
  else if (status !== 0 && failed === failedBefore) fail(`lane ${name}`, `exit status ${status}`);
}

for (const { name, seconds } of lanes) {
  const skipped = reportOf(name)?.numPendingTests ?? 0;
  console.log(`${name}: ${seconds} s${skipped > 0 ? `, ${skipped} tests skipped` : ""}`);
}

// The one line that is read by machines.
console.log(`${passed} passed, ${failed} failed`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);
