// A broken, endless or huge overlay folder: a running gateway keeps its catalog and its calls.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { folderForFile, forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const folder = folderForFile("tollgate-overlay-");
const adapters = join(folder, "adapters");
const write = (name: string, text: string) => writeFileSync(join(adapters, name), text);
const good = (name: string) => `import { bearer, defineAdapter } from "#adapter";
export default defineAdapter({ name: "${name}", docs: "https://a.example", origin: "https://a.example/v1", auth: bearer, maker: "${name}",
  chat: { dialect: "chat-completions", models: { m: { contextTokens: 1000, prices: [{ since: "2026-01-01", input: "1", output: "1" }] } } } });
`;

/** With one valid file. */
function begin(): void {
  mkdirSync(adapters);
  write("fine.ts", good("fine"));
}

begin();
const gateway = forFile(await startTestGateway({ OVERLAY_DIR: folder }));
const account = await gateway.account();
afterEach(() => {
  removeFolder(adapters);
  begin();
});

const chat = () =>
  account.client.chat.completions.create({ model: "core/cheap", messages: [{ role: "user", content: "Hello." }] });

describe("a reload", () => {
  it.each([
    ["throws", 'throw new Error("of its own");'],
    ["throws what is no error", "throw null;"],
    ["is no program", "export default {{{"],
    ["asks for what is not there", 'import "./nothing.ts"; export default {};'],
    ["exports what throws when it is read", "export default new Proxy({}, { get() { throw new Error('read'); } });"],
    ["exports itself within itself", "const a: Record<string, unknown> = {}; a.a = a; export default a;"],
  ])("of a file that %s is refused by a sentence that names the file, and calls go on", async (_, text) => {
    write("broken.ts", text);
    await expect(gateway.reload()).rejects.toThrow(/broken\.ts/);
    expect((await chat()).choices).toHaveLength(1);
  });

  it("of a file that never ends loading is given up, and calls go on meanwhile", async () => {
    write("endless.ts", "await new Promise(() => {}); export default {};");
    const reloading = gateway.reload();
    const settled = expect(reloading).rejects.toThrow(/endless\.ts/);
    expect((await chat()).choices).toHaveLength(1);
    await settled;
  });

  it("of a thousand files serves what they add, and calls go on meanwhile", async () => {
    for (let at = 0; at < 1_000; at++) write(`more-${at}.ts`, good(`more${at}`));
    const reloading = gateway.reload();
    const calls = await Promise.all(Array.from({ length: 20 }, chat));
    expect(calls.every(({ choices }) => choices.length === 1)).toBe(true);
    await reloading;
    const { data } = (await (await fetch(`${gateway.url}/api/llm/v1/models`)).json()) as { data: { id: string }[] };
    expect(data.some(({ id }) => id === "more999/m")).toBe(true);
  });
});
