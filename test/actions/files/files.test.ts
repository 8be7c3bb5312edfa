// Files as callers see them, against a complete gateway: what the actions return and charge, and what the links deliver.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { type Answered, callerOf, type FilesCaller } from "./calling.ts";

const MIB = 1024 * 1024;

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "1000000" }));
const account = await gateway.account({ kind: "personal" });
const caller = callerOf(gateway, account);

async function balance({ key }: TestAccount): Promise<number> {
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { balance_cents: number }).balance_cents;
}

function filesOf(json: Answered["json"]): { filename: string }[] {
  return (json.data?.files ?? []) as { filename: string }[];
}

async function told(response: Response): Promise<[number, unknown]> {
  const text = await response.text();
  return [response.status, text.startsWith("{") ? (JSON.parse(text) as { error?: string }).error : text];
}

describe("an upload", () => {
  test("costs a cent, takes the raw bytes at put_url, and gives them back at get_url", async () => {
    const before = await balance(account);
    const params = {
      filename: "report.txt",
      size_bytes: 11,
      mime: "text/plain",
      tags: ["q3", "draft"],
      note: "for Ann",
    };
    const { status, json } = await caller.call("upload", params);
    expect([status, json.ok, json.charged_cents]).toEqual([200, true, 1]);
    const { put_url, get_url, file_id } = json.data as Record<string, string>;
    expect(new URL(put_url ?? "").origin).toBe(gateway.url);
    expect(await told(await fetch(get_url ?? ""))).toEqual([404, "not_found"]);

    const put = await fetch(put_url ?? "", { method: "PUT", body: "hello world" });
    expect([put.status, await put.json()]).toEqual([200, { ok: true, file_id, size_bytes: 11 }]);
    expect(await (await fetch(get_url ?? "")).text()).toBe("hello world");
    expect(before - (await balance(account))).toBe(1);
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/^tollgate_charged_usd_total\{.*asked="files\/upload",served="files\/upload".*\} 0\.01$/m);
  });

  test("is found again by get, free of charge, with a fresh link", async () => {
    const { file_id } = await caller.store({ filename: "a b.csv", mime: "text/csv", tags: ["t"], note: "n" }, "1,2");
    const before = await balance(account);
    const { json } = await caller.call("get", { file_id });
    expect(json).toMatchObject({ ok: true, charged_cents: 0 });
    const { get_url, created_at, ...rest } = json.data as Record<string, string>;
    expect(rest).toEqual({
      ...{ file_id, filename: "a b.csv", size_bytes: 3, mime: "text/csv", tags: ["t"], note: "n" },
      ...{ source: "upload", status: "stored" },
    });
    expect(Math.abs(Date.parse(created_at ?? "") - Date.now())).toBeLessThan(60_000);
    expect(await (await fetch(get_url ?? "")).text()).toBe("1,2");
    expect(await balance(account)).toBe(before);
  });

  test.each([
    ["too short", "123", false],
    ["too long", "123456", false],
    ["too short, in chunks", "123", true],
    ["too long, in chunks", "123456", true],
    ["empty", "", false],
  ])("whose body is %s is refused, leaves nothing, and can be sent again", async (_, body, chunked) => {
    const { put_url, get_url } = await caller.announce({ filename: "five", size_bytes: 5 });
    const stream = new Blob([body]).stream();
    const sent = chunked ? { body: stream, duplex: "half" as const } : { body };
    expect(await told(await fetch(put_url, { method: "PUT", ...sent }))).toEqual([400, "bad_request"]);
    expect(await told(await fetch(get_url))).toEqual([404, "not_found"]);
    expect((await fetch(put_url, { method: "PUT", body: "12345" })).status).toBe(200);
    expect(await (await fetch(get_url)).text()).toBe("12345");
  });

  test("may come in chunks of unknown length", async () => {
    const { put_url, get_url } = await caller.announce({ filename: "c", size_bytes: 5 });
    const body = new Blob(["12345"]).stream();
    expect((await fetch(put_url, { method: "PUT", body, duplex: "half" } as RequestInit)).status).toBe(200);
    expect(await (await fetch(get_url)).text()).toBe("12345");
  });

  test("cannot be replaced once it is there", async () => {
    const { put_url, get_url } = await caller.store({ filename: "once" }, "first");
    expect(await told(await fetch(put_url, { method: "PUT", body: "other" }))).toEqual([409, "conflict"]);
    expect(await (await fetch(get_url)).text()).toBe("first");
  });

  test.each([
    ["no filename", { size_bytes: 1 }],
    ["an empty filename", { filename: "", size_bytes: 1 }],
    ["a filename that leads elsewhere", { filename: "../x", size_bytes: 1 }],
    ["a filename of dots", { filename: "..", size_bytes: 1 }],
    ["a filename with a line break", { filename: "a\r\nset-cookie: x", size_bytes: 1 }],
    ["a filename that hides its ending", { filename: "a\u202egnp.exe", size_bytes: 1 }],
    ["a filename of 256 letters", { filename: "a".repeat(256), size_bytes: 1 }],
    ["no size", { filename: "a" }],
    ["no bytes", { filename: "a", size_bytes: 0 }],
    ["half a byte", { filename: "a", size_bytes: 1.5 }],
    ["more than 100 MB", { filename: "a", size_bytes: 100 * MIB + 1 }],
    ["eleven tags", { filename: "a", size_bytes: 1, tags: Array.from({ length: 11 }, String) }],
    ["a tag of 41 letters", { filename: "a", size_bytes: 1, tags: ["a".repeat(41)] }],
    ["a note of 501 letters", { filename: "a", size_bytes: 1, note: "a".repeat(501) }],
    ["a mime with a line break", { filename: "a", size_bytes: 1, mime: "text/plain\r\nx: y" }],
    ["a field that there is not", { filename: "a", size_bytes: 1, folder: "x" }],
  ])("with %s is refused and costs nothing", async (_, params) => {
    const before = await balance(account);
    const { status, json } = await caller.call("upload", params);
    expect([status, json.error]).toEqual([400, "bad_request"]);
    expect(await balance(account)).toBe(before);
  });

  test("goes up to every limit", async () => {
    const tags = Array.from({ length: 10 }, (_, at) => `${at}`.padEnd(40, "x"));
    const params = { filename: "ü".repeat(255), size_bytes: 100 * MIB, tags, note: "n".repeat(500) };
    const { status, json } = await caller.call("upload", params);
    expect(status).toBe(200);
    await caller.call("delete", { file_id: json.data?.file_id });
  });
});

describe("a file", () => {
  test("belongs to its payer: anybody else's id is 404", async () => {
    const { file_id, get_url } = await caller.store({ filename: "mine" }, "mine");
    const other = callerOf(gateway, await gateway.account({ kind: "personal" }));
    for (const action of ["get", "delete"]) {
      const { status, json } = await other.call(action, { file_id });
      expect([status, json.error, json.message]).toEqual([404, "not_found", "There is no such file."]);
    }
    expect((await other.call("list", {})).json.data).toEqual({ files: [], next_cursor: null });
    expect(await (await fetch(get_url)).text()).toBe("mine");
  });

  test("that was deleted is gone, with its bytes, for whoever has a link", async () => {
    const { file_id, get_url, put_url } = await caller.store({ filename: "short-lived" }, "gone");
    const { json } = await caller.call("delete", { file_id });
    expect(json).toMatchObject({ ok: true, charged_cents: 0, data: { file_id, deleted: true, freed_bytes: 4 } });
    expect(await told(await fetch(get_url))).toEqual([404, "not_found"]);
    expect(await told(await fetch(put_url, { method: "PUT", body: "back" }))).toEqual([404, "not_found"]);
    expect((await caller.call("delete", { file_id })).status).toBe(404);
    expect(existsSync(join(gateway.dataDir, "files", file_id.slice(5, 7), file_id))).toBe(false);
  });

  test("of no caller's name is looked for on the disk", async () => {
    for (const id of ["..%2f..%2fsigning.secret", "file_00000000000000000000000000000000"]) {
      const response = await fetch(`${gateway.url}/files/${id}?exp=9999999999&sig=x`);
      expect(await told(response)).toEqual([403, "link_invalid"]);
    }
    expect((await caller.call("get", { file_id: "../../tollgate.db" })).status).toBe(400);
  });
});

describe("the list", () => {
  let lister: FilesCaller;
  beforeAll(async () => {
    lister = callerOf(gateway, await gateway.account({ kind: "personal" }));
    for (let at = 0; at < 5; at++)
      await lister.store({ filename: `Photo ${at}.png`, tags: at % 2 === 0 ? ["even", "all"] : ["all"] }, "x");
    await lister.store({ filename: "notes.txt", tags: ["all"] }, "x");
    await lister.announce({ filename: "pending.png", size_bytes: 1 });
  });

  async function names(params: Record<string, unknown>): Promise<unknown[]> {
    const { json } = await lister.call("list", params);
    return filesOf(json).map(({ filename }) => filename);
  }

  test("has what was stored, newest first, and nothing that has not come", async () => {
    expect(await names({})).toEqual(["notes.txt", ...[4, 3, 2, 1, 0].map((at) => `Photo ${at}.png`)]);
  });

  test("is narrowed by tags, all of which must be there, and by a part of the name", async () => {
    expect(await names({ tags: ["even"] })).toEqual([4, 2, 0].map((at) => `Photo ${at}.png`));
    expect(await names({ tags: ["even", "all"], query: "photo 2" })).toEqual(["Photo 2.png"]);
    expect(await names({ tags: ["none"] })).toEqual([]);
    expect(await names({ query: ".TXT" })).toEqual(["notes.txt"]);
  });

  test("comes in pages, each file once", async () => {
    const seen: unknown[] = [];
    let cursor: unknown = null;
    do {
      const page = { limit: 2, query: "photo", ...(cursor === null ? {} : { cursor }) };
      const { json } = await lister.call("list", page);
      const found = filesOf(json);
      expect(found.length).toBeLessThanOrEqual(2);
      seen.push(...found.map(({ filename }) => filename));
      cursor = json.data?.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([4, 3, 2, 1, 0].map((at) => `Photo ${at}.png`));
  });

  test("costs nothing", async () => {
    expect((await lister.call("list", {})).json).toMatchObject({ ok: true, charged_cents: 0 });
  });
});

describe("the room of an account", () => {
  test("is 2 GB with all that is still to come, however many ask at once", async () => {
    const hoarder = callerOf(gateway, await gateway.account({ kind: "personal" }));
    const all = await Promise.all(
      Array.from({ length: 40 }, () => hoarder.call("upload", { filename: "big", size_bytes: 100 * MIB })),
    );
    const taken = all.filter(({ status }) => status === 200);
    expect(taken).toHaveLength(20);
    const refused = all.find(({ status }) => status !== 200);
    expect([refused?.status, refused?.json.error]).toEqual([413, "storage_quota_exceeded"]);
    expect(refused?.json.data).toMatchObject({ quota_bytes: 2048 * MIB, needed_bytes: 100 * MIB });
    // 48 MiB are free, and deleting a file frees its full size.
    expect((await hoarder.call("upload", { filename: "rest", size_bytes: 49 * MIB })).status).toBe(413);
    expect((await hoarder.call("upload", { filename: "rest", size_bytes: 48 * MIB })).status).toBe(200);
    expect((await hoarder.call("upload", { filename: "one more", size_bytes: 1 })).status).toBe(413);
    await hoarder.call("delete", { file_id: taken[0]?.json.data?.file_id });
    expect((await hoarder.call("upload", { filename: "again", size_bytes: 100 * MIB })).status).toBe(200);
    expect((await hoarder.call("upload", { filename: "one more", size_bytes: 1 })).status).toBe(413);
  });

  test("is not given twice, whatever is taken and given back at once", async () => {
    const hoarder = callerOf(gateway, await gateway.account({ kind: "personal" }));
    const upload = () => hoarder.call("upload", { filename: "big", size_bytes: 100 * MIB });
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let round = 0; round < 4; round++) {
          const { json } = await upload();
          if (json.ok) await hoarder.call("delete", { file_id: json.data?.file_id });
        }
      }),
    );
    const after = await Promise.all(Array.from({ length: 24 }, upload));
    expect(after.filter(({ status }) => status === 200)).toHaveLength(20);
  });
});

describe("the secret that signs", () => {
  test("lies in the data folder, for the gateway's own user alone", () => {
    const file = join(gateway.dataDir, "signing.secret");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8").trim()).toMatch(/^[\w-]{43}$/);
    expect(readdirSync(gateway.dataDir).filter((name) => name.endsWith(".new"))).toEqual([]);
  });
});
