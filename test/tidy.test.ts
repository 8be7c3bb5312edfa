// Style that is executed: reads the tree and fails on a broken rule, saying what to do instead.
import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { type Import, importsOf as importsIn, withoutComments } from "./support/imports.ts";

/** A file imports its own folder or a lower line; siblings on a line never meet. */
const LINES: Record<string, number> = {
  "src/main.ts": 7,
  "src/gateway/gateway.ts": 7,
  "src/gateway": 7,
  "src/gateway/stores.ts": 7,
  "src/gateway/redis-stores.ts": 7,
  "src/gateway/file-stores.ts": 7,
  "src/cli/tollgate.ts": 7,
  "src/cli/demo.ts": 7,
  "src/cli": 7,
  "src/processes": 7,
  "src/edge/http": 6,
  "src/edge/serve": 6,
  "src/edge/web": 6,
  "src/models/chat": 5,
  "src/actions/run": 5,
  "src/models/acting": 5,
  "src/actions/composites": 5,
  "src/actions/jobs": 5,
  "src/actions/sessions": 5,
  "src/edge/x402": 5,
  "src/edge/oauth": 5,
  "src/edge/mcp": 6,
  "src/kernel": 4,
  "src/platform/files": 3,
  "src/money/events": 3,
  "src/money/wallet": 3,
  "src/models/formats": 3,
  "src/catalog": 2,
  "src/money/ledger": 2,
  "src/platform/records": 2,
  "src/money/accounts": 2,
  "src/platform/limits": 2,
  "src/upstream": 2,
  "src/platform/observe": 1,
  "src/platform/storage": 1,
  "src/platform/config.ts": 1,
  "src/core/account-rows.ts": 0,
  "src/core/usage-rows.ts": 0,
  "src/core/endpoint.ts": 0,
  "src/core/plan.ts": 0,
  "src/core/route.ts": 0,
  "src/core/neutral.ts": 0,
  "src/core/field-issues.ts": 0,
  "src/core/json.ts": 0,
  "src/core/json-bytes.ts": 0,
  "src/core/raw-json.ts": 0,
  "src/core/short-name.ts": 0,
  "src/core/pieces.ts": 0,
  "src/core/errors.ts": 0,
  "src/core/failures.ts": 0,
  "src/core/event-stream.ts": 0,
  "src/core/money.ts": 0,
  "src/core/clock.ts": 0,
  "src/core/slices.ts": 0,
  "src/core/give-way.ts": 0,
  "src/core/node-http.ts": 0,
  "src/core/proxies.ts": 0,
  "src/core/thread-flags.ts": 0,
  "src/core/version.ts": 0,
  // The sandbox stands apart: it imports the catalog's vocabulary and line 0, and only main, cli and demo start it.
  "src/sandbox": 3,
};

/** Vocabulary that siblings may share: types of what an adapter says, and of what the catalog made of it. */
const SHARED_TYPES = [
  "src/catalog/action.ts",
  "src/catalog/answer-rule.ts",
  "src/catalog/endpoint-table.ts",
  "src/catalog/request-spec.ts",
  "src/catalog/said.ts",
  "src/catalog/script.ts",
  "src/catalog/adapter.ts",
  "src/catalog/auth.ts",
  "src/catalog/catalog.ts",
  "src/catalog/chat-wire.ts",
];
/** The composition root, the command and the demo start each other's parts. */
const ROOTS = [
  "src/main.ts",
  "src/gateway/gateway.ts",
  "src/gateway",
  "src/gateway/stores.ts",
  "src/gateway/redis-stores.ts",
  "src/gateway/file-stores.ts",
  "src/cli/tollgate.ts",
  "src/cli/demo.ts",
  "src/cli",
  "src/processes",
];

const PACKAGES: Record<string, readonly string[]> = {
  "uWebSockets.js": ["src/edge/http", "src/sandbox", "bench"],
  undici: ["src/upstream", "bench", "test"],
  "ipaddr.js": ["src/upstream"],
  aws4fetch: ["src/catalog", "src/platform/files"],
  "@noble/curves": ["src/money/wallet"],
  "@noble/hashes": ["src/money/wallet"],
  "@fastify/busboy": ["src/platform/files"],
  "prom-client": ["src/platform/observe", "bench", "test"],
  ioredis: ["src/platform/storage", "test"],
  pg: ["src/money/ledger"],
  "node:sqlite": ["src/platform/storage", "src/money/ledger", "src/platform/records", "test"],
  "oidc-provider": ["src/edge/oauth", "test"],
  "light-my-request": ["src/edge/oauth"],
  tiktoken: ["src/models/chat"],
  openai: ["src/cli/demo.ts", "test"],
};

const BANS: readonly { readonly pattern: RegExp; readonly except: readonly string[]; readonly instead: string }[] = [
  { pattern: /\bprocess\.env\b/, except: ["src/platform/config.ts"], instead: "read it in config.ts" },
  { pattern: /\bDate\.now\(|\bperformance\.now\(/, except: ["src/core/clock.ts"], instead: "take a Clock" },
  {
    pattern: /\bconsole\./,
    except: ["src/cli", "src/cli/tollgate.ts", "src/cli/demo.ts"],
    instead: "write to the record, or to the log it becomes",
  },
  { pattern: /:\s*any\b|\bas any\b|<any>/, except: [], instead: "say what it is, or unknown" },
  { pattern: /\b(TODO|FIXME|XXX)\b/, except: [], instead: "do it, or name it in the closing note" },
  { pattern: /\bexport default\b/, except: ["adapters", "tiers"], instead: "export it by its name" },
  { pattern: /^export \* from/m, except: [], instead: "import from the file itself: no barrels" },
  { pattern: /^import (?!type\b)[^;]*from "node:http"/m, except: [], instead: "take it from node-http.ts" },
];

/** Words that only this house used, and the field's word for each; the glossary is in docs/style.md. */
const PRIVATE_WORDS: Readonly<Record<string, string>> = {
  shop: "catalog (ActionCatalog, CatalogAction)",
  shelf: "view of the catalog, for one audience or day",
  shelves: "views of the catalog",
  stock: "source of the catalog",
  desk: "lifecycle, or the parts it needs",
  wish: "request, options or order",
  strikes: "scripted faults, or when one applies",
  turnEnd: "tick: a turn is a chat's",
  modelRoute: "ModelCandidate: a route says how candidates are tried",
  actionRoute: "ActionCandidate: a route says how candidates are tried",
};
/** Where they may stand. */
const PRIVATE_WORDS_LEFT = [
  // Its names are still to be looked through.
  "src/money/ledger",
];

/** What a test gives a step by the clock, at least. */
const CLOCK_MS_MIN = 4_000;

const VAGUE = /(^|[-/])(utils?|common|helpers?|managers?|services?|base)(\.ts|\/|-|$)/;

/** Most files are this short. No single one is cut up for it: a bound on each bends the code that is near it. */
const SHORT_LINES = 200;
const SHORT_SHARE = 0.85;
/** Longer ones say here why they are one file. */
const LONG_LINES = 400;
const LONG: Readonly<Record<string, string>> = {
  "adapters/realestateapi.ts": "one vendor, as every adapter is one file",
  "src/platform/config.ts": "one table: every setting, with its check and its meaning",
  "src/core/errors.ts": "every code that callers are told, as one table",
};

/** An object that is spread where it is written puts several fields on a line; the formatter's own way is one a line. */
const SPREAD_LITERAL = /\.\.\.\{/g;
/** Files that still do so, with how often. The list only gets shorter. */
const SPREAD_LEFT: Readonly<Record<string, number>> = {
  "src/money/ledger/archive/archive.ts": 1,
  "src/money/ledger/redis/books.ts": 10,
  "src/money/ledger/redis/ledger.ts": 1,
  "src/money/ledger/sqlite/admin.ts": 9,
  "src/money/ledger/sqlite/books.ts": 2,
  "src/money/ledger/sqlite/reserve.ts": 1,
};

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.parentPath.includes("node_modules"))
    .map((entry) => normalize(join(entry.parentPath, entry.name)));
}

const source = ["src", "adapters", "tiers"].flatMap(filesBelow);
const text = new Map(source.map((file) => [file, readFileSync(file, "utf8")]));
const code = new Map([...text].map(([file, whole]) => [file, withoutComments(whole)]));

/** Code without its imports: a package may be called as a vendor is. */
function bodyOf(file: string): string {
  return (code.get(file) ?? "").replace(/^import .*$/gm, "");
}

function importsOf(file: string): readonly Import[] {
  return importsIn(file, code.get(file) ?? "");
}

function partOf(file: string): string {
  return Object.keys(LINES).find((part) => file === part || file.startsWith(`${part}/`)) ?? file.split("/")[0] ?? file;
}

/** The names in a file and its own, and the words they are made of, in lower case: `openDesk` gives `opendesk`, `open` and `desk`. */
function namesOf(file: string): ReadonlySet<string> {
  const unquoted = (code.get(file) ?? "").replace(/"(?:[^"\\\n]|\\.)*"/g, "");
  const names = `${file} ${unquoted}`.match(/[A-Za-z]\w*/g) ?? [];
  const parts = names.flatMap((name) => [name, ...name.split(/(?=[A-Z])|[-_]/)]);
  return new Set(parts.map((part) => part.toLowerCase()));
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
    const wireOf = (file: string) => /^src\/models\/formats\/([^/]+)\//.exec(file)?.[1] ?? null;
    for (const file of source.filter((name) => within(name, ["src/models/formats", "src/upstream"]))) {
      for (const { target } of importsOf(file).filter((one) => one.target.startsWith("src/"))) {
        const [own, other] = [wireOf(file), wireOf(target)];
        if (other !== null && other !== own && file !== "src/models/formats/model-wires.ts")
          broken.push(`${file} imports ${target}: only the list of wires names them`);
        const pure = within(target, ["src/models/formats"]) || LINES[partOf(target)] === 0;
        if (within(file, ["src/models/formats"]) && !pure)
          broken.push(`${file} imports ${target}: a wire is a codec over line 0`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("adapters and tiers import their vocabulary alone", () => {
    const allowedIn = (file: string) => {
      if (file.startsWith("tiers/")) return ["#tier"];
      return file.endsWith(".sandbox.ts") ? ["#adapter", "#sandbox"] : ["#adapter"];
    };
    const broken = source
      .filter((file) => !file.startsWith("src/"))
      // The programs of sidecars are outside of this process, and import a vendor's package.
      .filter((file) => !file.endsWith(".helper.ts"))
      .filter((file) => importsOf(file).some(({ target }) => !allowedIn(file).includes(target)));
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

  it("ships the packages that it imports, and no others", () => {
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: object };
    // The demo shows the product by a client's package; whoever runs the product alone has no use for it.
    const imported = source
      .filter((file) => file.startsWith("src/") && file !== "src/cli/demo.ts")
      .flatMap((file) => importsOf(file).filter(({ typeOnly }) => !typeOnly))
      .map(({ target }) => target)
      .filter((target) => !/^(node:|#|src\/|docs\/|adapters\/|tiers\/)/.test(target))
      .map((target) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target);
    expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
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

  it("says in its comments who does what", () => {
    const vague = /^\s*(?:\/\/|\/?\*).*\b(?:[Ww]hoever|[Nn]obody|[Ss]omebody|has no word for)\b.*/m;
    const broken = [...text].flatMap(([file, whole]) => {
      const found = within(file, ["src", "adapters"]) ? vague.exec(whole) : null;
      return found === null ? [] : [`${file}: "${found[0].trim()}" - the caller, a process, a vendor, an operator?`];
    });
    expect(broken).toEqual([]);
  });

  it("says it in the field's words", () => {
    const broken: string[] = [];
    for (const file of source.filter((name) => within(name, ["src"]) && !within(name, PRIVATE_WORDS_LEFT))) {
      const names = namesOf(file);
      for (const [word, instead] of Object.entries(PRIVATE_WORDS)) {
        if (names.has(word.toLowerCase())) broken.push(`${file}: "${word}" is a word of our own - say ${instead}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("has no test support that hooks into whoever imports it first", () => {
    const support = filesBelow("test").filter((file) => !file.endsWith(".test.ts"));
    const broken = support
      // The runner reads this one before every file.
      .filter((file) => file !== "test/support/file-cost.ts")
      .filter((file) => /^(before|after)(All|Each)\(/m.test(readFileSync(file, "utf8")))
      .map((file) => `${file}: a process reads it once for all of its files - use onTestFinished where it is called`);
    expect(broken).toEqual([]);
  });

  it("gives what the clock measures in tests seconds, as other work on the machine takes some", () => {
    const bound = /(?:performance\.now|Date\.now|elapsedMs)\(\) - \w+\)\.toBeLessThan(?:OrEqual)?\(([\d_]+)\)/g;
    const broken = filesBelow("test").flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(bound)]
        .map(([, most = ""]) => Number(most.replaceAll("_", "")))
        .filter((most) => most < CLOCK_MS_MIN)
        .map((most) => `${file}: ${most} ms - measure the processor's time, or wait for ${CLOCK_MS_MIN} ms and more`),
    );
    expect(broken).toEqual([]);
  });

  it("names no vendor outside adapters", () => {
    const vendors = filesBelow("adapters")
      .map((file) => file.replace(/^adapters\/|(\.sandbox)?\.ts$/g, ""))
      // A server of the operator's own is no vendor's, and OpenAI's wire calls a kind of tool so too.
      .filter((id) => !id.startsWith("sandbox") && id !== "custom");
    const pattern = new RegExp(`["'\`](${vendors.join("|")})["'\`]`);
    const broken = source
      .filter((file) => file.startsWith("src/") && pattern.test(bodyOf(file)))
      .map((file) => `${file}: ${pattern.exec(bodyOf(file))?.[0]} - make it a field of the adapter`);
    expect(broken).toEqual([]);
  });

  it("spreads no object where it is written", () => {
    const found = [...code].map(([file, body]) => [file, body.match(SPREAD_LITERAL)?.length ?? 0] as const);
    const broken = found
      .filter(([file, count]) => count > (SPREAD_LEFT[file] ?? 0))
      .map(([file, count]) => `${file}: ${count} times "...{" - write the fields themselves, one a line, or name them`);
    const done = found
      .filter(([file, count]) => count < (SPREAD_LEFT[file] ?? 0))
      .map(([file, count]) => `${file}: only ${count} left - say so in SPREAD_LEFT`);
    const gone = Object.keys(SPREAD_LEFT)
      .filter((file) => !code.has(file))
      .map((file) => `${file}: is no more - take it out of SPREAD_LEFT`);
    expect([...broken, ...done, ...gone]).toEqual([]);
  });

  it("has mostly short files, and long ones with a reason", () => {
    const lengths = [...text].map(([file, whole]) => [file, whole.trimEnd().split("\n").length] as const);
    const long = lengths.filter(([, lines]) => lines > LONG_LINES).map(([file]) => file);
    expect(long.sort(), "split it along a seam, or say in LONG why not").toEqual(Object.keys(LONG).sort());
    const short = lengths.filter(([, lines]) => lines <= SHORT_LINES).length;
    expect(short / lengths.length, `how many have at most ${SHORT_LINES} lines`).toBeGreaterThan(SHORT_SHARE);
  });

  it("has files named for what they hold, and headed by their place in the story", () => {
    const broken: string[] = [];
    for (const [file, whole] of text) {
      if (VAGUE.test(file)) broken.push(`${file}: a vague name - say what it holds`);
      if (!/^(#!.*\n)?\/\/ \S/.test(whole)) broken.push(`${file}: begin with one comment line that places the file`);
      if (!/^[a-z0-9.-]+$/.test(file.split("/").at(-1) ?? "")) broken.push(`${file}: name it in kebab-case`);
    }
    expect(broken).toEqual([]);
  });
});
