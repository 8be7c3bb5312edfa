// Private git repositories: bought once, accessed with tokens that we sign, and each accessible only to its owner.
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import type { TestAccount } from "../support/gateway.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../support/vendor-server.ts";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const PEM = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const catalog = await shippedCatalog();

interface Token {
  readonly head: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
}

/** A token's claims after its signature was verified with the vendor's public key; null if it is invalid. */
function tokenOf(jwt: string): Token | null {
  const [head = "", body = "", signature = ""] = jwt.split(".");
  const key = {
    key: createPublicKey(pair.publicKey.export({ type: "spki", format: "pem" })),
    dsaEncoding: "ieee-p1363",
  } as const;
  if (!verify("sha256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"))) return null;
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  return { head: read(head), claims: read(body) };
}

/** Stores its repositories, and honors a token's permissions and lifetime. */
function answer(repos: Map<string, object>, { method, url, headers, body }: VendorRequest) {
  const token = tokenOf(String(headers.authorization).replace(/^Bearer /, ""));
  const nowS = Date.now() / 1_000;
  if (token === null || token.head.alg !== "ES256" || token.claims.iss !== "acme")
    return { status: 401, body: { error: "token" } };
  if (Number(token.claims.exp) <= nowS || Number(token.claims.iat) > nowS + 1)
    return { status: 401, body: { error: "expired" } };
  const { repo, scopes, sub } = token.claims as { repo: string; scopes: string[]; sub: string };
  if (sub !== "@pierre/storage") return { status: 401, body: { error: "sub" } };
  if (method === "POST" && url === "/api/v1/repos") {
    if (!scopes.includes("repo:write")) return { status: 403, body: { error: "scope" } };
    if (repos.has(repo)) return { status: 409, body: { error: "repository already exists" } };
    const { default_branch } = body as { default_branch: string };
    repos.set(repo, { default_branch, created_at: "2026-11-22T10:00:00Z" });
    return { status: 201, body: { repo_id: repo } };
  }
  if (method !== "GET" || url !== "/api/v1/repo") return { status: 404, body: { error: "no such path" } };
  if (!scopes.includes("git:read")) return { status: 403, body: { error: "scope" } };
  const found = repos.get(repo);
  return found === undefined ? { status: 404, body: { error: "repository not found" } } : { status: 200, body: found };
}

describe("through a gateway", () => {
  const repos = new Map<string, object>();
  let vendor: VendorServer;
  let gateway: AcmeGateway;
  let [ada, eve]: TestAccount[] = [];
  let fault: number | "drop" | null = null;
  beforeAll(async () => {
    vendor = await startVendor();
    vendor.answers((response, request) => {
      const { status, body } = answer(repos, request);
      const does = fault;
      fault = null;
      if (does === "drop") return void response.socket?.destroy();
      response.writeHead(does ?? status, { "content-type": "application/json" });
      response.end(JSON.stringify(does === null ? body : { error: "played" }));
    });
    gateway = await startAcmeGateway({
      CODE_STORAGE_NAME: "acme",
      // In the form of a one-line variable.
      CODE_STORAGE_PRIVATE_KEY: PEM.trim().replaceAll("\n", "\\n"),
      CODESTORAGE_BASE_URL: vendor.url,
    });
    [ada, eve] = [await gateway.live({ creditCents: 2_000 }), await gateway.live({ creditCents: 2_000 })];
  });
  afterAll(async () => {
    await gateway.stop();
    await vendor.close();
  });

  async function run(account: TestAccount | undefined, name: string, params: object = {}) {
    if (account === undefined) throw new Error("no account");
    const { status, json, text } = await gateway.run(account, `codestorage/${name}`, params);
    return { status, text, error: json.error, data: json.data as Record<string, unknown>, cents: json.charged_cents };
  }

  it("is bought for a dollar, and told of for a cent with an address that is good for an hour", async () => {
    const made = await run(ada, "repo-create", { name: "notes" });
    expect(made).toMatchObject({ status: 200, cents: 100, data: { default_branch: "main" } });
    const id = String(made.data.id);
    expect(id).toMatch(/^notes-[0-9a-f]{16}$/);
    expect([...repos.keys()]).toEqual([id]);

    const got = await run(ada, "repo-get", { id });
    expect(got).toMatchObject({ cents: 1, data: { id, default_branch: "main", created_at: "2026-11-22T10:00:00Z" } });
    for (const { data } of [made, got]) {
      const { username, password, host, pathname } = new URL(String(data.clone_url));
      expect([username, host, pathname]).toEqual(["t", "acme.code.storage", `/${id}.git`]);
      const { claims } = tokenOf(password) ?? { claims: {} as Record<string, unknown> };
      expect(claims).toMatchObject({ iss: "acme", repo: id, scopes: ["git:read", "git:write"] });
      expect(Number(claims.exp) - Number(claims.iat)).toBe(3_600);
    }
  });

  it("is nobody else's, whatever it is called: two of one name are two", async () => {
    const [one, other] = [
      await run(ada, "repo-create", { name: "same" }),
      await run(eve, "repo-create", { name: "same" }),
    ];
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(one.data.id).not.toBe(other.data.id);
    vendor.asked.length = 0;
    expect(await run(eve, "repo-get", { id: one.data.id })).toMatchObject({ status: 404, cents: 0 });
    expect(vendor.asked).toEqual([]);
    expect((await run(ada, "repo-create")).data.id).toMatch(/^[0-9a-f]{24}$/);
  });

  it.each([
    [401, 503, "upstream_not_configured"],
    [409, 409, "upstream_rejected"],
    [500, 500, "upstream_error"],
    ["drop", 500, "upstream_error"],
  ] as const)("a vendor's %s is %d, and free", async (does, status, error) => {
    fault = does;
    vendor.asked.length = 0;
    expect(await run(ada, "repo-create", { name: "x" })).toMatchObject({ status, error, cents: 0 });
    expect(vendor.asked).toHaveLength(1);
    // A refused key is paused, and the next test needs it.
    if (does === 401) await gateway.reload();
  });

  it("one that the vendor has lost is a 404, free", async () => {
    const { data } = await run(ada, "repo-create");
    repos.delete(String(data.id));
    expect(await run(ada, "repo-get", { id: data.id })).toMatchObject({ status: 404, cents: 0 });
  });

  it("is played by the sandbox, with tokens that nobody takes", async () => {
    const play = await gateway.account();
    const made = await run(play, "repo-create", { name: "notes" });
    expect(made.data.clone_url).toMatch(/^https:\/\/t:[\w-]+\.[\w-]+\.[\w-]+@sandbox\.code\.storage\/notes-/);
    const [, jwt = ""] = /t:([^@]+)@/.exec(String(made.data.clone_url)) ?? [];
    expect(tokenOf(jwt)).toBeNull();
    expect((await run(play, "repo-get", { id: made.data.id })).data).toMatchObject({ id: made.data.id });
  });

  it("leaves the books in order, and neither key nor token in the log or an answer", async () => {
    expect(await gateway.doctor()).toEqual([]);
    const log = gateway.lines().join();
    for (const secret of ["PRIVATE KEY", PEM.split("\n")[1] ?? "", "eyJ"]) expect(log).not.toContain(secret);
  });
});

describe("what is set and asked", () => {
  it.each([
    "not a key",
    PEM.slice(0, 60),
    generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }),
  ])("a key that cannot sign stops the start with the name of its variable (%#)", async (key) => {
    const env = { CODE_STORAGE_NAME: "acme", CODE_STORAGE_PRIVATE_KEY: String(key) };
    const told = await shippedCatalog({ env }).catch((error: unknown) => String(error));
    expect(told).toContain("CODE_STORAGE_PRIVATE_KEY is not a private key of P-256 as PEM");
    expect(told).not.toContain(String(key).slice(0, 30));
  });

  it.each([
    ["repo-create", { name: "../other" }, "name"],
    ["repo-create", { name: "a.git" }, "name"],
    ["repo-create", { base_repo: "x" }, "base_repo"],
    ["repo-get", {}, "id"],
    ["repo-get", { id: "a/b" }, "id"],
  ])("%s %j is refused, naming %s", async (name, params, field) => {
    const read = catalog.action(`codestorage/${name}`, { sandbox: true })?.facts.params.safeParse(params);
    expect(read?.success).toBe(false);
    expect(JSON.stringify(read?.error?.issues)).toContain(`"${field}"`);
  });
});
