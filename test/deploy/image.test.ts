// The files of deploy/, and the image: what it copies, and that the copy runs.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startTestGateway } from "../support/gateway.ts";
import { expectSettings, FILES, ROOT, read, temporary, yaml } from "./deployed.ts";

describe("every file", () => {
  test.each(FILES.filter((file) => /\.ya?ml$/.test(file)))("%s is good YAML", (file) => {
    expect(yaml(file).length).toBeGreaterThan(0);
  });

  test("names no machine and no registry, and images by their official names with a version", () => {
    for (const file of FILES) {
      const text = read(file);
      expect(text, file).not.toMatch(/\/(work|root|home|Users)\//);
      const images = [...text.matchAll(/^\s*image: (\S+)|^FROM (\S+)/gm)].map(([, one, other]) => one ?? other ?? "");
      const own = ["tollgate"];
      expect(images.filter((image) => !own.includes(image) && !/^([a-z]+\/)?[a-z]+:v?\d[\w.-]*$/.test(image))).toEqual(
        [],
      );
    }
  });
});

describe("the image", () => {
  const text = read("Dockerfile").replace(/\\\n\s*/g, "");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const all = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  const copied = all("COPY")
    .filter((line) => !line.startsWith("--from"))
    .flatMap((line) => line.split(" ").slice(0, -1));

  test("is of the Node that the gateway needs, runs as nobody in particular, and is told of signals", () => {
    expect(all("FROM").every((line) => /^node:22-slim( AS \w+)?$/.test(line))).toBe(true);
    expect(all("USER")).toEqual(["node"]);
    expect(lines.findIndex((line) => line.startsWith("USER"))).toBeLessThan(
      lines.findIndex((line) => line.startsWith("ENTRYPOINT")),
    );
    expect(JSON.parse(all("ENTRYPOINT")[0] ?? "")).toContain("src/main.ts");
    expect(text).not.toMatch(/\b(sudo|latest|ADD|curl|wget)\b/);
  });

  test("sets what are settings", () => {
    const pairs = (all("ENV")[0] ?? "").split(/\s+/).map((pair) => pair.split("=") as [string, string]);
    expectSettings(Object.fromEntries(pairs));
  });

  test("copies what there is, all of it past the ignore file, and it is enough to run", () => {
    const kept = read("Dockerfile.dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"));
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect([...new Set(copied)].map((path) => `!${path}`).sort()).toEqual(kept.sort());
    const image = temporary();
    for (const path of new Set(copied)) cpSync(join(ROOT, path), join(image, path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(image, "node_modules"));
    const words = ["--disable-warning=ExperimentalWarning", "src/cli/tollgate.ts", "prices"];
    const run = spawnSync(process.execPath, words, {
      cwd: image,
      encoding: "utf8",
      env: { DATA_DIR: join(image, "d") },
    });
    expect([run.status, run.stderr]).toEqual([0, ""]);
  });

  test("has the packages that run: what src imports is no package of the tests", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const folders = ["src", "adapters", "tiers"];
    const source = folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        // The demo needs the source tree; the image leaves out a client's package.
        .filter((name) => name.endsWith(".ts") && name !== "cli/demo.ts")
        .map((name) => readFileSync(join(ROOT, folder, name), "utf8")),
    );
    const imported = source.flatMap((file) =>
      [...file.matchAll(/^import (?!type)[^"';]*?from "([^."#][^"]*)"|import\("([^."#][^"]*)"\)/gm)].map(
        ([, one, other]) => one ?? other ?? "",
      ),
    );
    const packages = new Set(
      imported.filter((name) => !name.startsWith("node:")).map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name),
    );
    expect([...packages].filter((name) => dependencies[name] === undefined)).toEqual([]);
  });

  test("is healthy while the gateway answers", async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.stop());
    const check = JSON.parse(/CMD (\[.*\])$/.exec(all("HEALTHCHECK")[0] ?? "")?.[1] ?? "[]") as string[];
    const status = async (port: string) => {
      const child = spawn(process.execPath, check.slice(1), { env: { ADMIN_PORT: port }, stdio: "inherit" });
      const [code] = await once(child, "exit");
      return code;
    };
    expect(check[0]).toBe("node");
    expect(await status(new URL(gateway.adminUrl).port)).toBe(0);
    expect(await status("1")).toBe(1);
  });
});
