import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { readConfig } from "../../src/platform/config.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

describe("on a disk that is nearly full", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ DISK_FREE_MIB_MIN: "1000000000" });
  });
  afterAll(() => gateway.stop());

  test("the operator is told at the start, at /readyz and by account create why nothing is taken on", async () => {
    const says = /the disk of DATA_DIR is nearly full: \d+ MiB are free, and below 1000000000 MiB no paid call/;
    expect((await gateway.startWords()).join("\n")).toMatch(says);
    const ready = await fetch(`${gateway.adminUrl}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ ready: false, reason: expect.stringMatching(says) });
    const err: string[] = [];
    const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
    const words = ["account", "create", "--name", "me"];
    const code = await run(words, { environment, out: () => {}, err: (line) => err.push(line) });
    expect(err.join()).toContain("Why: the disk of DATA_DIR is nearly full");
    expect(code).toBe(1);
  });

  test("it can be seen in the metrics, with what is needed", async () => {
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    expect(value("tollgate_disk_needed_bytes")).toBe(1_000_000_000 * 1024 * 1024);
    expect(value("tollgate_disk_free_bytes")).toBeGreaterThan(0);
    expect(value("tollgate_disk_free_bytes")).toBeLessThan(value("tollgate_disk_needed_bytes"));
  });
});

test("with room nothing is said, and all is ready", async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.stop());
  expect((await gateway.startWords()).join("\n")).not.toContain("nearly full");
  expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200);
});

describe("a DATA_DIR that cannot be used", () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-dir-"));
  afterAll(() => removeFolder(folder));
  const file = join(folder, "file");
  writeFileSync(file, "not a folder");
  const occupied = join(folder, "occupied");
  mkdirSync(join(occupied, "tollgate.db"), { recursive: true });
  const garbage = join(folder, "garbage");
  mkdirSync(garbage);
  writeFileSync(join(garbage, "tollgate.db"), "this is no database ".repeat(500));
  const tokenless = join(folder, "tokenless");
  mkdirSync(join(tokenless, "admin.token"), { recursive: true });

  test.each([
    ["is a file", file],
    ["lies below a file", join(file, "below")],
    ["has a folder in the place of the ledger", occupied],
    ["has a ledger that is none", garbage],
    ["has a folder in the place of the token", tokenless],
  ])("that %s is named by the start", async (_, dataDir) => {
    const config = readConfig({ DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0" });
    const started = startGateway({ config, onFatal: () => {} });
    await expect(started).rejects.toThrow(`DATA_DIR (${dataDir}) cannot be used: `);
  });
});

describe("a start that fails once the store is open", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-half-"));
  afterAll(() => removeFolder(dataDir));
  const start = (port: string) =>
    startGateway({ config: readConfig({ DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: port }), onFatal: () => {} });

  test("names the file of the catalog that is wrong, though that is known before the store is open", async () => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", hear);
    onTestFinished(() => void process.off("unhandledRejection", hear));
    writeFileSync(join(dataDir, "models.json"), "{}");
    await expect(start("0")).rejects.toThrow("models.json: format");
    expect(unhandled).toEqual([]);
    rmSync(join(dataDir, "models.json"));
  });

  test("leaves it free for the next: a folder of files that is a file, then an operator's port that is taken", async () => {
    writeFileSync(join(dataDir, "files"), "not a folder");
    await expect(start("0")).rejects.toThrow("files");
    rmSync(join(dataDir, "files"));
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    await expect(start(String((other.address() as AddressInfo).port))).rejects.toThrow("cannot listen on");
    const gateway = await start("0");
    expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200);
    await gateway.drain();
  });
});
