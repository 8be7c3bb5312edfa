// Ownership of ids, in every form that vendors issue and callers write; and our key never leaves its vendor.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestAccount } from "../../support/gateway.ts";
import { type AcmeGateway, startAcmeGateway } from "./acme-gateway.ts";

const KEY = "acme-key-0123456789";

let gateway: AcmeGateway;
let [ada, eve]: TestAccount[] = [];
beforeAll(async () => {
  gateway = await startAcmeGateway({ ACME_API_KEY: KEY });
  [ada, eve] = [await gateway.live(), await gateway.live()];
});
afterAll(() => gateway.stop());

async function polled(account: TestAccount | undefined, job_id: unknown): Promise<number> {
  if (account === undefined) throw new Error("no account");
  gateway.vendor.answers({ body: { status: "done" } });
  return (await gateway.run(account, "acme/poll", { job_id })).status;
}

async function launch(account: TestAccount | undefined, job_id: unknown): Promise<void> {
  if (account === undefined) throw new Error("no account");
  gateway.vendor.answers({ body: { job_id } });
  expect((await gateway.run(account, "acme/launch", { q: "tea" })).status).toBe(200);
}

describe("an id that a vendor gives", () => {
  it.each<[unknown, string]>([
    ["a/../b?x=1#y", "a/../b?x=1#y"],
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
    [4711, "4711"],
    [["one", "two"], "two"],
    ["ünï 🦆", "ünï 🦆"],
    ["x".repeat(3_000), "x".repeat(3_000)],
  ])("as %j is its payer's, and nobody else's", async (given, asked) => {
    expect(await polled(ada, asked)).toBe(404);
    await launch(ada, given);
    expect(await polled(eve, asked)).toBe(404);
    expect(gateway.vendor.asked).toEqual([]);
    expect(await polled(ada, asked)).toBe(200);
    expect(gateway.vendor.asked[0]?.url).toBe(`/v1/jobs/${encodeURIComponent(asked)}`);
  });

  it.each([[""], [null], [{ id: "o" }], [true], [[]], [[[]]]])(
    "as %j is none, and the launch no answer",
    async (given) => {
      gateway.vendor.answers({ body: { job_id: given } });
      expect((await gateway.run(ada as TestAccount, "acme/launch", { q: "tea" })).json.error).toBe("upstream_error");
      gateway.vendor.asked.length = 0;
      expect(await polled(ada, typeof given === "string" ? given : "o")).toBe(404);
      expect(gateway.vendor.asked).toEqual([]);
    },
  );

  it.each(["..", "."])("as %j leads nowhere: the caller is told, and the vendor is not asked", async (given) => {
    await launch(ada, given);
    expect(await polled(ada, given)).toBe(400);
    expect(gateway.vendor.asked).toEqual([]);
  });

  it("as half of a character leads nowhere either", async () => {
    gateway.vendor.answers({ body: '{"job_id":"\\udc00"}' });
    await gateway.run(ada as TestAccount, "acme/launch", { q: "tea" });
    expect(await polled(ada, "\udc00")).toBe(400);
    expect(await gateway.heldCents(ada as TestAccount)).toBe(0);
  });
});

describe("an id that a caller chooses", () => {
  it.each(["$&", 'a"b\\c', "ünï 🦆\n", "__proto__", "tg_"])(
    "as %j comes back inside of larger strings, and of errors",
    async (id) => {
      gateway.vendor.answers((response, { body }) => {
        const { user_id } = body as { user_id: string };
        response.end(JSON.stringify({ [user_id]: `of ${user_id}, yes ${user_id}` }));
      });
      const good = await gateway.run(ada as TestAccount, "acme/memory", { user_id: id });
      expect(good.json.data).toEqual(JSON.parse(`{${JSON.stringify(id)}:${JSON.stringify(`of ${id}, yes ${id}`)}}`));
      gateway.vendor.answers((response, { body }) => {
        const { user_id } = body as { user_id: string };
        response.writeHead(404).end(JSON.stringify({ message: `nobody is called ${user_id}` }));
      });
      const bad = await gateway.run(ada as TestAccount, "acme/memory", { user_id: id });
      expect(bad.json.data).toMatchObject({ vendor: { message: `nobody is called ${id}` } });
      expect(bad.text).not.toMatch(/tg_[\w-]{32}/);
    },
  );
});

describe("our key", () => {
  it("that a vendor repeats in its refusal is not passed on", async () => {
    gateway.vendor.answers({ status: 400, body: { message: `wrong: Bearer ${KEY}`, headers: { authorization: KEY } } });
    const { status, text } = await gateway.run(ada as TestAccount, "acme/search", { q: "tea" });
    expect([status, text.includes(KEY)]).toEqual([400, false]);
  });

  it.each([
    ["/v1/there?x=1", "/v1/there?x=1"],
    ["there", "/v1/there"],
    ["https://acme.invalid/v1/there?x=1#y", "/v1/there?x=1"],
    ["http://acme.invalid/v1/there", "/v1/there"],
    ["https://us:er@acme.invalid/v1/there", "/v1/there"],
    ["https://acme.invalid/elsewhere", "/elsewhere"],
  ])("goes with a redirect to %s, at our own origin", async (location, asked) => {
    gateway.vendor.answers({ status: 302, headers: { location }, body: "" }, { body: "there" });
    expect((await gateway.run(ada as TestAccount, "acme/bytes")).status).toBe(200);
    expect(gateway.vendor.asked.map(({ url }) => url)).toEqual(["/v1/get", asked]);
    expect(gateway.vendor.asked[1]?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      host: new URL(gateway.vendor.url).host,
    });
  });

  it.each([
    "https://evil.invalid/v1/there",
    "//evil.invalid/v1/there",
    "\\\\evil.invalid/there",
    "https://acme.invalid.evil.invalid/",
    "https://acme.invalid@evil.invalid/",
    "https://acme.invalid:8443/v1/there",
    "ftp://acme.invalid/there",
    "javascript:alert(1)",
    "blob:https://acme.invalid/there",
    "http://",
  ])("does not go with a redirect to %s", async (location) => {
    gateway.vendor.answers({ status: 302, headers: { location }, body: "" }, { body: "there" });
    expect((await gateway.run(ada as TestAccount, "acme/bytes")).json.error).toBe("upstream_error");
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("goes no further than the adapter's redirects", async () => {
    gateway.vendor.answers({ status: 302, headers: { location: "/v1/get" }, body: "" });
    expect((await gateway.run(ada as TestAccount, "acme/bytes")).json.error).toBe("upstream_error");
    expect(gateway.vendor.asked).toHaveLength(3);
  });
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
