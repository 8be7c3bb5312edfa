// `npm run bench -- profile unary`: the gateway's CPU under a fixed load, by function.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startRedis } from "../test/support/redis.ts";
import { removeFolder } from "../test/support/remove-folder.ts";
import { type Bench, startClient, startSubjects, stopSubjects, withCpu } from "./bench.ts";
import type { Job } from "./load/jobs.ts";
import { actingText } from "./scenarios/acting.ts";
import { runActionText } from "./scenarios/mcp.ts";
import type { Subject } from "./subjects.ts";
import { eventsOf, pagesText, requestText, searchText } from "./workload.ts";

const TOP = 25;
const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The part of a .cpuprofile that we read (the DevTools protocol's Profiler.Profile). */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The loads that can be profiled, each the one of its scenario. */
function jobFor(load: string, subject: Subject): Job {
  if (load === "streams") {
    const request = requestText(subject, { stream: true, chunks: 800, perSecond: 100 });
    return { kind: "streams", port: subject.port, request, streams: 256, rampMs: 200, events: eventsOf(800) };
  }
  if (load === "open") {
    const request = requestText(subject, { stream: true, chunks: 16 });
    return { kind: "open", port: subject.port, request, perSecond: 300, ms: 20_000 };
  }
  if (load === "spliced") {
    return { kind: "closed", port: subject.port, request: pagesText(subject, 20), connections: 1, ms: 8_000 };
  }
  if (load === "acting") {
    return { kind: "closed", port: subject.port, request: actingText(subject, 1), connections: 16, ms: 8_000 };
  }
  const texts: Readonly<Record<string, (of: Subject) => string>> = { actions: searchText, mcp: runActionText };
  const request = texts[load]?.(subject) ?? requestText(subject, { stream: false });
  return { kind: "closed", port: subject.port, request, connections: 64, ms: 8_000 };
}

/** Self time by function, highest first, as lines of a table, without idle time. */
function summarise(profile: Profile): string[] {
  const names = new Map(
    profile.nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const path = url.startsWith("file://") ? relative(ROOT, fileURLToPath(url)) : url;
      const place = path === "" ? "" : ` ${path.replace("node_modules/", "")}:${lineNumber + 1}`;
      return [id, `${functionName || "(anonymous)"}${place}`];
    }),
  );
  const selfMs = new Map<string, number>();
  let totalMs = 0;
  for (const [n, sample] of profile.samples.entries()) {
    const name = names.get(sample) ?? "?";
    if (name === "(idle)") continue;
    const ms = (profile.timeDeltas[n] ?? 0) / 1000;
    totalMs += ms;
    selfMs.set(name, (selfMs.get(name) ?? 0) + ms);
  }
  const most = [...selfMs].sort(([, a], [, b]) => b - a).slice(0, TOP);
  const line = (ms: number, name: string) => `${((100 * ms) / totalMs).toFixed(1).padStart(6)} %  ${name}`;
  return [`  ${totalMs.toFixed(0)} ms busy`, ...most.map(([name, ms]) => line(ms, name))];
}

/** Profiles the gateway, or the subjects in `--subjects`, under a scenario's load; returns the text to print. */
export async function profile(bench: Bench, load: string): Promise<string> {
  const folder = fileURLToPath(new URL(`.work/profile-${load}`, import.meta.url));
  removeFolder(folder);
  mkdirSync(folder, { recursive: true });
  const nodeFlags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=250"];
  const name = (["bare", "node"] as const).find((other) => bench.only?.has(other)) ?? "tollgate";
  const server = load === "redis" ? await startRedis({ dir: folder }) : null;
  const settings: Record<string, string> =
    server === null ? {} : { REDIS_URL: server.url, SIGNING_SECRET: "of-all-the-processes" };
  const subjects = await startSubjects(bench, [name], { nodeFlags, settings });
  const subject = subjects.get(name);
  if (subject === undefined) return "nothing to profile";
  const client = await startClient(bench);
  const { result, cpuMs } = await withCpu(subject, () => client.run(jobFor(load, subject)));
  await stopSubjects(bench, subjects);
  await server?.dispose();
  const units = load === "streams" ? result.events : result.whole;
  const lines = [
    `${name}: ${units} units, ${((cpuMs * 1000) / units).toFixed(1)} us CPU each, ${result.failed} failed`,
  ];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))) {
    lines.push("", `thread ${file}`, ...summarise(JSON.parse(readFileSync(join(folder, file), "utf8")) as Profile));
  }
  return [...lines, "", `The profiles are in ${relative(process.cwd(), folder)}; open them in the DevTools.`].join(
    "\n",
  );
}
