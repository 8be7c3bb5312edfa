// Signed links: who may use them, for how long, and how a file is sent.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attachment, byteRange, safeMime } from "../../../src/actions/files/file-endpoints.ts";
import { type LinkMethod, signedPath } from "../../../src/actions/files/signed-links.ts";
import { eventually, startTestGateway, type TestGateway, withinAMinute } from "../../support/gateway.ts";
import { callerOf, type FilesCaller } from "./calling.ts";

const TEXT = "0123456789abcdefghij";
let gateway: TestGateway;
let caller: FilesCaller;
let file: { file_id: string; put_url: string; get_url: string };
let other: typeof file;

beforeAll(async () => {
  gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "1000000" });
  caller = callerOf(gateway, await gateway.account({ kind: "personal" }));
  file = await caller.store({ filename: 'no"quotes".txt', mime: "text/plain; charset=utf-8" }, TEXT);
  other = await caller.store({ filename: "other.txt" }, TEXT);
});
afterAll(() => gateway.stop());

async function fetched(url: string, init: RequestInit = {}) {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function errorOf(text: string): unknown {
  return (JSON.parse(text) as { error: unknown }).error;
}

/** A link as this gateway signs it. */
function linkFor(method: LinkMethod, id: string, secondsFromNow: number): string {
  const secret = readFileSync(join(gateway.dataDir, "signing.secret"), "utf8").trim();
  const expiresAt = Math.floor(Date.now() / 1_000) + secondsFromNow;
  return `${gateway.url}${signedPath(secret, { method, id, expiresAt })}`;
}

describe("a link", () => {
  test("lives for an hour, no longer and not much less", () => {
    for (const url of [file.get_url, file.put_url]) {
      const seconds = Number(new URL(url).searchParams.get("exp")) - Date.now() / 1_000;
      expect(seconds).toBeGreaterThan(3_500);
      expect(seconds).toBeLessThanOrEqual(3_601);
    }
  });

  test.each([
    [
      "whose end was put off",
      (url: URL) => url.searchParams.set("exp", String(Number(url.searchParams.get("exp")) + 1)),
    ],
    ["whose end is written otherwise", (url: URL) => url.searchParams.set("exp", `0${url.searchParams.get("exp")}`)],
    ["whose signature has another letter", (url: URL) => url.searchParams.set("sig", flipped(url))],
    ["whose signature is cut short", (url: URL) => url.searchParams.set("sig", "AA")],
    ["without a signature", (url: URL) => url.searchParams.delete("sig")],
    ["without an end", (url: URL) => url.searchParams.delete("exp")],
    ["for another file", (url: URL) => (url.pathname = `/files/${other.file_id}`)],
  ])("%s is 403", async (_, change) => {
    const url = new URL(file.get_url);
    change(url);
    const { status, text } = await fetched(url.href);
    expect([status, errorOf(text)]).toEqual([403, "link_invalid"]);
  });

  test.each(["=", "=x", "=&x", "!", "%0A", "."])(
    "a signature opens its link only as it was written: not with %s behind it",
    async (junk) => {
      const { status, text } = await fetched(`${file.get_url}${junk}`);
      expect([status, errorOf(text)]).toEqual([403, "link_invalid"]);
    },
  );

  test("a signature of other letters for the same bytes opens nothing", async () => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = letters.indexOf(file.get_url.at(-1) ?? "");
    // Two bits of the last letter have no meaning.
    const twin = `${file.get_url.slice(0, -1)}${letters[last ^ 1]}`;
    expect(Buffer.from(new URL(twin).searchParams.get("sig") ?? "", "base64url")).toEqual(
      Buffer.from(new URL(file.get_url).searchParams.get("sig") ?? "", "base64url"),
    );
    expect((await fetched(twin)).status).toBe(403);
    expect((await fetched(file.get_url)).status).toBe(200);
  });

  test("is for its method alone", async () => {
    const other = await caller.announce({ filename: "other", size_bytes: 2 });
    const asPut = await fetched(other.get_url, { method: "PUT", body: "no" });
    expect([asPut.status, errorOf(asPut.text)]).toEqual([403, "link_invalid"]);
    const asGet = await fetched(file.put_url);
    expect([asGet.status, errorOf(asGet.text)]).toEqual([403, "link_invalid"]);
    expect((await fetched(file.get_url, { method: "DELETE" })).status).toBe(405);
  });

  test("is 403 once its hour is over, and says so", async () => {
    for (const [method, init] of [
      ["GET", {}],
      ["PUT", { method: "PUT", body: TEXT }],
    ] as const) {
      const { status, text } = await fetched(linkFor(method, file.file_id, -1), init);
      expect([status, errorOf(text)]).toEqual([403, "link_invalid"]);
      expect(text).toContain("expired");
    }
    expect((await fetched(linkFor("GET", file.file_id, 5))).status).toBe(200);
  });

  test("to a file that there is not is 404", async () => {
    const { status, text } = await fetched(linkFor("GET", `file_${"0".repeat(32)}`, 60));
    expect([status, errorOf(text)]).toEqual([404, "not_found"]);
  });

  function flipped(url: URL): string {
    const sig = url.searchParams.get("sig") ?? "";
    return `${sig.startsWith("A") ? "B" : "A"}${sig.slice(1)}`;
  }
});

describe("a download", () => {
  test("is to be saved, not shown, and nothing in it may run", async () => {
    const { status, headers, text } = await fetched(file.get_url);
    expect([status, text]).toEqual([200, TEXT]);
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(headers.get("content-length")).toBe(String(TEXT.length));
    expect(headers.get("content-disposition")).toBe(attachment('no"quotes".txt'));
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*sandbox/);
    expect(headers.get("accept-ranges")).toBe("bytes");
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(headers.get("ratelimit-remaining")).not.toBeNull();
  });

  test.each(["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "text/javascript"])(
    "of %s does not say so",
    async (mime) => {
      const { get_url } = await caller.store({ filename: "page", mime }, "<script>alert(1)</script>");
      expect((await fetched(get_url)).headers.get("content-type")).toBe("application/octet-stream");
    },
  );

  test.each([
    ["bytes=2-4", "234", "bytes 2-4/20"],
    ["bytes=15-", "fghij", "bytes 15-19/20"],
    ["bytes=-3", "hij", "bytes 17-19/20"],
    ["bytes=18-500", "ij", "bytes 18-19/20"],
    ["bytes=-500", TEXT, "bytes 0-19/20"],
    ["bytes=0-0", "0", "bytes 0-0/20"],
  ])("of %s is that part", async (range, part, told) => {
    const { status, headers, text } = await fetched(file.get_url, { headers: { range } });
    expect([status, text, headers.get("content-range")]).toEqual([206, part, told]);
    expect(headers.get("content-length")).toBe(String(part.length));
  });

  test.each(["bytes=20-", "bytes=100-200", "bytes=-0"])("of %s is 416, with the length", async (range) => {
    const { status, headers } = await fetched(file.get_url, { headers: { range } });
    expect([status, headers.get("content-range")]).toEqual([416, "bytes */20"]);
  });

  test.each(["bytes=4-2", "bytes=a-b", "bytes=-", "lines=1-2", "bytes=0-1,4-5"])(
    "of %s, which is none or several, is the whole",
    async (range) => {
      const { status, text } = await fetched(file.get_url, { headers: { range } });
      expect([status, text]).toEqual([200, TEXT]);
    },
  );

  test("is not sent again to who has it, and goes on where it broke off only in the same file", async () => {
    const etag = (await fetched(file.get_url)).headers.get("etag") ?? "";
    const again = await fetched(file.get_url, { headers: { "if-none-match": `"x", ${etag}` } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const same = await fetched(file.get_url, { headers: { range: "bytes=18-", "if-range": etag } });
    expect([same.status, same.text]).toEqual([206, "ij"]);
    const other = await fetched(file.get_url, { headers: { range: "bytes=18-", "if-range": '"x"' } });
    expect([other.status, other.text]).toEqual([200, TEXT]);
  });

  test("is described to a HEAD", async () => {
    const { status, headers, text } = await fetched(file.get_url, { method: "HEAD" });
    expect([status, text, headers.get("content-length")]).toEqual([200, "", String(TEXT.length)]);
  });

  test("and an upload are in the log with their bytes, and without their links", async () => {
    const response = await fetch(file.get_url);
    await response.text();
    const record = await gateway.record(response.headers.get("x-request-id"));
    expect(record).toMatchObject({ endpoint: "/files/{id}", status: 200 });
    expect(JSON.stringify(record)).not.toContain(new URL(file.get_url).searchParams.get("sig"));
    const { put_url } = await caller.announce({ filename: "logged", size_bytes: 5 });
    const put = await fetch(put_url, { method: "PUT", body: "12345" });
    expect(await gateway.record(put.headers.get("x-request-id"))).toMatchObject({ status: 200, bytes_in: 5 });
  });

  test("counts against the address that asks", async () => {
    const strict = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "3" });
    const link = (
      await callerOf(strict, await strict.account({ kind: "personal" })).announce({
        ...{ filename: "a", size_bytes: 1 },
      })
    ).get_url;
    const last = await withinAMinute(async () => {
      let status = 0;
      for (let at = 0; at < 5; at++) ({ status } = await fetched(link));
      return status;
    });
    expect(last).toBe(429);
    await strict.stop();
  });
});

describe("an upload that breaks off", () => {
  test("leaves nothing, on the disk or in the list, and may be sent again", async () => {
    const { file_id, put_url, get_url } = await caller.announce({ filename: "broken", size_bytes: 8_000_000 });
    const leaving = new AbortController();
    async function* half(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(3_000_000);
      leaving.abort();
      yield Buffer.alloc(1);
    }
    const options = { method: "PUT", body: half(), duplex: "half", signal: leaving.signal };
    await expect(fetch(put_url, options as unknown as RequestInit)).rejects.toThrow();
    // Its space can be used again as soon as the gateway notices that the sender has disconnected.
    const again = await eventually(async () => {
      const response = await fetch(put_url, { method: "PUT", body: Buffer.alloc(8_000_000, 7) });
      return response.status === 409 ? undefined : response;
    }, "the second try");
    expect(again.status).toBe(200);
    expect(Buffer.from(await (await fetch(get_url)).arrayBuffer()).equals(Buffer.alloc(8_000_000, 7))).toBe(true);
    expect((await caller.call("get", { file_id })).json.data).toMatchObject({
      status: "stored",
      size_bytes: 8_000_000,
    });
  });

  test("is one at a time", async () => {
    const { put_url } = await caller.announce({ filename: "twice", size_bytes: 10 });
    const going = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("01234");
      begun.resolve();
      await going.promise;
      yield Buffer.from("56789");
    }
    const first = fetch(put_url, { method: "PUT", body: slowly(), duplex: "half" } as unknown as RequestInit);
    await begun.promise;
    await eventually(async () => {
      const { status } = await fetched(put_url, { method: "PUT", body: "x" });
      return status === 409 ? status : undefined;
    }, "the refusal of a second upload beside the first");
    going.resolve();
    expect((await first).status).toBe(200);
  });
});

describe("headers", () => {
  test.each([
    ["plain.txt", 'attachment; filename="plain.txt"'],
    ["näme.txt", "attachment; filename=\"n_me.txt\"; filename*=UTF-8''n%C3%A4me.txt"],
    ['a"b\\c%d', "attachment; filename=\"a_b_c_d\"; filename*=UTF-8''a%22b%5Cc%25d"],
    ["it's (1)*.txt", 'attachment; filename="it\'s (1)*.txt"'],
  ])("say that a file is called %s", (filename, header) => {
    expect(attachment(filename)).toBe(header);
  });

  test.each([
    ["image/png", "image/png"],
    ["application/pdf", "application/pdf"],
    ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", null],
    ["text/html; charset=utf-8", "application/octet-stream"],
    ["TEXT/HTML", "application/octet-stream"],
    ["application/rss+xml", "application/octet-stream"],
    ["application/javascript", "application/octet-stream"],
  ])("of %s", (mime, told) => expect(safeMime(mime)).toBe(told ?? mime));

  test("of a range are read as they are meant", () => {
    expect(byteRange(undefined, 10)).toBeNull();
    expect(byteRange("bytes=0-", 10)).toEqual({ from: 0, to: 9 });
    expect(byteRange("bytes=-1", 0)).toBe("unsatisfiable");
  });
});

test("a link that the secret before this one has signed is good, one of another secret is not", async () => {
  const [fresh, old] = ["the-secret-of-today", "the-secret-of-yesterday"];
  const rotated = await startTestGateway({ SIGNING_SECRET: `${fresh},${old}` });
  const account = await rotated.account({ kind: "personal" });
  const own = await callerOf(rotated, account).store({ filename: "a.txt" }, TEXT);
  const expiresAt = Math.floor(Date.now() / 1_000) + 60;
  const link = (secret: string) => rotated.url + signedPath(secret, { method: "GET", id: own.file_id, expiresAt });
  const seen = await Promise.all(
    [own.get_url, link(old), link("the-secret-of-others"), link("")].map((url) => fetched(url)),
  );
  expect(seen.map(({ status }) => status)).toEqual([200, 200, 403, 403]);
  const signed = Number(new URL(own.get_url).searchParams.get("exp"));
  const { json } = await rotated.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  const [{ id, hint: stamp } = { id: "", hint: "" }] = json.keys as { id: string; hint: string }[];
  const path = signedPath(fresh, { method: "GET", id: own.file_id, expiresAt: signed, key: { id, stamp } });
  expect(own.get_url).toBe(`${rotated.url}${path}`);
  await rotated.stop();
});
