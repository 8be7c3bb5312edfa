// The commands of README and docs, run one after another as they stand there: against gateways that the pages themselves start.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { endWithTests } from "./support/end-with-tests.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGES = [
  "README.md",
  "CHANGELOG.md",
  "bench/README.md",
  ...readdirSync(join(ROOT, "docs")).flatMap((file) => (file.endsWith(".md") ? [`docs/${file}`] : [])),
];
const REASON_CHARS_MIN = 25;
/** Room for a page's commands, most of which start npm, on a machine that others load as well. */
const PAGE_MS_MAX = 180_000;
/** How a line of a shell begins, for finding those that stand outside of a block of shell. */
const COMMAND =
  /^(\$ )?([A-Z][A-Z0-9_]*=\S+ )*(npm|npx|node|curl|kill|docker|redis-cli|redis-server|kubectl|git|sudo|export|python3?) [\w\-./"'$<{]/;

interface Block {
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** The comment before it: `not run: <reason>` or `file: <name>`. */
  readonly comment: string;
}

/** The fenced blocks of a page, in order. */
function blocksOf(path: string): readonly Block[] {
  const page = readFileSync(join(ROOT, path), "utf8");
  return [...page.matchAll(/(?:^<!-- (.*) -->\n)?^```(\w*)\n([\s\S]*?)\n```$/gm)].map((found) => ({
    line: page.slice(0, found.index).split("\n").length,
    comment: found[1] ?? "",
    language: found[2] ?? "",
    text: found[3] ?? "",
  }));
}

/** In these a line may begin like a command and is none. */
const isCode = ({ language }: Block) => /^(ts|js|python|json|promql|ini)$/.test(language);
const isShell = ({ language }: Block) => /^(sh|bash|shell|console)$/.test(language);
const reasonOf = ({ comment }: Block) => /^not run: (.*)$/.exec(comment)?.[1] ?? null;
const runsOf = (path: string) => blocksOf(path).filter((block) => isShell(block) && reasonOf(block) === null);

/** The commands of a block; one goes on in the next line after a backslash. */
function commandsOf({ text }: Block): readonly string[] {
  return text
    .replaceAll("\\\n", "\\\r")
    .split("\n")
    .map((line) => line.replaceAll("\\\r", "\\\n"))
    .filter((line) => line.trim() !== "" && !line.startsWith("#"));
}

/** Commands that run until they are stopped, and what they say once they listen. */
const STAYS = /\bnpm start\b|tollgate -- sandbox\b/;
const LISTENS = /listens on (http:[^\s,;]+)(?:, its admin listener on (http:\S+)\.$|;)/;

/** An answer that is an error fails its command, and so does a part of a pipe. */
const SHELL = `curl() { command curl --fail-with-body -sS "$@"; }; set -aeo pipefail`;
/** What a command has set is there for the next one, as in a terminal; where the gateway listens is the reader's own knowledge. */
const KEEP_EXPORTED = "export -p | grep -vE '^declare -x (ADMIN_PORT|PORT|PWD|OLDPWD|SHLVL)' >.exported";

/** A shell in a folder that looks like that of the program, with settings that keep it away from everything else. */
class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), "tollgate-page-"));
  readonly #ids = new Map<string, string>();
  #running: ChildProcess | null = null;
  #addresses = { url: "", adminUrl: "" };
  readonly #env: Record<string, string | undefined>;

  constructor() {
    for (const name of readdirSync(ROOT)) {
      if (!/^(\.git|data)$/.test(name)) symlinkSync(join(ROOT, name), join(this.folder, name));
    }
    const path = `${dirname(process.execPath)}:${process.env.PATH}`;
    const kept = {
      PATH: path,
      HOME: this.folder,
      DATA_DIR: join(this.folder, "data"),
      npm_config_update_notifier: "false",
      NODE_OPTIONS: process.env.NODE_OPTIONS,
    };
    this.#env = { ...kept, PORT: "0", ADMIN_PORT: "0" };
  }

  /** Starts what a page says should run, in place of what has run so far. */
  async start(command: string): Promise<void> {
    await this.stop();
    const child = spawn("bash", ["-c", `${this.named(command)}`], {
      cwd: this.folder,
      env: { ...this.#env, PORT: "0", ADMIN_PORT: "0" },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    endWithTests(child, "group");
    this.#running = child;
    const said: string[] = [];
    const found = await new Promise<RegExpExecArray>((resolve, reject) => {
      for (const input of [child.stdout, child.stderr]) {
        createInterface({ input }).on("line", (line) => {
          said.push(line);
          const listens = LISTENS.exec(line);
          if (listens !== null) resolve(listens);
        });
      }
      child.once("exit", () => reject(new Error(`${command} ended: ${said.join("\n")}`)));
    });
    this.#addresses = { url: found[1] ?? "", adminUrl: found[2] ?? "" };
    if (found[2] !== undefined) this.#env.ADMIN_PORT = new URL(found[2]).port;
  }

  /** Runs a command to its end; what it exports is there for the next one. */
  async run(command: string): Promise<void> {
    const named = await this.#withIds(this.named(command));
    const script = [SHELL, "[ ! -e .exported ] || . ./.exported", named, KEEP_EXPORTED].join("\n");
    const child = spawn("bash", ["-c", script], {
      cwd: this.folder,
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    endWithTests(child);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += String(text)));
    const [code] = await once(child, "close");
    expect(code, `${command}\n${said}`).toBe(0);
    for (const [id, kind = ""] of said.matchAll(/\b(acct|key)_\w+/g)) this.#ids.set(kind, id);
  }

  async stop(): Promise<void> {
    const child = this.#running;
    this.#running = null;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const ended = once(child, "close");
    process.kill(-child.pid, "SIGTERM");
    await ended;
  }

  /** Addresses, ports and folders of this machine, where the page has those of anybody's. */
  named(command: string): string {
    const { url, adminUrl } = this.#addresses;
    return command
      .replaceAll("http://127.0.0.1:8080", url)
      .replaceAll("http://127.0.0.1:8081", adminUrl)
      .replaceAll("http://localhost:8090", url)
      .replaceAll("--port 8090", "--port 0")
      .replaceAll("DATA_DIR=/var/lib/tollgate", "DATA_DIR=data")
      .replaceAll(/(?<= )\/backups\//g, `${this.folder}/`);
  }

  /** The ids that a page leaves out are those that its commands have shown last; the transaction is one that was charged. */
  async #withIds(command: string): Promise<string> {
    const charge = command.includes("tx_...") ? await this.#charge() : "";
    return command
      .replace("tx_...", charge)
      .replaceAll(/(acct|key)_\.\.\./g, (left, kind) => this.#ids.get(kind) ?? left);
  }

  /** A call that was charged. */
  async #charge(): Promise<string> {
    const key = await this.sandboxKey();
    const response = await fetch(`${this.#addresses.url}/api/llm/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/ok", messages: [{ role: "user", content: "Hello" }] }),
    });
    await response.text();
    return String(response.headers.get("x-request-id")).replace("req_", "tx_");
  }

  /** A key of the reader's own, for pages that do not tell once more how one is made. */
  async sandboxKey(): Promise<string> {
    const token = readFileSync(join(this.folder, "data/admin.token"), "utf8").trim();
    const response = await fetch(`${this.#addresses.adminUrl}/admin/v1/accounts`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "reader", kind: "sandbox", credit_cents: 1_000 }),
    });
    return String(((await response.json()) as { api_key: string }).api_key);
  }

  setKey(key: string): void {
    this.#env.TOLLGATE_API_KEY = key;
  }
}

describe("the commands of the pages", () => {
  test.each(PAGES)("of %s stand in blocks of shell, and those that are not run say why", (path) => {
    const page = readFileSync(join(ROOT, path), "utf8");
    const shell = blocksOf(path).filter(isShell);
    const outside = page.replace(/^```(\w*)\n[\s\S]*?\n```$/gm, "");
    expect(outside.split("\n").filter((line) => COMMAND.test(line.trim()))).toEqual([]);
    const others = blocksOf(path).filter((block) => !isShell(block) && !isCode(block));
    expect(others.filter(({ text }) => text.split("\n").some((line) => COMMAND.test(line)))).toEqual([]);
    const reasons = shell.map(reasonOf).filter((reason) => reason !== null);
    expect(reasons.filter((reason) => reason.length < REASON_CHARS_MIN)).toEqual([]);
    // A reason that names the test which runs it is held to that.
    const tests = reasons.flatMap((reason) => reason.match(/test\/[\w/.-]+\.ts/g) ?? []);
    for (const file of tests) expect(readFileSync(join(ROOT, file), "utf8")).not.toBe("");
  });

  test("are mostly run", () => {
    const all = PAGES.flatMap((path) => blocksOf(path).filter(isShell));
    const run = all.filter((block) => reasonOf(block) === null);
    expect(run.length).toBeGreaterThan(12);
    expect(run.length).toBeGreaterThan(all.length / 2);
  });

  test.each(PAGES.filter((path) => runsOf(path).length > 0))(
    "of %s run as they stand",
    async (path) => {
      const reader = new Reader();
      onTestFinished(async () => {
        await reader.stop();
        rmSync(reader.folder, { recursive: true, force: true });
      });
      const blocks = blocksOf(path);
      const first = runsOf(path).flatMap(commandsOf)[0] ?? "";
      if (!STAYS.test(first)) {
        await reader.start("npm start");
        reader.setKey(await reader.sandboxKey());
      }
      for (const block of blocks) {
        const file = /^file: (.*)$/.exec(block.comment)?.[1];
        if (file !== undefined) writeFileSync(join(reader.folder, file), reader.named(block.text));
        if (!isShell(block) || reasonOf(block) !== null) continue;
        for (const command of commandsOf(block)) {
          await (STAYS.test(command) ? reader.start(command) : reader.run(command));
        }
      }
    },
    PAGE_MS_MAX,
  );
});
