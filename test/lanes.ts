// Which lane each test file runs in, read off what it imports: there is no list that a new file could be missing from.
//
//   test     what runs in process, and one file for each fact that only a process can show (test/support/process-fact.ts)
//   system   every other file that starts processes, servers or a browser
//   quick    of `test`, what starts nothing, and one file for each door
//
// The other lanes are folders.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { importsOf, withoutComments } from "./support/imports.ts";

const ROOT = join(import.meta.dirname, "..");

/** What a test file starts, lightest first. */
const STARTS = ["nothing", "a gateway", "random histories", "processes"] as const;
type Starts = (typeof STARTS)[number];

/** Real Redis, PostgreSQL and gateways of their own processes all come by way of `node:child_process`. */
const STARTERS: readonly (readonly [Starts, RegExp])[] = [
  ["processes", /^(node:child_process|puppeteer-core|src\/processes\/supervisor\.ts)$/],
  ["random histories", /^test\/simulation\/|^test\/money\/ledger\/model\/suite\.ts$|\.fuzz\.test\.ts$/],
  ["a gateway", /^src\/gateway\/gateway\.ts$/],
];

/** One file for each door runs in the quick lane although it starts a gateway: that lane, too, has seen calls go through. */
export const DOORS: readonly string[] = [
  "test/docs.test.ts",
  "test/models/chat/client.test.ts",
  "test/actions/run/run-call.test.ts",
];

/** What belongs to the whole process, so that a file that ran before, or leaves something running, would be counted too. */
const PROCESS_WIDE =
  /\bprocess\s*\.\s*(memoryUsage|getActiveResourcesInfo|resourceUsage|cpuUsage|listenerCount|on|once)\b|\bcreateHook\(|\bmonitorEventLoopDelay\(|\bperformance\s*\.\s*eventLoopUtilization\b/;

const FACT = /^onlyAProcessShows\("([^"]+)"\);$/m;

export interface TestFile {
  /** From the root of the tree. */
  readonly path: string;
  readonly starts: Starts;
  readonly lane: "test" | "system";
  /** What it shows that only a process can show. */
  readonly fact: string | null;
  /** The more it starts, the heavier. */
  readonly weight: number;
  readonly quick: boolean;
  /** It reads what belongs to the whole process, and so has one of its own. */
  readonly ownProcess: boolean;
}

function codeOf(path: string): string {
  return withoutComments(readFileSync(join(ROOT, path), "utf8"));
}

/** Whatever `path` imports by value, and what the files of test/ among that import in turn. */
function reachOf(path: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(path)) return found;
  found.add(path);
  if (!path.startsWith("test/") || !path.endsWith(".ts") || !existsSync(join(ROOT, path))) return found;
  for (const { target, typeOnly } of importsOf(path, codeOf(path))) if (!typeOnly) reachOf(target, found);
  return found;
}

function describeFile(path: string): TestFile {
  const reach = [...reachOf(path)];
  const starts = STARTERS.find(([, pattern]) => reach.some((target) => pattern.test(target)))?.[0] ?? "nothing";
  const code = codeOf(path);
  const fact = FACT.exec(code)?.[1] ?? null;
  return {
    path,
    starts,
    lane: starts === "processes" && fact === null ? "system" : "test",
    fact,
    weight: STARTS.indexOf(starts),
    quick: starts === "nothing" || DOORS.includes(path),
    ownProcess: PROCESS_WIDE.test(code),
  };
}

/** Lanes of their own: fault tests own the machine while they run, clients and SDKs have packages of their own, the matrix is large, the corpus prints its scores, and counts of cost are of one Node alone. */
const OTHER_LANES: readonly string[] = ["faults", "clients", "matrix", "corpus", "vendor-sdks", "cost"];

function filesUnder(folder: string): readonly string[] {
  return readdirSync(join(ROOT, "test", folder), { recursive: true, encoding: "utf8" }).map((name) =>
    join(folder, name),
  );
}

/** Every test file but those of the lanes that are folders. */
export function suiteFiles(): readonly TestFile[] {
  return readdirSync(join(ROOT, "test"), { withFileTypes: true })
    .filter(({ name }) => !OTHER_LANES.includes(name))
    .flatMap((entry) => (entry.isDirectory() ? filesUnder(entry.name) : [entry.name]))
    .map((name) => normalize(join("test", name)))
    .filter((path) => path.endsWith(".test.ts"))
    .map(describeFile);
}
