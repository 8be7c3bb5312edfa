// Which lane each test file runs in, derived from its imports, so that no list has to name new files.
//
//   test     what runs in process, and one file for each fact that only a process can show (test/support/process-fact.ts)
//   system   every other file that starts processes, servers or a browser
//   quick    of `test`, what starts nothing and repeats no other file, and one file for each door
//
// The other lanes are folders.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { importsOf, withoutComments } from "./support/imports.ts";

const ROOT = join(import.meta.dirname, "..");

/** The kinds of things that a test file starts, lightest first. */
const STARTS = ["nothing", "a gateway", "random histories", "processes"] as const;
type Starts = (typeof STARTS)[number];

/** Real Redis, PostgreSQL and separate gateway processes all come through `node:child_process`. */
const STARTERS: readonly (readonly [Starts, RegExp])[] = [
  ["processes", /^(node:child_process|puppeteer-core|src\/processes\/supervisor\.ts)$/],
  ["random histories", /^test\/simulation\/|^test\/money\/ledger\/model\/suite\.ts$|\.fuzz\.test\.ts$/],
  ["a gateway", /^src\/gateway\/gateway\.ts$/],
];

/** One file for each door runs in the quick lane although it starts a gateway, so that this lane makes real calls too. */
export const DOORS: readonly string[] = [
  "test/docs.test.ts",
  "test/models/chat/client.test.ts",
  "test/actions/run/run-call.test.ts",
];

/** Runs other files again, on the second HTTP engine. */
const REPEATS = "test/edge/http/contract/on-node.ts";

/** Process-wide state, which would also count earlier files, or ones that leave something running. */
const PROCESS_WIDE =
  /\bprocess\s*\.\s*(memoryUsage|getActiveResourcesInfo|resourceUsage|cpuUsage|listenerCount|on|once)\b|\bcreateHook\(|\bmonitorEventLoopDelay\(|\bperformance\s*\.\s*eventLoopUtilization\b/;

const FACT = /^onlyAProcessShows\("([^"]+)"\);$/m;

export interface TestFile {
  /** Relative to the root of the tree. */
  readonly path: string;
  readonly starts: Starts;
  readonly lane: "test" | "system";
  /** The fact it shows that only a process can show. */
  readonly fact: string | null;
  /** Grows with what it starts. */
  readonly weight: number;
  readonly quick: boolean;
  /** Whether it reads process-wide state, and so runs in its own process. */
  readonly ownProcess: boolean;
}

function codeOf(path: string): string {
  return withoutComments(readFileSync(join(ROOT, path), "utf8"));
}

/** Everything that `path` imports by value, with the imports of those files of test/. */
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
    quick: (starts === "nothing" && !reach.includes(REPEATS)) || DOORS.includes(path),
    ownProcess: PROCESS_WIDE.test(code),
  };
}

/**
 * Separate lanes: fault tests need the whole machine, clients and SDKs have their own packages, the matrix is large, the corpus prints its
 * scores, and cost counts apply to one Node version only.
 */
const OTHER_LANES: readonly string[] = ["faults", "clients", "matrix", "corpus", "vendor-sdks", "cost"];

function filesUnder(folder: string): readonly string[] {
  return readdirSync(join(ROOT, "test", folder), { recursive: true, encoding: "utf8" }).map((name) =>
    join(folder, name),
  );
}

/** Every test file except those in lane folders. */
export function suiteFiles(): readonly TestFile[] {
  return readdirSync(join(ROOT, "test"), { withFileTypes: true })
    .filter(({ name }) => !OTHER_LANES.includes(name))
    .flatMap((entry) => (entry.isDirectory() ? filesUnder(entry.name) : [entry.name]))
    .map((name) => normalize(join("test", name)))
    .filter((path) => path.endsWith(".test.ts"))
    .map(describeFile);
}
