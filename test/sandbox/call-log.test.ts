// The sandbox's own call log, and what it serves besides the vendors' dialects.

import { readFileSync } from "node:fs";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { ACTION_FAULTS } from "../../src/sandbox/action-faults.ts";
import { BATCH_FAULTS } from "../../src/sandbox/batches.ts";
import type { CallLogReport } from "../../src/sandbox/call-log.ts";
import { FAULTS } from "../../src/sandbox/faults.ts";
import { DIRECTIVES } from "../../src/sandbox/guide.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { rawCall, send, until } from "./raw-client.ts";

const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
afterAll(() => sandbox.close());
beforeEach(async () => {
  await fetch(`${sandbox.url}/_sandbox/reset`, { method: "POST" });
});

function request(model: string, text = "Hi", stream = true) {
  return {
    url: `${sandbox.url}/openai/chat/completions`,
    body: JSON.stringify({ model, stream, messages: [{ role: "user", content: text }] }),
    headers: { authorization: "Bearer any", "x-request-id": `req-${model}` },
  };
}

function row(model: string) {
  return sandbox.books().requests.findLast((one) => one.model === model);
}

describe("the books", () => {
  it("say how each request ended and what was written", async () => {
    await rawCall(request("ok"));
    await rawCall(request("ok", "Hi", false));
    await rawCall(request("cut-after-40"));
    await rawCall(request("503"));
    await rawCall(request("reset"));
    const books = (await (await fetch(`${sandbox.url}/_sandbox/books`)).json()) as CallLogReport;
    expect(books.requests).toMatchObject([
      { model: "ok", stream: true, status: 200, ended: "whole", tokensIn: 4, tokensOut: 60 },
      { model: "ok", stream: false, status: 200, ended: "whole", tokensIn: 4, tokensOut: 60 },
      { model: "cut-after-40", stream: true, status: 200, ended: "cut", tokensIn: 4, tokensOut: 40 },
      { model: "503", stream: true, status: 503, ended: "refused", tokensIn: 0, tokensOut: 0 },
      { model: "reset", stream: true, status: 0, ended: "cut", tokensIn: 0, tokensOut: 0 },
    ]);
    expect(books.requests[0]).toMatchObject({ requestId: "req-ok", adapter: "openai" });
    expect(books.totals).toEqual({
      ...{ requests: 5, open: 0, whole: 2, cut: 2, aborted: 0, refused: 1 },
      ...{ tokensIn: 12, cachedTokensIn: 0, tokensOut: 160 },
    });
    expect(books.models.ok).toMatchObject({ requests: 2, whole: 2, tokensOut: 120 });
  });

  it("notice at once that a client has left, in the middle of a stream", async () => {
    const socket = send(request("ok-at-50", "Hi [[words: 5000]]"));
    await until(() => (row("ok-at-50")?.tokensOut ?? 0) >= 3);
    expect(row("ok-at-50")?.ended).toBe("open");
    const leftMs = performance.now();
    socket.destroy();
    await until(() => row("ok-at-50")?.ended === "aborted");
    // The whole answer would take a hundred seconds.
    expect(performance.now() - leftMs).toBeLessThan(20_000);
    const written = row("ok-at-50")?.tokensOut ?? 0;
    await rawCall(request("ok-at-50", "[[words: 6]]"));
    expect(sandbox.books().requests[0]?.tokensOut).toBe(written);
    expect(written).toBeLessThan(1_000);
  });

  it("notice a client that leaves before a unary answer", async () => {
    const socket = send(request("first-after-20", "Hi", false));
    await until(() => row("first-after-20") !== undefined);
    socket.destroy();
    await until(() => row("first-after-20")?.ended === "aborted");
    expect(row("first-after-20")?.tokensOut).toBe(0);
  });

  it("count only what a slow reader's connection has taken", async () => {
    const socket = send(request("ok", "[[words: 40000]] [[width: 1000]]"));
    socket.pause();
    await until(() => (row("ok")?.tokensOut ?? 0) > 100);
    await rawCall(request("503"));
    expect(row("ok")?.tokensOut).toBeLessThan(20_000);
    expect(row("ok")?.ended).toBe("open");
    socket.destroy();
    await until(() => row("ok")?.ended === "aborted");
  });
});

describe("beside the dialects", () => {
  it("the front page lists every fault and directive", async () => {
    const page = await (await fetch(sandbox.url)).text();
    const lines = page.split("\n").map((line) => line.trim().replace(/ {2,}/, " "));
    for (const { name, does } of [...FAULTS, ...ACTION_FAULTS, ...BATCH_FAULTS])
      expect(lines).toContain(`${name} ${does}`);
    for (const [name, does] of DIRECTIVES) expect(lines).toContain(`${name} ${does}`);
  });

  it("the documentation lists the same", () => {
    const lines = readFileSync(new URL("../../docs/guides/sandbox.md", import.meta.url), "utf8").split("\n");
    const rows = [
      ...[...FAULTS, ...ACTION_FAULTS, ...BATCH_FAULTS].map(({ name, does }) => [name, does]),
      ...DIRECTIVES,
    ];
    for (const [name, does] of rows) expect(lines).toContain(`| \`${name}\` | ${does} |`);
  });

  it("many streams are served side by side", async () => {
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) => rawCall(request("ok-at-200", `${at} [[words: 101]]`))),
    );
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(answers.every((answer) => answer.whole)).toBe(true);
    expect(sandbox.books().totals).toMatchObject({ requests: 200, whole: 200, tokensOut: 20_200 });
    // One after another they would take a hundred seconds.
    expect(seconds).toBeLessThan(50);
  });

  it("closing breaks what is running and frees the port", async () => {
    const other = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
    await expect(startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: other.port })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
    const { body, headers } = request("silent");
    const hanging = rawCall({ url: `${other.url}/openai/chat/completions`, body, headers });
    await until(() => other.books().totals.open === 1);
    await other.close();
    expect(await hanging).toMatchObject({ status: 0, whole: false });
    const again = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: other.port });
    await again.close();
  });
});
