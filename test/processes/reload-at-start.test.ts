// How a start handles an immediate signal, and a missing secret.
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { main } from "../support/gateway-process.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { removeFolder } from "../support/remove-folder.ts";

onlyAProcessShows("a start with a missing secret, or a signal at once");

test.each(["1", "2"])("SIGHUP does not end a gateway of %s processes that is still starting", async (workers) => {
  // It accepts connections and never answers: a client that has connected is in the middle of its start.
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-reload-"));
  onTestFinished(() => {
    silent.close();
    removeFolder(dataDir);
  });
  const address = silent.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  const connected = once(silent, "connection");
  const redis = `redis://127.0.0.1:${port}`;
  const settings = { DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0", SIGNING_SECRET: "of-all-the-processes" };
  const child = main({ ...settings, REDIS_URL: redis, WORKERS: workers });
  const closed = once(child, "close");
  let said = "";
  child.stderr.on("data", (text) => {
    said += String(text);
  });
  await connected;
  child.kill("SIGHUP");
  expect(await closed, said).toEqual([1, null]);
  expect(said).toContain("cannot be reached");
});

test.each(["1", "2"])(
  "a start of %s processes with Redis and without SIGNING_SECRET ends with one line",
  async (workers) => {
    const child = main({ PORT: "0", ADMIN_PORT: "0", REDIS_URL: "redis://127.0.0.1:1", WORKERS: workers });
    let said = "";
    child.stderr.on("data", (text) => {
      said += String(text);
    });
    expect(await once(child, "close"), said).toEqual([1, null]);
    expect(said).toMatch(/^tollgate: SIGNING_SECRET: is needed with REDIS_URL: [^\n]+\n$/);
  },
);
