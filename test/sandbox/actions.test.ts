// What a vendor's mock accepts and answers: it checks addresses, keys and bodies strictly, and makes, remembers and echoes ids.
import { afterAll, describe, expect, it } from "vitest";
import { JOB, json, startStandIns } from "./action-stand-ins.ts";

const { sandbox, ask, search } = await startStandIns();
afterAll(() => sandbox.close());

const SEARCH_ANSWER = { results: [{ title: "Coins" }], total: 1 };

describe("a request as the adapter says", () => {
  it("gets the example's answer as JSON", async () => {
    const answer = await search();
    expect(answer).toMatchObject({ status: 200, whole: true });
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(json(answer)).toEqual(SEARCH_ANSWER);
  });

  it("gets a text as a page", async () => {
    const answer = await ask({ action: "page", method: "GET", path: "/pages/a%20b/raw?format=html&more=1" });
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.body).toBe("<p>A page.</p>");
  });

  it.each([
    ["a place that keeps its slashes", "/web/https://example.com/a/b"],
    ["and a query of its own", "/web/https://example.com/a/b?c=d"],
  ])("%s", async (_, path) => {
    expect(await ask({ action: "archived", method: "GET", path })).toMatchObject({ status: 200 });
  });

  it("may name any row of the table as its address", async () => {
    const any = { adapter: "many", action: "any" };
    const type = { "content-type": "application/json" };
    expect((await ask({ ...any, path: "/models/paint", body: {}, headers: type })).status).toBe(200);
    expect((await ask({ ...any, path: "/sizes/12", method: "GET" })).status).toBe(200);
    expect((await ask({ ...any, path: "/lists", body: ["a"], headers: type })).status).toBe(200);
    expect((await ask({ ...any, path: "/models/paint", body: ["a"], headers: type })).status).toBe(400);
    expect((await ask({ ...any, path: "/sizes", method: "GET" })).status).toBe(404);
    expect((await ask({ ...any, path: "/sizes/12", body: {}, headers: type })).status).toBe(405);
    expect((await ask({ ...any, action: "post", path: "/sizes/12", method: "GET" })).status).toBe(404);
  });
});

describe("a request that the vendor would not take", () => {
  it.each([
    ["another path", { path: "/find" }, 404],
    ["another host of the vendor", { path: "/~queue/search" }, 404],
    ["a path that goes on", { path: "/search/" }, 404],
    ["another method", { method: "GET", body: undefined }, 405],
    ["no key", { headers: { authorization: "" } }, 401],
    ["a key without its prefix", { headers: { authorization: "sandbox" } }, 401],
    ["a prefix without a key", { headers: { authorization: "Bearer " } }, 401],
    ["another version", { headers: { "acme-version": "2" } }, 400],
    ["no content type", { headers: { "content-type": "" } }, 415],
    ["another content type", { headers: { "content-type": "text/plain" } }, 415],
    ["half of a JSON", { body: '{"query":' }, 400],
    ["an array", { body: "[1]" }, 400],
    ["nothing", { body: "" }, 400],
  ])("%s", async (_, more, status) => {
    const answer = await search(undefined, more);
    expect(answer.status).toBe(status);
    expect(json(answer)).toMatchObject({ error: { message: expect.any(String) } });
  });

  it("a part of the path's own query that is missing or empty", async () => {
    const page = { action: "page", method: "GET" };
    expect((await ask({ ...page, path: "/pages/a/raw" })).status).toBe(404);
    expect((await ask({ ...page, path: "/pages/a/raw?format=" })).status).toBe(404);
    expect((await ask({ ...page, path: "/pages//raw?format=html" })).status).toBe(404);
  });

  it("an action or a step that there is not", async () => {
    expect((await search(undefined, { action: "seek" })).status).toBe(404);
    expect((await search(undefined, { adapter: "acne" })).status).toBe(404);
    expect((await search(undefined, { step: 1 })).status).toBe(404);
  });

  it("is refused whatever fault was asked for", async () => {
    expect((await search("500", { headers: { authorization: "" } })).status).toBe(401);
  });
});

describe("the key", () => {
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  it.each([
    ["in a header of its own", "named", { method: "GET", headers: { "x-key": "k" } }, { method: "GET" }],
    [
      "in two headers",
      "paired",
      { method: "GET", headers: { "x-id": "a", "x-secret": "b", kind: "pair" } },
      { method: "GET", headers: { "x-id": "a", kind: "pair" } },
    ],
    [
      "as user and password",
      "basic",
      { body: "a=b", headers: { ...form, authorization: "Basic YTpi" } },
      { body: "a=b", headers: { ...form, authorization: "Bearer YTpi" } },
    ],
    ["in the query", "asked", { method: "GET", path: "/ask?key=k" }, { method: "GET", path: "/ask?key=" }],
    ["in the body", "inside", { body: { clientKey: "k" }, headers: json }, { body: { key: "k" }, headers: json }],
  ])("%s", async (_, adapter, good, bad) => {
    const place = { adapter, action: "ask", path: "/ask" };
    expect((await ask({ ...place, ...good })).status).toBe(200);
    expect((await ask({ ...place, ...bad })).status).toBe(401);
  });

  it("is not looked for where there is none; the content type and the caller's name are", async () => {
    const place = { action: "ask", path: "/ask" };
    expect((await ask({ ...place, adapter: "open", body: "a=b", headers: form })).status).toBe(200);
    expect((await ask({ ...place, adapter: "open", body: { a: "b" }, headers: json })).status).toBe(415);
    const polite = { ...place, adapter: "polite", method: "GET" };
    expect((await ask({ ...polite, headers: { "user-agent": "Tollgate/0.1" } })).status).toBe(200);
    expect((await ask(polite)).status).toBe(403);
  });
});

describe("ids", () => {
  const create = () => ask({ action: "create", path: "/jobs", body: {} }).then(json);
  const status = (id: unknown, part = "") =>
    ask({ action: "status", method: "GET", path: `/jobs/${id}${part === "" ? "" : `?part_id=${part}`}` });

  it("are new in every answer, look like the example's, and stand wherever it stands", async () => {
    const [one, other] = [await create(), await create()];
    expect(one.id).toMatch(/^job_[0-9a-z]{10}$/);
    expect(new Set([JOB, one.id, other.id]).size).toBe(3);
    expect(one.url).toBe(`https://api.acme.test/v2/jobs/${one.id}`);
    const parts = one.parts as string[];
    expect(parts).toHaveLength(2);
    expect(new Set([...parts, "part-aa", "part-bb", ...(other.parts as string[])]).size).toBe(6);
    expect(one.number).toEqual(expect.any(Number));
    expect(one.number).not.toBe(7);
    expect(one.of).toBe(7);
    expect(one.pin).not.toBe("k9x2");
    expect(one.ticket).toEqual({ pin: one.pin, says: "not k9x2x" });
  });

  it("are known afterwards, and the status shows the caller's", async () => {
    const made = await create();
    const [part = ""] = made.parts as string[];
    expect(json(await status(made.id, part))).toEqual({ job: { id: made.id, part }, state: "done" });
  });

  it("that were never issued are the vendor's 404, those of another kind too", async () => {
    const made = await create();
    const [part = ""] = made.parts as string[];
    expect((await status(JOB)).status).toBe(404);
    expect((await status(part)).status).toBe(404);
    expect((await status(made.id, "part-aa")).status).toBe(404);
    const refused = await ask({ action: "create", path: "/jobs", body: {}, fault: "500" });
    expect(refused.body).not.toContain("job_");
  });

  it("are forgotten with the books", async () => {
    const made = await create();
    await fetch(`${sandbox.url}/_sandbox/reset`, { method: "POST" });
    expect((await status(made.id)).status).toBe(404);
  });

  it("that callers choose come back", async () => {
    const answer = await ask({ action: "remember", path: "/remember", body: { user: { name: "u_4711" } } });
    expect(json(answer)).toEqual({ kept: true, user: "u_4711" });
  });
});

describe("what is kept", () => {
  const boot = async (body: object = {}) => String(json(await ask({ action: "boot", path: "/boxes", body })).box);
  const put = (box: string, fault?: string) =>
    ask({ action: "put", path: `/boxes/${box}/files`, body: { name: "a" }, ...(fault === undefined ? {} : { fault }) });
  const get = (box: string) => ask({ action: "get", method: "GET", path: `/boxes/${box}/files/a` });
  const look = (box: string) => ask({ action: "box", method: "GET", path: `/boxes/${box}` });
  const halt = (box: string) => ask({ action: "halt", method: "DELETE", path: `/boxes/${box}` });

  it("is there until it is ended, with all that is in it, and refused after in the vendor's words", async () => {
    const [box, other] = [await boot(), await boot()];
    expect((await put("box_never")).status).toBe(404);
    expect((await put(box, "500")).status).toBe(500);
    expect((await get(box)).status).toBe(404);
    expect((await put(box)).status).toBe(200);
    expect((await put(box)).status).toBe(409);
    // A name is taken only within its own box.
    expect((await put(other)).status).toBe(200);
    expect((await halt(box)).status).toBe(200);
    const refused = await put(box);
    expect([refused.status, json(refused)]).toEqual([410, { gone: true }]);
    expect([(await get(box)).status, (await get(other)).status]).toEqual([404, 200]);
    expect(json(await look(box))).toEqual({ box, state: "off" });
    expect((await halt(box)).status).toBe(404);
  });

  it("ends by itself when its time is over", async () => {
    const box = await boot({ seconds: 0 });
    expect((await put(box)).status).toBe(410);
    expect((await put(await boot({ seconds: 600 }))).status).toBe(200);
  });
});

describe("steps", () => {
  const begin = (call: string, fault?: string) =>
    ask({ action: "render", path: "/~queue/render", body: {}, call, ...(fault === undefined ? {} : { fault }) });
  const step = (call: string, at: number, path: string, fault?: string) =>
    ask({
      action: "render",
      step: at,
      method: "GET",
      path: `/~queue${path}`,
      call,
      ...(fault === undefined ? {} : { fault }),
    });

  it("go on where the call was, with its ids; one that is left out takes no answer with it", async () => {
    const { id, status } = json(await begin("one"));
    expect(status).toBe("IN_QUEUE");
    const done = json(await step("one", 2, `/render/${id}`));
    expect(done).toMatchObject({ id, status: "COMPLETED" });
    expect(done.result_url).toBe(`https://queue.acme.test/render/${id}/result?as=json`);
    const result = await step("one", 3, `/render/${id}/result?as=json`);
    expect(json(result)).toEqual({ image: `https://cdn.acme.test/${id}.png` });
  });

  it("know the ids and addresses of their own call alone", async () => {
    const { id } = json(await begin("two"));
    const other = json(await begin("three"));
    expect((await step("two", 2, `/render/${other.id}`)).status).toBe(404);
    expect((await step("two", 3, `/render/${id}/results`)).status).toBe(404);
    expect((await step("two", 3, `/render/${other.id}/result?as=json`)).status).toBe(404);
  });

  it("say when the example has no answer for one", async () => {
    const { id } = json(await begin("four"));
    await step("four", 1, `/render/${id}`);
    await step("four", 2, `/render/${id}`);
    const answer = await step("four", 3, `/render/${id}/result?as=json`);
    expect(answer.status).toBe(500);
    expect(answer.body).toContain("no answer for step 3");
  });

  it("are told that it is too early as often as was asked for", async () => {
    const { id } = json(await begin("five", "poll-2"));
    const told = [];
    for (let poll = 0; poll < 3; poll++) told.push(json(await step("five", 2, `/render/${id}`, "poll-2")).status);
    expect(told).toEqual(["PROCESSING", "PROCESSING", "COMPLETED"]);
  });

  it("are struck by a fault one by one", async () => {
    const begun = await begin("six", "503@2");
    const { id } = json(begun);
    expect(begun.status).toBe(200);
    expect((await step("six", 2, `/render/${id}`, "503@2")).status).toBe(503);
    expect((await step("six", 2, `/render/${id}`)).status).toBe(200);
  });
});

describe("the books", () => {
  it("count every request of an action by adapter, action and step", async () => {
    await fetch(`${sandbox.url}/_sandbox/reset`, { method: "POST" });
    const { id } = json(await ask({ action: "render", path: "/~queue/render", body: {}, call: "seven" }));
    await ask({ action: "render", step: 2, method: "GET", path: `/~queue/render/${id}`, call: "seven", fault: "500" });
    const { requests, models, totals } = sandbox.books();
    const place = { adapter: "acme", action: "render", model: "acme/render", requestId: "seven" };
    expect(requests).toMatchObject([
      { ...place, step: 0, status: 200, ended: "whole" },
      { ...place, step: 2, status: 500, ended: "refused" },
    ]);
    expect(models["acme/render"]).toMatchObject({ requests: 2, whole: 1, refused: 1 });
    expect(totals.requests).toBe(2);
  });
});
