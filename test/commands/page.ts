// Runs a page's commands verbatim, one after another, against gateways that the page itself starts.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { needCurl } from "../support/curl.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { writeNpm } from "../support/npm.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { blocksOf, commandsOf, isShell, ROOT, reasonOf, runsOf } from "./blocks.ts";

/** The timeout of a page's commands, even on a loaded machine. */
const PAGE_MS_MAX = 180_000;

/** Commands that run until they are stopped, and their output once they listen. */
const STAYS = /\bnpm start\b|tollgate -- sandbox\b/;
const LISTENS = /listens on (http:[^\s,;]+)(?:, its admin listener on (http:\S+)\.$|;)/;

/** An error answer fails its command, and so does any part of a pipe. */
const SHELL = `curl() { command curl --fail-with-body -sS "$@"; }; set -aeo pipefail`;
/** Keeps a command's variables for the next one, as in a terminal, except the gateway's addresses, which the reader knows. */
const KEEP_EXPORTED = "export -p | grep -vE '^declare -x (ADMIN_PORT|PORT|PWD|OLDPWD|SHLVL)' >.exported";

/** A shell in a folder that looks like the program's, with settings that isolate it from everything else. */
class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), "tollgate-page-"));
  readonly #ids = new Map<string, string>();
  #running: ChildProcess | null = null;
  #addresses = { url: "", adminUrl: "" };
  readonly #env: Record<string, string | undefined>;

  constructor(isRealNpm: boolean) {
    for (const name of readdirSync(ROOT)) {
      if (!/^(\.git|data)$/.test(name)) symlinkSync(join(ROOT, name), join(this.folder, name));
    }
    const bin = join(this.folder, ".bin");
    mkdirSync(bin);
    writeNpm(bin);
    const path = [...(isRealNpm ? [] : [bin]), dirname(process.execPath), process.env.PATH].join(delimiter);
    const kept = {
      PATH: path,
      HOME: this.folder,
      DATA_DIR: join(this.folder, "data"),
      npm_config_update_notifier: "false",
      NODE_OPTIONS: process.env.NODE_OPTIONS,
    };
    this.#env = { ...kept, PORT: "0", ADMIN_PORT: "0" };
  }

  /** Starts what a page says should run, in place of what ran so far. */
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

  /** Runs a command to its end; its exports are available to the next one. */
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

  /** Replaces the page's generic addresses, ports and folders with this machine's. */
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

  /** Replaces the page's placeholder ids with the last ids in the commands' output; the transaction is one that was charged. */
  async #withIds(command: string): Promise<string> {
    const charge = command.includes("tx_...") ? await this.#charge() : "";
    return command
      .replace("tx_...", charge)
      .replaceAll(/(acct|key)_\.\.\./g, (left, kind) => this.#ids.get(kind) ?? left);
  }

  async #charge(): Promise<string> {
    const key = await this.sandboxKey();
    const response = await postAs(key, `${this.#addresses.url}/api/llm/v1/chat/completions`, {
      model: "sandbox/ok",
      messages: [{ role: "user", content: "Hello" }],
    });
    await response.text();
    return String(response.headers.get("x-request-id")).replace("req_", "tx_");
  }

  /** A key for pages that do not repeat how to create one. */
  async sandboxKey(): Promise<string> {
    const token = readFileSync(join(this.folder, "data/admin.token"), "utf8").trim();
    const response = await postAs(token, `${this.#addresses.adminUrl}/admin/v1/accounts`, {
      name: "reader",
      kind: "sandbox",
      credit_cents: 1_000,
    });
    return String(((await response.json()) as { api_key: string }).api_key);
  }

  setKey(key: string): void {
    this.#env.TOLLGATE_API_KEY = key;
  }
}

/** Runs the README's commands with npm itself, and other pages' with what npm would start. */
export function runCommandsOf(path: string): void {
  test(`the commands of ${path} run as they stand`, { timeout: PAGE_MS_MAX }, async () => {
    await needCurl();
    const reader = new Reader(path === "README.md");
    onTestFinished(async () => {
      await reader.stop();
      removeFolder(reader.folder);
    });
    const first = runsOf(path).flatMap(commandsOf)[0] ?? "";
    if (!STAYS.test(first)) {
      await reader.start("npm start");
      reader.setKey(await reader.sandboxKey());
    }
    for (const block of blocksOf(path)) {
      const file = /^file: (.*)$/.exec(block.comment)?.[1];
      if (file !== undefined) writeFileSync(join(reader.folder, file), reader.named(block.text));
      if (!isShell(block) || reasonOf(block) !== null) continue;
      for (const command of commandsOf(block)) {
        await (STAYS.test(command) ? reader.start(command) : reader.run(command));
      }
    }
  });
}
