// `npm run bench -- sites unary`: where the bytes of a call come from on the event loop's heap, by function and by caller.
import { mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Bench, expectWhole, startClient, startSubjects, stopSubjects } from "./bench.ts";
import type { Job } from "./load/jobs.ts";
import { askProbe } from "./measure.ts";
import type { Subject } from "./subjects.ts";
import { requestText, searchText } from "./workload.ts";

const TOP = 60;
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROBE = fileURLToPath(new URL("./sites-probe.ts", import.meta.url));

/** What we read of the DevTools protocol's HeapProfiler.SamplingHeapProfile. */
interface Node {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly Node[];
}

function jobFor(load: string, subject: Subject, perSecond: number, ms: number): Job {
  const request = load === "actions" ? searchText(subject) : requestText(subject, { stream: false });
  return { kind: "open", port: subject.port, request, perSecond, ms };
}

function placeOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  const path = url.startsWith("file://") ? relative(ROOT, fileURLToPath(url)) : url;
  return `${functionName || "(anonymous)"} ${path.replace("node_modules/", "")}:${lineNumber + 1}`;
}

/** What a file belongs to: a folder of ours, a package, or Node. */
function partOf({ callFrame: { url } }: Node): string {
  const path = url.startsWith("file://") ? relative(ROOT, fileURLToPath(url)) : url;
  if (path.startsWith("src/")) return path.split("/").slice(0, 2).join("/");
  return path.includes("node_modules/")
    ? (path.split("node_modules/")[1] ?? "").split("/").slice(0, 1).join("/")
    : path.split("/")[0] || "(native)";
}

/** Bytes by place and by part; native code counts for the function that called it. */
function addUp(head: Node) {
  const places = new Map<string, number>();
  const parts = new Map<string, number>();
  const walk = (node: Node, place: string, part: string) => {
    const native = node.callFrame.url === "";
    const here = native ? `${place} > ${node.callFrame.functionName}` : placeOf(node);
    const whose = native ? part : partOf(node);
    places.set(here, (places.get(here) ?? 0) + node.selfSize);
    parts.set(whose, (parts.get(whose) ?? 0) + node.selfSize);
    for (const child of node.children) walk(child, native ? place : here, whose);
  };
  walk(head, "", "(native)");
  return { places, parts };
}

function lines(sums: ReadonlyMap<string, number>, units: number, top: number): string[] {
  const most = [...sums].sort(([, a], [, b]) => b - a).slice(0, top);
  return most.map(([name, bytes]) => `${(bytes / units).toFixed(0).padStart(8)}  ${name}`);
}

/** Samples the allocations of the gateway, or of what `--subjects` names, under calls, and returns what to print. */
export async function sites(bench: Bench, load: string): Promise<string> {
  const folder = join(bench.folder, "sites");
  mkdirSync(folder, { recursive: true });
  const name = bench.only?.has("bare") ? "bare" : bench.only?.has("base") ? "base" : "tollgate";
  // The bare proxy, which has no settings, has it from here.
  process.env.HEAP_FOLDER = folder;
  const subjects = await startSubjects(bench, [name], {
    nodeFlags: ["--import", PROBE],
    settings: { HEAP_FOLDER: folder },
  });
  const subject = subjects.get(name);
  if (subject === undefined || subject.pid === null) return "nothing to sample";
  const client = await startClient(bench);
  await client.run(jobFor(load, subject, 1_000, bench.quick ? 5_000 : 12_000));
  process.kill(subject.pid, "SIGUSR2");
  const result = await client.run(jobFor(load, subject, 250, 8_000));
  expectWhole(subject, result);
  const profile = await askProbe(subject.pid, join(folder, String(subject.pid)));
  const { head } = JSON.parse(profile) as { head: Node };
  await stopSubjects(bench, subjects);
  const { places, parts } = addUp(head);
  const all = [...places.values()].reduce((sum, bytes) => sum + bytes, 0);
  const first = `${name}: ${(all / result.whole).toFixed(0)} bytes a call, of ${result.whole} calls`;
  return [first, "", ...lines(parts, result.whole, TOP), "", ...lines(places, result.whole, TOP)].join("\n");
}
