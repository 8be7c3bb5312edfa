// The faults that a header requests of a vendor's mock, as seen on the wire.
import { once } from "node:events";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ACTION_FAULTS, actionConductOf } from "../../src/sandbox/action-faults.ts";
import { json, startStandIns } from "./action-stand-ins.ts";
import { rawCall, send, until } from "./raw-client.ts";

const { sandbox, ask, search } = await startStandIns();
afterAll(() => sandbox.close());
beforeEach(async () => {
  await fetch(`${sandbox.url}/_sandbox/reset`, { method: "POST" });
});

const GOOD = { results: [{ title: "Coins" }], total: 1 };
const TEXT = JSON.stringify(GOOD);
const PLACE = { action: "acme/search", isVendor: (id: string) => ["acme", "other"].includes(id) };

/** The request of `search` on a raw socket, for answers that the test does not wait for. */
function open(fault: string) {
  const headers = { authorization: "Bearer k", "acme-version": "3", "content-type": "application/json" };
  const asked = { "x-tollgate-sandbox-action": "search", "x-tollgate-sandbox-fault": fault };
  return { url: `${sandbox.url}/acme/search`, body: "{}", headers: { ...headers, ...asked } };
}

describe("refusals", () => {
  it.each(["400", "401", "402", "403", "404", "409", "422", "429", "500", "503"])("%s", async (fault) => {
    const answer = await search(fault);
    expect(answer.status).toBe(Number(fault));
    expect(json(answer)).toMatchObject({ error: { type: expect.any(String), message: expect.any(String) } });
    expect(answer.headers.get("retry-after")).toBe(fault === "429" ? "1" : undefined);
    expect(sandbox.books().requests).toMatchObject([{ status: Number(fault), ended: "refused" }]);
  });

  it.each([
    ["429-once", 429],
    ["503-once", 503],
    ["redirect-once", 302],
  ])("%s strikes the first attempt of a call", async (fault, status) => {
    const statuses = [];
    for (const call of ["a", "a", "a", "b", "b"]) statuses.push((await search(fault, { call })).status);
    expect(statuses).toEqual([status, 200, 200, status, 200]);
  });

  it("an unknown fault is a 400 that lists what there is", async () => {
    for (const fault of ["404-twice", "slow-", "large-5", "means-nothing", "5000", "500@x"]) {
      const answer = await search(fault);
      expect(answer.status).toBe(400);
      for (const { name } of ACTION_FAULTS) expect(answer.body).toContain(name);
    }
  });

  it("is asked of one vendor, or of one of its actions, and of several at once", () => {
    const statusOf = (header: string, action: string) => {
      const script = actionConductOf(header, { ...PLACE, action })?.script;
      return script?.kind === "refuse" ? script.status : script?.kind;
    };
    expect(statusOf("404@acme", "acme/search")).toBe(404);
    expect(statusOf("404@acme", "other/search")).toBe("answer");
    expect(statusOf("404@acme/read", "acme/search")).toBe("answer");
    expect(statusOf("404@acme/search, 500@other", "acme/search")).toBe(404);
    expect(statusOf("404@acme/search,500@other", "other/read")).toBe(500);
    expect(statusOf("404@acme,503", "other/read")).toBe(503);
    expect(actionConductOf("503@2@acme", PLACE)).toMatchObject({ step: 2, script: { status: 503 } });
    expect(actionConductOf("503@nobody", PLACE)).toBeNull();
  });

  it("every fault of the table can be asked for", () => {
    const typed = ACTION_FAULTS.map(({ name }) => name.replace(/<(?:n|ms)>/, "5").replace("<verdict>", "miss"));
    expect(
      typed.filter((name) => actionConductOf(name, PLACE) === null || actionConductOf(`${name}@1`, PLACE)?.step !== 1),
    ).toEqual([]);
  });
});

describe("the connection", () => {
  it("timeout: nothing comes until the client leaves", async () => {
    const socket = send(open("timeout"));
    await until(() => sandbox.books().totals.open === 1);
    socket.destroy();
    await until(() => sandbox.books().totals.aborted === 1);
    expect(socket.bytesRead).toBe(0);
  });

  it("slow: the answer comes after so long", async () => {
    const answer = await search("slow-150");
    expect(answer.headMs).toBeGreaterThan(145);
    expect(json(answer)).toEqual(GOOD);
  });

  it("reset: no byte, on the first attempt or on each", async () => {
    expect(await search("reset")).toMatchObject({ status: 0, reset: true });
    expect(await search("reset-once", { call: "a" })).toMatchObject({ status: 0, reset: true });
    expect(await search("reset-once", { call: "a" })).toMatchObject({ status: 200, reset: false });
    expect(sandbox.books().requests[0]).toMatchObject({ status: 0, ended: "cut" });
  });

  it("cut: half of a body whose end was never said", async () => {
    const answer = await search("cut");
    expect(answer).toMatchObject({
      status: 200,
      whole: false,
      reset: false,
      body: TEXT.slice(0, TEXT.length / 2 + 0.5),
    });
    expect(sandbox.books().totals.cut).toBe(1);
  });

  it("short: fewer bytes than Content-Length says", async () => {
    const answer = await search("short");
    expect(answer).toMatchObject({ status: 200, whole: false, body: TEXT });
    expect(Number(answer.headers.get("content-length"))).toBeGreaterThan(TEXT.length);
  });

  it("stall: half of a body, then silence", async () => {
    const socket = send(open("stall"));
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk));
    await until(() => Buffer.concat(heard).includes(TEXT.slice(0, 20)));
    expect(sandbox.books().totals.open).toBe(1);
    socket.destroy();
    await until(() => sandbox.books().totals.aborted === 1);
  });

  it("huge: goes on until the client leaves", async () => {
    const socket = send(open("huge"));
    socket.on("data", () => {
      if (socket.bytesRead > 8 * 1024 * 1024) socket.destroy();
    });
    await once(socket, "close");
    await until(() => sandbox.books().totals.aborted === 1);
  });
});

describe("the body", () => {
  it("html, empty and malformed come as whole answers", async () => {
    const page = await search("html");
    expect(page).toMatchObject({ status: 200, whole: true });
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(page.body).toContain("<html>");
    expect(await search("empty")).toMatchObject({ status: 200, whole: true, body: "" });
    const half = await search("malformed");
    expect(half).toMatchObject({ status: 200, whole: true });
    expect(() => json(half)).toThrow();
  });

  it("large: a good answer with so much more in it", async () => {
    const answer = await search("large-3mb");
    expect(answer.whole).toBe(true);
    const { padding, ...rest } = json(answer);
    expect(rest).toEqual(GOOD);
    expect(padding).toHaveLength(3 * 1024 * 1024);
    const page = await ask({ action: "page", method: "GET", path: "/pages/a/raw?format=html", fault: "large-1mb" });
    expect(page.body).toMatch(/^<p>A page\.<\/p>x+$/);
  });

  it("redirect leads to this server by another name, where a request would be counted", async () => {
    const answer = await rawCall({
      ...open("redirect"),
      headers: { ...open("redirect").headers, host: new URL(sandbox.url).host },
    });
    expect(answer.status).toBe(302);
    const location = answer.headers.get("location") ?? "";
    expect(new URL(location)).toMatchObject({ hostname: "localhost", port: String(sandbox.port) });
    const itself = await search("redirect-once");
    expect(itself.headers.get("location")).toBe("/acme/search");
  });
});

describe("what the rules know", () => {
  it("error-200 is an error as the rules have it, else the plainest", async () => {
    expect(json(await search("error-200"))).toMatchObject({ error: expect.anything() });
    const plain = await ask({
      adapter: "named",
      action: "ask",
      method: "GET",
      path: "/ask",
      headers: { "x-key": "k" },
      fault: "error-200",
    });
    expect(plain.status).toBe(200);
    expect(json(plain)).toMatchObject({ error: { message: expect.any(String) } });
  });

  it("miss is an answer that a rule takes for one", async () => {
    expect(json(await search("miss"))).toEqual({ results: [], total: 1 });
  });

  it("means-<verdict> makes the status and the words of the first rule with that meaning", async () => {
    const auth = await search("means-provider_auth_failed");
    expect([auth.status, json(auth).code]).toEqual([422, "KEY_BAD"]);
    const billing = await search("means-provider_billing");
    expect(billing.status).toBe(400);
    expect(json(billing).detail).toMatch(/^credit spent$/);
    const server = await search("means-provider_server_error");
    expect(server.status).toBe(200);
    expect(json(server)).toMatchObject({ ...GOOD, error: expect.any(String) });
  });

  it("what no rule can mean is a 400 that says so", async () => {
    const answer = await search("means-provider_cut");
    expect(answer.status).toBe(400);
    expect(answer.body).toContain("provider_cut");
  });
});
