import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filled, pages, pageText } from "../docs/generate.ts";
import { COMMANDS } from "../src/cli/run.ts";
import { curl } from "../src/edge/web/words.ts";
import { STAND_INS } from "../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../src/sandbox/server.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { removeFolder } from "./support/remove-folder.ts";
import {
  read as asRead,
  BANNED,
  commentLines,
  prose,
  STILTED,
  sentencesOf,
  wordsIn,
  written,
} from "./support/words.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGES = [
  "README.md",
  "CHANGELOG.md",
  "bench/README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const README = read("README.md");
const ARCHITECTURE = read("docs/internals/architecture.md");

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function linksOf(path: string): { text: string; target: string }[] {
  const found = written(read(path)).matchAll(/\[([^\]]+)\]\(([^)]+)\)/g);
  return [...found].map(([, text = "", target = ""]) => ({ text, target }));
}

/** The anchors that GitHub makes from a page's headings. */
function anchorsOf(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

function section(page: string, title: string): string {
  const text = page.slice(page.indexOf(`## ${title}\n`));
  return text.slice(0, text.indexOf("\n## ", 1));
}

/** The code block after a comment that names it. */
function example(name: string): string {
  const found = new RegExp(`<!-- ${name} -->\\n\`\`\`ts\\n([\\s\\S]*?)\`\`\``).exec(
    read("docs/guides/add-a-provider.md"),
  )?.[1];
  if (found === undefined) throw new Error(`docs/guides/add-a-provider.md has no ${name}`);
  return found;
}

describe("the pages", () => {
  test.each(PAGES)("%s links to what is there", (path) => {
    const broken = linksOf(path)
      .filter(({ target }) => !/^https?:/.test(target))
      .filter(({ target }) => {
        const [file = "", anchor] = target.split("#");
        const linked = file === "" ? path : normalize(join(dirname(path), file));
        if (!existsSync(join(ROOT, linked))) return true;
        return anchor !== undefined && !anchorsOf(linked).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  test("are all linked from the index", () => {
    const linked = linksOf("docs/README.md").map(({ target }) => normalize(join("docs", target.split("#")[0] ?? "")));
    expect(PAGES.filter((path) => path !== "docs/README.md" && !linked.includes(path))).toEqual([]);
  });

  test("begin with a README of at most 900 words and a command within 15 lines", () => {
    expect(README.split(/\s+/).length).toBeLessThanOrEqual(900);
    const first = README.split("\n").findIndex((line) => line.startsWith("npm "));
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(15);
  });

  test("have the tables that the code gives: after a change, run npm run docs", async () => {
    for (const page of await pages()) {
      const text = await pageText(page.path);
      expect(filled(text, page), page.path).toBe(text);
    }
  });

  test.each(PAGES)("%s names commands that there are", (path) => {
    const named = [...read(path).matchAll(/(?:tollgate -- |`tollgate |npx tollgate )([a-z0-9]+)(?: ([a-z]+))?/g)];
    const unknown = named
      .map(([, first = "", second = ""]) => [first, `${first} ${second}`])
      .filter((words) => !COMMANDS.some(({ name }) => words.includes(name)) && words[0] !== "help")
      .map((words) => words[1]);
    expect(unknown).toEqual([]);
  });

  test("read the caller's key from one variable, as the calls to copy of the catalog's page do", () => {
    const calls = PAGES.flatMap((path) => [...read(path).matchAll(/(Bearer |api_?key[=:] ?)(\$\w+|[\w.]*env\S+)/gi)]);
    expect(calls.length).toBeGreaterThan(8);
    expect(calls.map(([whole]) => whole).filter((call) => !call.includes("TOLLGATE_API_KEY"))).toEqual([]);
    expect(curl("http://localhost/", {})).toContain("Bearer $TOLLGATE_API_KEY");
  });

  test.each(PAGES)("%s names npm scripts that there are", (path) => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...read(path).matchAll(/npm (?:run (?:-s )?([a-z:]+)|(test|start)\b)/g)];
    expect(named.map(([, run, short]) => run ?? short ?? "").filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

describe("the words", () => {
  const DOCS = PAGES.filter((path) => path.startsWith("docs/"));
  const ROOMS = readdirSync(join(ROOT, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}/README.md`);
  const PLAIN = ["README.md", ...DOCS, ...ROOMS];
  const WORDS_MAX = 24_000;
  const SENTENCE_WORDS_MAX = 35;
  const LINE_CHARS_MAX = 300;
  /** Comment lines that read as translated. The figure only goes down: rewrite a comment, and lower it to what stands. */
  const STILTED_COMMENTS_MAX = 231;

  test.each(PLAIN)("%s is in plain English", (path) => {
    // The dictionary lists words to avoid, and rows of failures name tests.
    const text = asRead(written(read(path)))
      .replace(/^\| ".*$/gm, "")
      .replace(/ \| test\/.*$/gm, "");
    const found = BANNED.flatMap(({ phrase, plain }) => {
      const line = text.split("\n").find((one) => phrase.test(one));
      return line === undefined ? [] : [`"${phrase.exec(line)?.[0]}" in "${line.slice(0, 120)}": write ${plain}`];
    });
    expect(found).toEqual([]);
  });

  test.each(PLAIN)("%s has short sentences and short lines", (path) => {
    const long = sentencesOf(read(path)).filter((sentence) => wordsIn(sentence) > SENTENCE_WORDS_MAX);
    expect(long, `at most ${SENTENCE_WORDS_MAX} words`).toEqual([]);
    const lines = prose(read(path))
      .split("\n")
      .filter((line) => line.length > LINE_CHARS_MAX);
    expect(lines, `at most ${LINE_CHARS_MAX} characters`).toEqual([]);
  });

  test("are few", () => {
    const words = DOCS.reduce((sum, path) => sum + wordsIn(prose(read(path))), 0);
    expect(words, "say nothing twice").toBeLessThanOrEqual(WORDS_MAX);
  });

  test("of comments get plainer", () => {
    const stilted = commentLines(ROOT, ["src", "adapters", "tiers", "bench", "test"]).filter((line) =>
      STILTED.test(line),
    );
    expect(stilted.length, "see docs/internals/style.md").toBeLessThanOrEqual(STILTED_COMMENTS_MAX);
  });
});

describe("the path of a request", () => {
  test("names what the files that it links hold", () => {
    const links = [...section(ARCHITECTURE, "How a request goes").matchAll(/\[`(\w+)`\]\(([^)]+)\)/g)];
    expect(links.length).toBeGreaterThan(8);
    const wrong = links.filter(
      ([, name = "", file = ""]) => !new RegExp(`export .*\\b${name}\\b`).test(read(join("docs/internals", file))),
    );
    expect(wrong.map(([whole]) => whole)).toEqual([]);
  });
});

describe("what to add, and where", () => {
  const rows = section(ARCHITECTURE, "What to add, and where").match(/^\| (?!A new|---).*$/gm) ?? [];

  test("is each of what the house is open to", () => {
    const names = rows.map((row) => row.split("|")[1]?.trim());
    expect(names).toEqual([
      "format that callers speak",
      "vendor with its stand-in",
      expect.stringMatching(/^window/),
      "payment without a key",
      "clean-up of something that expires",
    ]);
  });

  test.each(rows)("names what a file exports, and an example that uses it: %s", (row) => {
    const [, , where = "", copy = ""] = row.split("|");
    const [, name = "", file = ""] = /\[`(\w+)`\]\(([^)]+)\)/.exec(where) ?? [];
    expect(read(join("docs/internals", file))).toMatch(new RegExp(`^export .*\\b${name}\\b`, "m"));
    const [, example = ""] = /\]\(([^)]+)\)/.exec(copy) ?? [];
    const used = /^`(\w+)` of /.exec(copy.trim())?.[1] ?? name;
    expect(read(join("docs/internals", example))).toMatch(new RegExp(`\\b${used}\\b`));
  });
});

describe("the changelog", () => {
  test("begins with what is not released yet, and tells each version once", () => {
    const titles = [...read("CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, title = ""]) => title);
    expect(titles[0]).toBe("Unreleased");
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(titles.map((title) => title.split(" ")[0])).toContain(version);
    expect(new Set(titles).size).toBe(titles.length);
  });
});

describe("what is not there yet", () => {
  const missing = section(read("docs/README.md"), "What is not there yet");
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  test("names nothing that the catalog has", async () => {
    const { services } = (await (await fetch(`${gateway.url}/api/catalog`)).json()) as {
      services: { service: string; actions: { action: string; category: string }[] }[];
    };
    const ids = services.flatMap(({ service, actions }) => actions.map(({ action }) => `${service}/${action}`));
    const categories = new Set(services.flatMap(({ actions }) => actions.map(({ category }) => category)));
    expect(ids.filter((id) => missing.includes(id))).toEqual([]);
    expect([...categories].filter((category) => new RegExp(`\\b${category}\\b`).test(missing))).toEqual([]);
    expect(missing).not.toMatch(/composite|\bjobs?\b/);
  });

  /** What an endpoint or a setting would be called if a line were untrue, by words of that line. */
  const WOULD_BE: Readonly<Record<string, RegExp>> = {
    webhook: /webhook/i,
    "groups of keys": /\/groups|GROUP/,
    TLS: /\bTLS_|_TLS\b|CERT/,
  };
  const lines = missing.split("\n- ").slice(1);

  test.each(lines)("names what no endpoint and no setting is named for: %s", (line) => {
    const named = Object.entries(WOULD_BE).filter(([words]) => line.includes(words));
    expect(named).not.toEqual([]);
    const tables = ["docs/reference/endpoints.md", "docs/reference/settings.md"].flatMap(
      (file) => read(file).match(/^\|[^|]*/gm) ?? [],
    );
    const untrue = named.flatMap(([, would]) => tables.filter((cell) => would.test(cell)));
    expect(untrue).toEqual([]);
  });

  test("names paths that nobody serves", async () => {
    const paths = [...missing.matchAll(/`(\/[a-z/]+)`/g)].map(([, path]) => path);
    for (const path of paths) {
      const { status } = await fetch(`${gateway.url}${path}`, { method: "POST", body: "{}" });
      expect([path, status]).toEqual([path, 404]);
    }
  });
});

describe("what the pages promise of a running gateway", () => {
  let sandbox: Sandbox;
  let gateway: TestGateway;
  let overlay: string;

  beforeAll(async () => {
    sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
    overlay = mkdtempSync(join(tmpdir(), "tollgate-overlay-"));
    for (const [folder, file, name] of [
      ["adapters", "acme.ts", "acme adapter"],
      ["tiers", "code.ts", "code tier"],
    ] as const) {
      mkdirSync(join(overlay, folder));
      writeFileSync(join(overlay, folder, file), example(name));
    }
    gateway = await startTestGateway({
      OVERLAY_DIR: overlay,
      SIGNUP: "open",
      // No payment happens here, so the facilitator is never called.
      X402_PAY_TO: `0x${"0".repeat(40)}`,
      X402_FACILITATOR_URL: "http://127.0.0.1:1",
      ACME_API_KEY: "k",
      ACME_BASE_URL: `${sandbox.url}/acme`,
    });
  });

  afterAll(async () => {
    await gateway.stop();
    await sandbox.close();
    removeFolder(overlay);
  });

  test("a provider of OpenAI's wire is one file of fewer than 60 lines", async () => {
    expect(example("acme adapter").split("\n").length).toBeLessThan(60);
    const { client } = await gateway.account({ kind: "personal" });
    const answer = await client.chat.completions.create({
      model: "acme/large",
      messages: [{ role: "user", content: "[[say: Hello from Acme]]" }],
    });
    expect(answer.model).toBe("acme/large");
    expect(answer.choices[0]?.message.content).toBe("Hello from Acme");
    expect(sandbox.books().requests).toHaveLength(1);
  });

  test("a tier is one file", async () => {
    const { client } = await gateway.account();
    const answer = await client.chat.completions.create({
      model: "core/code",
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(answer.model).toBe("anthropic/claude-sonnet-5");
  });

  test("every endpoint of the tables is served", async () => {
    const [publicTable = "", adminTable = ""] = read("docs/reference/endpoints.md").split("Admin listener.");
    const missing: string[] = [];
    let count = 0;
    for (const [table, origin] of [
      [publicTable, gateway.url],
      [adminTable, gateway.adminUrl],
    ] as const) {
      for (const [, method = "", path = ""] of table.matchAll(/^\| `([A-Z]+) (\S+)`/gm)) {
        const filledIn = path.replace("{slug}", "openai/gpt-5.4-mini").replaceAll(/\{\w+\}/g, "x");
        const body = method === "GET" || method === "DELETE" ? {} : { body: "{}" };
        const response = await fetch(`${origin}${filledIn}`, { method, ...body });
        count += 1;
        const text = await response.text();
        if (response.status === 405 || text.includes("There is nothing at")) missing.push(`${method} ${path}`);
      }
    }
    expect(missing).toEqual([]);
    expect(count).toBeGreaterThan(25);
  });
});
