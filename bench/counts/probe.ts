// Preloaded into a counted gateway: at SIGUSR2 it writes what the event loop did since the last time; at SIGWINCH it collects garbage.
import { renameSync, writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";
import { join } from "node:path";
import { promiseHooks } from "node:v8";
import { isMainThread, Worker } from "node:worker_threads";

const { COUNTS_FOLDER = "." } = process.env;

/** Node's own scripts. */
const NODE = "node:";
const TIMERS = "node:internal/timers";

function callsOf(scripts: readonly Profiler.ScriptCoverage[]) {
  let functions = 0;
  let nodeFunctions = 0;
  let timers = 0;
  for (const { url, functions: found } of scripts) {
    for (const { functionName, ranges } of found) {
      const calls = ranges[0]?.count ?? 0;
      if (url.startsWith(NODE)) nodeFunctions += calls;
      else functions += calls;
      if (url === TIMERS && (functionName === "Timeout" || functionName === "Immediate")) timers += calls;
    }
  }
  return { functions, nodeFunctions, timers };
}

if (isMainThread) {
  let promises = 0;
  let messages = 0;
  promiseHooks.onInit(() => {
    promises += 1;
  });
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...words: Parameters<typeof postMessage>) {
    messages += 1;
    postMessage.apply(this, words);
  };
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  let heapBefore = 0;
  const file = join(COUNTS_FOLDER, String(process.pid));
  const say = (words: unknown) => {
    writeFileSync(`${file}.part`, JSON.stringify(words));
    renameSync(`${file}.part`, file);
  };
  process.on("SIGWINCH", () => {
    globalThis.gc?.();
    say({});
  });
  process.on("SIGUSR2", () => {
    const bytes = process.memoryUsage().heapUsed - heapBefore;
    // The callback runs before `post` returns.
    session.post("Profiler.takePreciseCoverage", (error, coverage) => {
      if (error !== null) throw error;
      const counted = { bytes, promises, messages, ...callsOf(coverage.result) };
      promises = 0;
      messages = 0;
      say(counted);
      heapBefore = process.memoryUsage().heapUsed;
    });
  });
}
