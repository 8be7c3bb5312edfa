// The source cache that a start leaves for the next one: used for unchanged files, rebuilt for changed ones, and optional.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { folderForTest } from "../support/for-file.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("a start keeps compiled sources for the next");

const SOURCE = new URL("../../src/core/kept-sources.mjs", import.meta.url);
const MAIN = `import "./core/kept-sources.mjs";
const { says } = await import("./says.ts");
console.log(says(1));
`;

let root: string;
beforeEach(() => {
  root = folderForTest("tollgate-kept-");
  mkdirSync(join(root, "src/core"), { recursive: true });
  cpSync(SOURCE, join(root, "src/core/kept-sources.mjs"));
  writeFileSync(join(root, "package.json"), '{"type": "module"}');
  writeFileSync(join(root, "src/main.ts"), MAIN);
  says("one");
});

function says(word: string): void {
  writeFileSync(join(root, "src/says.ts"), `export const says = (n: number): string => \`${word} \${n}\`;\n`);
}

function run(): string {
  const args = ["--disable-warning=ExperimentalWarning", join(root, "src/main.ts")];
  return execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}

const folder = () => join(root, "node_modules/.cache/tollgate", process.version);
const kept = () => readdirSync(folder()).filter((name) => name.endsWith(".js"));

/** The cached code, whose last line is the digest of the text before it. */
const asKept = (code: string) => `${code}\n//${createHash("sha256").update(code).digest("hex")}`;
const codeIn = (text: string) => text.slice(0, text.lastIndexOf("\n//"));

it("a file is kept under its content, and the next start takes what was kept", () => {
  expect(run()).toBe("one 1");
  const [name = ""] = kept();
  const text = readFileSync(join(folder(), name), "utf8");
  expect(text).toBe(asKept(codeIn(text)));
  expect(text).not.toContain("number");
  writeFileSync(join(folder(), name), asKept(codeIn(text).replace("one", "kept")));
  expect(run()).toBe("kept 1");
});

it.each([
  ["other code", (text: string) => text.replace("one", "other")],
  ["half of it", (text: string) => text.slice(0, text.length / 2)],
  ["nothing", () => ""],
])("what was kept and is %s now is made anew, and kept", (_, spoilt) => {
  expect(run()).toBe("one 1");
  const [name = ""] = kept();
  const text = readFileSync(join(folder(), name), "utf8");
  writeFileSync(join(folder(), name), spoilt(text));
  expect(run()).toBe("one 1");
  expect(readFileSync(join(folder(), name), "utf8")).toBe(text);
});

it("a file that has changed is made anew", () => {
  expect(run()).toBe("one 1");
  says("two");
  expect(run()).toBe("two 1");
  expect(kept()).toHaveLength(2);
});

it("where nothing can be kept it starts as well", () => {
  writeFileSync(join(root, "node_modules"), "no folder");
  expect(run()).toBe("one 1");
});

it("a thread of ours takes what was kept as well", () => {
  cpSync(new URL("../../src/core/thread-flags.ts", import.meta.url), join(root, "src/core/thread-flags.ts"));
  const thread = 'import { says } from "./says.ts";\nconsole.log(says(1));\n';
  writeFileSync(join(root, "src/thread.ts"), thread);
  const starts = `import { Worker } from "node:worker_threads";
import { THREAD_FLAGS } from "./core/thread-flags.ts";
new Worker(new URL("./thread.ts", import.meta.url), { execArgv: [...THREAD_FLAGS] });
`;
  writeFileSync(join(root, "src/main.ts"), starts);
  expect(run()).toBe("one 1");
  const name = `${createHash("sha256")
    .update(readFileSync(join(root, "src/says.ts")))
    .digest("hex")}.js`;
  const text = readFileSync(join(folder(), name), "utf8");
  writeFileSync(join(folder(), name), asKept(codeIn(text).replace("one", "kept")));
  expect(run()).toBe("kept 1");
});
