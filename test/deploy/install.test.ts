// The production install: what `npm ci --omit=dev` installs, and what `npm run slim` leaves of it.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { spawnGateway } from "../support/gateway-process.ts";
import { ROOT, temporary } from "./deployed.ts";

/** The review measured 213 MB, including the clients that only the demo uses. */
const MEGABYTES_MAX = 213 / 2;

interface Locked {
  readonly dev?: boolean;
  readonly optional?: boolean;
}

/** Copies a tree; takes no extra space where both folders are on one disk. */
function copyTree(from: string, to: string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const copy = join(to, file.slice(from.length));
    mkdirSync(dirname(copy), { recursive: true });
    try {
      linkSync(file, copy);
    } catch {
      copyFileSync(file, copy);
    }
  }
}

/** The packages of `npm ci --omit=dev --omit=optional`, as the image has them. */
function productionTree(): string {
  const tree = temporary();
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  const modules = realpathSync(join(ROOT, "node_modules"));
  for (const [path, { dev, optional }] of Object.entries(packages)) {
    const nested = path.split("node_modules/").length > 2;
    if (path === "" || nested || dev === true || optional === true) continue;
    const name = path.slice("node_modules/".length);
    copyTree(join(modules, name), join(tree, path));
  }
  for (const path of ["package.json", "src", "adapters", "tiers", "deploy"]) {
    cpSync(join(ROOT, path), join(tree, path), { recursive: true });
  }
  return tree;
}

function megabytes(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0) / 1_000_000;
}

test("the production install is less than half of what it was, and serves calls", async () => {
  const tree = productionTree();
  const slim = () => spawnSync(process.execPath, ["deploy/slim.cjs"], { cwd: tree, encoding: "utf8" });
  const first = slim();
  expect([first.status, first.stderr]).toEqual([0, ""]);
  expect(first.stdout).toMatch(/^node_modules: \d+ MB before, \d+ MB now\n$/);
  expect(megabytes(join(tree, "node_modules"))).toBeLessThan(MEGABYTES_MAX);
  expect(slim().status).toBe(0);

  const gateway = await spawnGateway({ DATA_DIR: join(tree, "data") }, undefined, [join(tree, "src/main.ts")]);
  onTestFinished(() => gateway.kill());
  const { api_key } = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "slim",
    kind: "sandbox",
    credit_cents: 1,
  });
  // With so little credit the gateway must count the prompt's tokens, which proves that the counter's package is complete too.
  const response = await fetch(`${gateway.url}/api/llm/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${api_key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "core/cheap",
      max_tokens: 20,
      messages: [{ role: "user", content: "Hello ".repeat(2_000) }],
    }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("chat.completion")]);
});

test("the production install stays as it is where it lacks the binary of this machine", () => {
  const tree = temporary();
  const binaries = join(tree, "node_modules/uWebSockets.js/dist/bin");
  mkdirSync(binaries, { recursive: true });
  mkdirSync(join(tree, "deploy"));
  cpSync(join(ROOT, "deploy/slim.cjs"), join(tree, "deploy/slim.cjs"));
  cpSync(join(ROOT, "package.json"), join(binaries, "uws_plan9_mips_1.node"));
  const run = spawnSync(process.execPath, ["deploy/slim.cjs"], { cwd: tree, encoding: "utf8" });
  expect(run.status).toBe(1);
  expect(run.stderr).toContain("nothing was removed");
  expect(readdirSync(binaries)).toEqual(["uws_plan9_mips_1.node"]);
});
