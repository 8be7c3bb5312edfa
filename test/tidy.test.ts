// Style that is executed: reads the tree and fails on a broken rule, saying what to do instead.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

/** A file imports its own folder or a lower line; siblings on a line never meet. */
const LINES: Record<string, number> = {
  "src/main.ts": 7,
  "src/gateway.ts": 7,
  "src/stores.ts": 7,
  "src/cli.ts": 7,
  "src/demo.ts": 7,
  "src/cli": 7,
  "src/processes": 7,
  "src/http": 6,
  "src/web": 6,
  "src/chat": 5,
  "src/run": 5,
  "src/pipeline": 4,
  "src/files": 3,
  "src/wires": 3,
  "src/catalog": 2,
  "src/ledger": 2,
  "src/records": 2,
  "src/accounts": 2,
  "src/limits": 2,
  "src/upstream": 2,
  "src/observe": 1,
  "src/storage": 1,
  "src/config.ts": 1,
  "src/account-rows.ts": 0,
  "src/plan.ts": 0,
  "src/neutral.ts": 0,
  "src/json.ts": 0,
  "src/errors.ts": 0,
  "src/failures.ts": 0,
  "src/money.ts": 0,
  "src/clock.ts": 0,
  // The sandbox stands apart: it imports the catalog's vocabulary and line 0, and only main, cli and demo start it.
  "src/sandbox": 3,
};

/** Vocabulary that siblings may share: types of what an adapter says, and of what the catalog made of it. */
const SHARED_TYPES = ["src/catalog/action.ts", "src/catalog/adapter.ts", "src/catalog/catalog.ts"];
/** The composition root, the command and the demo start each other's parts. */
const ROOTS = [
  "src/main.ts",
  "src/gateway.ts",
  "src/stores.ts",
  "src/cli.ts",
  "src/demo.ts",
  "src/cli",
  "src/processes",
];

const PACKAGES: Record<string, readonly string[]> = {
  "uWebSockets.js": ["src/http", "src/sandbox", "bench"],
  undici: ["src/upstream", "bench", "test"],
  "ipaddr.js": ["src/upstream"],
  aws4fetch: ["src/files"],
  "prom-client": ["src/observe", "bench", "test"],
  ioredis: ["src/storage", "test"],
  pg: ["src/ledger"],
  "node:sqlite": ["src/storage", "src/ledger", "src/records", "test"],
  minisearch: ["src/run"],
  tiktoken: ["src/chat"],
  openai: ["src/demo.ts", "test"],
};

const BANS: readonly { readonly pattern: RegExp; readonly except: readonly string[]; readonly instead: string }[] = [
  { pattern: /\bprocess\.env\b/, except: ["src/config.ts"], instead: "read it in config.ts" },
  { pattern: /\bDate\.now\(|\bperformance\.now\(/, except: ["src/clock.ts"], instead: "take a Clock" },
  {
    pattern: /\bconsole\./,
    except: ["src/cli", "src/cli.ts", "src/demo.ts"],
    instead: "write to the record, or to the log it becomes",
  },
  { pattern: /:\s*any\b|\bas any\b|<any>/, except: [], instead: "say what it is, or unknown" },
  { pattern: /\b(TODO|FIXME|XXX)\b/, except: [], instead: "do it, or name it in the closing note" },
  { pattern: /\bexport default\b/, except: ["adapters", "tiers"], instead: "export it by its name" },
  { pattern: /^export \* from/m, except: [], instead: "import from the file itself: no barrels" },
];

const VAGUE = /(^|[-/])(utils?|common|helpers?|managers?|services?|base)(\.ts|\/|-|$)/;
const LINES_MAX = 400;
/** An adapter of three or four actions has about 120; only one of seven comes near this. */
const ADAPTER_LINES_MAX = 200;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => normalize(join(entry.parentPath, entry.name)));
}

const source = ["src", "adapters", "tiers"].flatMap(filesBelow);
const text = new Map(source.map((file) => [file, readFileSync(file, "utf8")]));
const code = new Map([...text].map(([file, whole]) => [file, whole.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")]));

/** Code without its imports: a package may be called as a vendor is. */
function bodyOf(file: string): string {
  return (code.get(file) ?? "").replace(/^import .*$/gm, "");
}

function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const found = [
    ...(code.get(file) ?? "").matchAll(/^(?:import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"|import\("([^"]+)"\)/gm),
  ];
  return found.map((match) => {
    const name = match[2] ?? match[3] ?? "";
    const target = name.startsWith(".") ? normalize(join(dirname(file), name)) : name;
    return { target, typeOnly: match[1] !== undefined };
  });
}

function partOf(file: string): string {
  return Object.keys(LINES).find((part) => file === part || file.startsWith(`${part}/`)) ?? file.split("/")[0] ?? file;
}

function within(file: string, parts: readonly string[]): boolean {
  return parts.some((part) => file === part || file.startsWith(`${part}/`));
}

describe("the house", () => {
  it("every folder of src has its line", () => {
    expect(source.filter((file) => file.startsWith("src/") && LINES[partOf(file)] === undefined)).toEqual([]);
  });

  it("imports point to the own folder or down", () => {
    const broken: string[] = [];
    for (const file of source.filter((name) => name.startsWith("src/"))) {
      const own = partOf(file);
      for (const { target } of importsOf(file)) {
        if (!target.startsWith("src/")) continue;
        const other = partOf(target);
        if (other === own || within(file, ROOTS)) continue;
        // The files of line 0 are one vocabulary.
        const down = (LINES[other] ?? 99) < (LINES[own] ?? -1) || (LINES[own] === 0 && LINES[other] === 0);
        const vocabulary = LINES[own] === 2 && SHARED_TYPES.includes(target);
        if (!down && !vocabulary) broken.push(`${file} imports ${target}: have main.ts hand it in`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("wires know each other as little as they know vendors' dialects", () => {
    const broken: string[] = [];
    const wireOf = (file: string) => /^src\/wires\/([^/]+)\//.exec(file)?.[1] ?? null;
    for (const file of source.filter((name) => within(name, ["src/wires", "src/upstream"]))) {
      for (const { target } of importsOf(file).filter((one) => one.target.startsWith("src/"))) {
        const [own, other] = [wireOf(file), wireOf(target)];
        if (other !== null && other !== own)
          broken.push(`${file} imports ${target}: a wire is chosen where a plan is made`);
        const pure = within(target, ["src/wires"]) || LINES[partOf(target)] === 0;
        if (within(file, ["src/wires"]) && !pure)
          broken.push(`${file} imports ${target}: a wire is a codec over line 0`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("adapters and tiers import their vocabulary alone", () => {
    const allowed: Record<string, string> = { adapters: "#adapter", tiers: "#tier" };
    const broken = source
      .filter((file) => !file.startsWith("src/"))
      .filter((file) => importsOf(file).some(({ target }) => target !== allowed[file.split("/")[0] ?? ""]));
    expect(broken).toEqual([]);
  });

  it("has no import cycles", () => {
    const done = new Set<string>();
    const cycles: string[] = [];
    function visit(file: string, path: readonly string[]): void {
      if (path.includes(file)) {
        cycles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
        return;
      }
      if (done.has(file)) return;
      for (const { target, typeOnly } of importsOf(file)) {
        if (!typeOnly && text.has(target)) visit(target, [...path, file]);
      }
      done.add(file);
    }
    for (const file of source) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it("keeps each package in its place", () => {
    const broken: string[] = [];
    for (const file of source) {
      for (const { target } of importsOf(file)) {
        const places = PACKAGES[target];
        if (places !== undefined && !within(file, places))
          broken.push(`${file} imports ${target}: only ${places.join(", ")} may`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("uses nothing that is banned", () => {
    const broken: string[] = [];
    for (const [file, body] of code) {
      for (const { pattern, except, instead } of BANS) {
        if (pattern.test(body) && !within(file, except)) broken.push(`${file}: ${pattern.source} - ${instead}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("has no test support that hooks into whoever imports it first", () => {
    const support = filesBelow("test").filter((file) => !file.endsWith(".test.ts"));
    const broken = support
      .filter((file) => /^(before|after)(All|Each)\(/m.test(readFileSync(file, "utf8")))
      .map((file) => `${file}: a process reads it once for all of its files - use onTestFinished where it is called`);
    expect(broken).toEqual([]);
  });

  it("names no vendor outside adapters", () => {
    const vendors = filesBelow("adapters")
      .map((file) => file.replace(/^adapters\/|\.ts$/g, ""))
      .filter((id) => !id.startsWith("sandbox"));
    const pattern = new RegExp(`["'\`](${vendors.join("|")})["'\`]`);
    const broken = source
      .filter((file) => file.startsWith("src/") && pattern.test(bodyOf(file)))
      .map((file) => `${file}: ${pattern.exec(bodyOf(file))?.[0]} - make it a field of the adapter`);
    expect(broken).toEqual([]);
  });

  it("keeps files short, named for what they hold, and headed by their place in the story", () => {
    const broken: string[] = [];
    for (const [file, whole] of text) {
      const lines = whole.split("\n").length;
      const most = file.startsWith("adapters/") ? ADAPTER_LINES_MAX : LINES_MAX;
      if (lines > most) broken.push(`${file}: ${lines} lines, at most ${most} - split it along a seam`);
      if (VAGUE.test(file)) broken.push(`${file}: a vague name - say what it holds`);
      if (!/^(#!.*\n)?\/\/ \S/.test(whole)) broken.push(`${file}: begin with one comment line that places the file`);
      if (!/^[a-z0-9.-]+$/.test(file.split("/").at(-1) ?? "")) broken.push(`${file}: name it in kebab-case`);
    }
    expect(broken).toEqual([]);
  });
});
