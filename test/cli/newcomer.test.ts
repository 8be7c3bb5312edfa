// A newcomer's first hour, with a clone and their own model server: each step follows the output of the previous one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { needCurl } from "../support/curl.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { freePort } from "../support/free-port.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

onlyAProcessShows("a newcomer's first hour");

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const WORDS = "An answer of a model on this very machine.";

let own: VendorServer;
/** The newcomer's shell variables: two free ports and a folder, because the defaults may be taken on this machine. */
let shell: Record<string, string>;

beforeAll(async () => {
  await needCurl();
  own = await startVendor();
  own.answers({
    body: {
      id: "c1",
      object: "chat.completion",
      created: 1,
      model: "tiny",
      choices: [{ index: 0, message: { role: "assistant", content: WORDS }, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
    },
  });
  shell = {
    PATH: `${join(ROOT, "node_modules/.bin")}:${process.env.PATH}`,
    HOME: process.env.HOME ?? "/",
    DATA_DIR: mkdtempSync(join(tmpdir(), "tollgate-newcomer-")),
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
  };
}, INSTALLED_MS_MAX);
afterAll(async () => {
  await own.close();
  removeFolder(shell.DATA_DIR ?? "");
});

/** Types a line into the shell. */
async function type(line: string): Promise<{ code: number | null; out: string }> {
  const child = spawn("sh", ["-c", line], { cwd: ROOT, env: shell, stdio: ["ignore", "pipe", "pipe"] });
  endWithTests(child);
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const [code] = await once(child, "close");
  return { code, out };
}

/** Runs `npm start` until it reports that it listens; returns all of its output. */
async function start() {
  const child = spawn("npm", ["start"], { cwd: ROOT, env: shell, stdio: ["ignore", "pipe", "pipe"] });
  endWithTests(child);
  child.stdout.resume();
  const said: string[] = [];
  const closed = once(child, "close");
  const complete = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      if (/^(Or play without|Logs go to)/.test(line)) resolve();
    });
    void closed.then(() => reject(new Error(`it ended: ${said.join("\n")}`)));
  });
  await complete;
  return {
    said: said.join("\n"),
    async stop() {
      child.kill("SIGINT");
      await closed;
    },
  };
}

test("a newcomer who follows only what the gateway prints gets a live answer of an own server", async () => {
  const blind = await start();
  const words = blind.said.replaceAll("\n", " ");
  expect(words).toContain("No provider of models is on.");
  // It names the variables for the user's own server, and the one for its model.
  const [, variable = ""] =
    /server of your own that speaks OpenAI's wire, set .*?\b(CUSTOM_BASE_URL)\b/.exec(words) ?? [];
  expect(words).toMatch(/the variable of the same name that ends in _MODEL/);
  await blind.stop();

  shell = { ...shell, [variable]: `${own.url}/v1`, [variable.replace("_BASE_URL", "_MODEL")]: "tiny" };
  const gateway = await start();
  try {
    expect(gateway.said).toMatch(/^Configured: 1 of /m);
    const commands = [...gateway.said.matchAll(/(npm run -s tollgate -- (?:check|account create --name \w+))/g)].map(
      ([, line = ""]) => line,
    );
    const [check = "", open = ""] = commands;
    expect(open).toContain("account create");

    const checked = await type(`${check} --provider custom`);
    expect([checked.code, checked.out]).toEqual([0, expect.stringMatching(/^custom +fine /m)]);

    const opened = await type(open);
    expect(opened.code).toBe(0);
    const call = /^curl [\s\S]*?'$(?!\n {2}-)/m.exec(opened.out.slice(opened.out.indexOf("A first call:")))?.[0] ?? "";
    const answer = await type(call);
    expect(answer.out).toContain(WORDS);
    expect(own.asked.at(-1)?.body).toMatchObject({ model: "tiny" });

    // Two common mistakes: no key, and a name that does not exist. The errors lead on.
    const url = /http:\/\/\S+\/api\/llm\/v1/.exec(call)?.[0] ?? "";
    const json = { "content-type": "application/json" };
    const bare = await fetch(`${url}/chat/completions`, { method: "POST", headers: json, body: "{}" });
    expect([bare.status, await bare.text()]).toEqual([401, expect.stringContaining("account create")]);
    const key = /tg_sk_\w+/.exec(call)?.[0];
    const missing = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, ...json },
      body: JSON.stringify({ model: "no/such-model", messages: [{ role: "user", content: "hi" }] }),
    });
    const told = await missing.text();
    expect([missing.status, told]).toEqual([404, expect.stringContaining("/api/llm/v1/models")]);
    const models = (await (await fetch(`${url}/models`)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toContain("custom/tiny");
  } finally {
    await gateway.stop();
  }
});
