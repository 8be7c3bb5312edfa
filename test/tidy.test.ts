// Style as executable rules: reads the tree and fails on a violation, saying what to do instead.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { type Import, importsOf as importsIn, withoutComments } from "./support/imports.ts";

/** The layers of src, top down. A layer imports only layers below it. Upstream and the sandbox are side by side. */
const ROOMS: readonly (readonly string[])[] = [
  ["main.ts"],
  ["cli"],
  ["processes"],
  ["gateway"],
  ["edge"],
  ["actions"],
  ["models"],
  ["kernel"],
  ["money"],
  ["upstream", "sandbox"],
  ["platform"],
  ["catalog"],
  ["core"],
];

/**
 * The most lines of TypeScript that `src`, `adapters` and `tiers` may have together. The figure only goes down, except by what an issue
 * allows.
 */
const LINES_MAX = 135_254;
/** The number of entries at the top of `src`: the layers and main.ts. */
const ROOMS_MAX = 14;
const ROOM_README_LINES_MAX = 25;

const PACKAGES: Record<string, readonly string[]> = {
  "uWebSockets.js": ["src/edge/http", "bench"],
  ws: ["src/edge/http", "src/sandbox"],
  undici: ["src/upstream", "bench", "test"],
  "ipaddr.js": ["src/upstream"],
  aws4fetch: ["src/catalog", "src/actions/files"],
  "@noble/curves": ["src/money/wallet"],
  "@noble/hashes": ["src/money/wallet"],
  "@fastify/busboy": ["src/platform/uploads", "src/sandbox"],
  "prom-client": ["src/platform/observe", "bench", "test"],
  ioredis: ["src/platform/storage", "test"],
  pg: ["src/money/ledger"],
  "node:sqlite": ["src/platform/storage", "src/money/ledger", "src/platform/records", "test"],
  "oidc-provider": ["src/edge/oauth", "test"],
  "light-my-request": ["src/edge/oauth"],
  tiktoken: ["src/models/chat"],
  openai: ["src/cli/demo.ts", "test"],
};

/** A file of a package that is read, not imported. */
const FILE_OF_PACKAGE = /\.resolve\("(@?[a-z][^"]*)"\)/g;

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

/** Private jargon of this project, and the field's word for each; the glossary is in docs/internals/style.md. */
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
/** Places that may still use it. */
const PRIVATE_WORDS_LEFT = [
  // Its names are not reviewed yet.
  "src/money/ledger",
];

/** The files that list formats; the rest of the gateway reaches a format only through them. */
const FORMAT_LISTS = ["model-wires", "vendor-dialects", "stand-ins"].map((name) => `src/models/formats/${name}.ts`);
/** A format that reuses another's blocks under new names. */
const FORMAT_BUILT_ON: Readonly<Record<string, string>> = { converse: "messages" };
/** What each side of a format may import besides core/: the vendor's side calls vendors, the stand-in mocks one. */
const FORMAT_SIDES: Readonly<Record<string, readonly string[]>> = {
  vendor: ["src/upstream", "src/catalog"],
  "stand-in": ["src/sandbox"],
};

/** The least time limit that a test gives a timed step. */
const CLOCK_MS_MIN = 4_000;

const VAGUE = /(^|[-/])(utils?|common|helpers?|managers?|services?|base)(\.ts|\/|-|$)/;

/** Most files are this short. No single file is split for that: a bound on each would bend the code near it. */
const SHORT_LINES = 200;
const SHORT_SHARE = 0.85;
/** Longer files say here why they are one file. */
const LONG_LINES = 400;
const LONG: Readonly<Record<string, string>> = {
  "src/platform/config.ts": "one table: every setting, with its check and its meaning",
  "src/core/errors.ts": "every code that callers are told, as one table",
};

/** A spread of an object literal puts several fields on a line; the formatter's own way is one per line. */
const SPREAD_LITERAL = /\.\.\.\{/g;
/** Files that still do so, with the count. The list only gets shorter. */
const SPREAD_LEFT: Readonly<Record<string, number>> = {
  "src/money/ledger/redis/books.ts": 9,
  "src/money/ledger/sqlite/admin.ts": 9,
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

/** Code without its imports, because a package may have a vendor's name. */
function bodyOf(file: string): string {
  return (code.get(file) ?? "").replace(/^import .*$/gm, "");
}

function importsOf(file: string): readonly Import[] {
  return importsIn(file, code.get(file) ?? "");
}

/** The layer of a file of src; main.ts is its own. */
function roomOf(file: string): string {
  return file.split("/")[1] ?? file;
}

function floorOf(file: string): number {
  return ROOMS.findIndex((rooms) => rooms.includes(roomOf(file)));
}

/** A file's folder in its layer; the layer itself where the file is in no folder. */
function folderOf(file: string): string {
  return file.split("/").slice(1, -1).slice(0, 2).join("/");
}

/** The names in a file and its own, and their words, in lower case: `openDesk` gives `opendesk`, `open` and `desk`. */
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
  it("src has the rooms that are listed, and no loose files", () => {
    const found = readdirSync("src").sort();
    expect(found).toEqual(ROOMS.flat().sort());
    expect(found.length).toBeLessThanOrEqual(ROOMS_MAX);
  });

  it("the top of the repository holds no file that a program made by mistake, such as `:memory:`", () => {
    expect(readdirSync(".").filter((name) => !/^[\w.-]+$/.test(name))).toEqual([]);
  });

  it("each room has a short README", () => {
    const broken = ROOMS.flat()
      .filter((room) => room !== "main.ts")
      .filter((room) => {
        const readme = join("src", room, "README.md");
        return !existsSync(readme) || readFileSync(readme, "utf8").trimEnd().split("\n").length > ROOM_README_LINES_MAX;
      })
      .map((room) => `src/${room}/README.md: write one of at most ${ROOM_README_LINES_MAX} lines`);
    expect(broken).toEqual([]);
  });

  it("imports point to the own room or down", () => {
    const broken: string[] = [];
    for (const file of source.filter((name) => name.startsWith("src/"))) {
      for (const { target } of importsOf(file)) {
        if (!target.startsWith("src/") || roomOf(target) === roomOf(file)) continue;
        if (floorOf(target) <= floorOf(file)) broken.push(`${file} imports ${target}: have the gateway hand it in`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("folders of a room import each other one way only", () => {
    const arrows = new Map<string, Set<string>>();
    for (const file of source.filter((name) => name.startsWith("src/"))) {
      for (const { target } of importsOf(file)) {
        const [own, other] = [folderOf(file), folderOf(target)];
        if (!target.startsWith("src/") || roomOf(target) !== roomOf(file) || own === other || own === roomOf(file))
          continue;
        arrows.set(own, (arrows.get(own) ?? new Set()).add(other));
      }
    }
    const broken = [...arrows].flatMap(([own, others]) =>
      [...others]
        .filter((other) => arrows.get(other)?.has(own))
        .map((other) => `${own} and ${other} import each other`),
    );
    expect(broken).toEqual([]);
  });

  it("does not grow", () => {
    const lines = [...text.values()].reduce((sum, whole) => sum + whole.trimEnd().split("\n").length, 0);
    expect(lines, "delete as many lines as you add, or lower LINES_MAX where you deleted more").toBeLessThanOrEqual(
      LINES_MAX,
    );
  });

  it("a format imports no other format, and each side of it only what it needs", () => {
    const broken: string[] = [];
    const formatOf = (file: string) => /^src\/models\/formats\/([^/]+)\//.exec(file)?.[1] ?? null;
    const sideOf = (file: string) => {
      if (/\/vendor[^/]*\.ts$/.test(file)) return "vendor";
      return /\/(stand-in|strict-request|plain-stand-in)\.ts$/.test(file) ? "stand-in" : "caller";
    };
    for (const file of source.filter((name) => within(name, ["src/models/formats", "src/upstream"]))) {
      if (FORMAT_LISTS.includes(file)) continue;
      const own = formatOf(file);
      for (const { target } of importsOf(file).filter((one) => one.target.startsWith("src/"))) {
        const other = formatOf(target);
        if (other !== null && other !== own && FORMAT_BUILT_ON[own ?? ""] !== other)
          broken.push(`${file} imports ${target}: only the lists of formats name them`);
        if (!within(file, ["src/models/formats"])) continue;
        if (other !== null && sideOf(target) !== "caller" && sideOf(target) !== sideOf(file))
          broken.push(`${file} imports ${target}: the sides of a format meet in the caller's side and core/`);
        const rooms = FORMAT_SIDES[sideOf(file)] ?? [];
        if (!within(target, ["src/models/formats", "src/core", ...rooms]))
          broken.push(`${file} imports ${target}: this side of a format is a codec over core/ and ${rooms.join(", ")}`);
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
      // Sidecar programs run outside this process, and import a vendor's package.
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
    // The demo shows the product with a client's package, which the product alone does not need.
    const imported = source
      .filter((file) => file.startsWith("src/") && file !== "src/cli/demo.ts")
      .flatMap((file) => importsOf(file).filter(({ typeOnly }) => !typeOnly))
      .map(({ target }) => target)
      .concat(
        source.flatMap((file) => [...(code.get(file) ?? "").matchAll(FILE_OF_PACKAGE)].map(([, name = ""]) => name)),
      )
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
      // The runner loads this one before every file.
      .filter((file) => file !== "test/support/file-cost.ts")
      .filter((file) => /^(before|after)(All|Each)\(/m.test(readFileSync(file, "utf8")))
      .map((file) => `${file}: a process reads it once for all of its files - use onTestFinished where it is called`);
    expect(broken).toEqual([]);
  });

  it("removes folders of tests in the one way that bears a process which still writes into them", () => {
    const broken = [...filesBelow("test"), ...filesBelow("bench")]
      .filter((file) => file !== "test/support/remove-folder.ts" && file !== "test/tidy.test.ts")
      .filter((file) => /\brm(Sync)?\([^;{]*\{[^;}]*recursive: true/.test(readFileSync(file, "utf8")))
      .map((file) => `${file}: use removeFolder of test/support/remove-folder.ts`);
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
      // A custom server is not a vendor's, and OpenAI's wire also has a kind of tool called custom.
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
