// The command as a process: what only its exit code, output and signals show.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { endWithTests } from "../support/end-with-tests.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("the command line is a program");

const CLI = fileURLToPath(new URL("../../src/cli/tollgate.ts", import.meta.url));

describe("the command itself", () => {
  test("is run by the runtime as it is, and says nothing but what it was asked", async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      "--disable-warning=ExperimentalWarning",
      CLI,
      "config",
      "--json",
    ]);
    expect(JSON.parse(stdout).settings).toContainEqual(expect.objectContaining({ name: "HOST" }));
    expect(stderr).toBe("");
  });

  test("ends with the exit code", async () => {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CLI, "nonsense"]);
    const [code] = await once(child, "close");
    expect(code).toBe(2);
  });

  test("runs the sandbox upstream until it is told to stop", async () => {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CLI, "sandbox", "--port", "0"]);
    endWithTests(child);
    const closed = once(child, "close");
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(chunk.toString())?.[0] ?? "";
    expect((await fetch(`${url}/`)).status).toBe(200);
    const headers = { "x-api-key": "any", "content-type": "application/json", "x-tollgate-sandbox-action": "search" };
    const answer = await fetch(`${url}/exa/search`, { method: "POST", headers, body: '{"query":"tea"}' });
    expect([answer.status, await answer.json()]).toMatchObject([200, { results: expect.any(Array) }]);
    child.kill("SIGTERM");
    expect(await closed).toEqual([0, null]);
  });

  test("passes signals on to the command that it runs, and ends as that does", async () => {
    const api = createServer((_request, response) =>
      response.end('{"id": "r", "totals": {"by_model": [], "by_action": []}, "loops": []}'),
    ).listen(0, "127.0.0.1");
    await once(api, "listening");
    const script = 'trap "exit 9" TERM; kill -TERM $PPID; while :; do sleep 0.05; done';
    const words = ["run", "--budget", "1", "--key", "k", "--", "sh", "-c", script];
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CLI, ...words], {
      env: { PATH: process.env.PATH, TOLLGATE_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}` },
    });
    endWithTests(child);
    // The command sends the signal itself, as early as one can come.
    expect(await once(child, "close")).toEqual([9, null]);
    api.close();
  });

  test("certify ends with a report when it is interrupted", async () => {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CLI, "certify", "--json"], {
      // Without a vendor key, the stand-ins are used.
      env: { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS },
    });
    endWithTests(child);
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    const closed = once(child, "close");
    await once(child.stderr, "data");
    child.kill("SIGINT");
    expect(await closed).toEqual([1, null]);
    const { stopped, calls } = JSON.parse(out) as { stopped: string; calls: object[] };
    expect(stopped).toBe("interrupted");
    expect(calls.at(-1)).toMatchObject({ verdict: "not asked", note: "it was stopped" });
  });
});
