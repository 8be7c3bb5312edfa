// Name resolution over UDP: the name server's answers, unknown names, and a server that does not answer.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { createResolveName, type ResolveName } from "../../src/upstream/public-addresses.ts";
import { createPublicFetch } from "../../src/upstream/public-fetch.ts";

const A = 1;
const OK = 0;
const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;

/** Addresses by `name type`, as bytes; a number is an error code; null: no answer. */
type Zone = Record<string, readonly (readonly number[])[] | number | null>;

let zone: Zone;
let asked: string[];
let server: Socket;
let resolve: ResolveName;

/** The name in a question, and where it ends (RFC 1035, section 4.1.2). */
function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 5 };
}

function answerTo(query: Buffer, code: number, type: number, addresses: readonly (readonly number[])[]): Buffer {
  const { end } = questionOf(query);
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.fill(0, 8, 12);
  // 0xc00c is a pointer to the name in the question; class IN, a TTL of one minute.
  const rows = addresses.map((bytes) => Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]));
  return Buffer.concat([head, query.subarray(12, end), ...rows]);
}

beforeEach(async () => {
  zone = {};
  asked = [];
  server = createSocket("udp4");
  server.on("message", (query, from) => {
    const { name, end } = questionOf(query);
    const type = query.readUInt16BE(end - 4);
    const key = `${name} ${type === A ? "A" : "AAAA"}`;
    asked.push(key);
    const found = zone[key] === undefined ? NO_SUCH_NAME : zone[key];
    if (found === null) return;
    const [code, addresses] = typeof found === "number" ? [found, []] : [OK, found];
    server.send(answerTo(query, code, type, addresses), from.port, from.address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  resolve = createResolveName([`127.0.0.1:${server.address().port}`]);
});
afterEach(() => server.close());

const IPV6 = [0x26, 0x06, 0x47, 0, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11];
const ALWAYS = new AbortController().signal;

describe("a name", () => {
  it("has all its addresses of both kinds, and is asked for as it is written", async () => {
    zone = {
      "files.example A": [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
      "files.example AAAA": [IPV6],
    };
    expect(await resolve("files.example", ALWAYS)).toEqual(["1.2.3.4", "5.6.7.8", "2606:4700:4700::1111"]);
    expect(asked.sort()).toEqual(["files.example A", "files.example AAAA"]);
  });

  it("may have addresses of one kind only, whatever becomes of the other", async () => {
    zone = { "a.example A": [[1, 2, 3, 4]], "b.example AAAA": [IPV6], "b.example A": SERVER_FAILURE };
    expect(await resolve("a.example", ALWAYS)).toEqual(["1.2.3.4"]);
    expect(await resolve("b.example", ALWAYS)).toEqual(["2606:4700:4700::1111"]);
  });

  it("that does not exist, or has no address, has none", async () => {
    zone = { "empty.example A": [], "empty.example AAAA": [] };
    expect(await resolve("no.example", ALWAYS)).toEqual([]);
    expect(await resolve("empty.example", ALWAYS)).toEqual([]);
    expect(await resolve("-._.example", ALWAYS)).toEqual([]);
  });

  it("that nobody can tell about is an error", async () => {
    zone = { "broken.example A": SERVER_FAILURE, "broken.example AAAA": SERVER_FAILURE };
    await expect(resolve("broken.example", ALWAYS)).rejects.toMatchObject({ code: "ESERVFAIL" });
  });

  it("whose servers say nothing is waited for no longer than the call may take", async () => {
    zone = { "silent.example A": null, "silent.example AAAA": null };
    const fetch = createPublicFetch({ resolve });
    const resolved = resolve("silent.example", ALWAYS).catch(() => "the name's own time");
    const result = await Promise.race([fetch.open("http://silent.example/", { bytesMax: 1, msMax: 100 }), resolved]);
    expect(result).toBeInstanceOf(GatewayError);
    expect((result as GatewayError).message).toMatch(/took longer than 0\.1 seconds$/);
  });

  it("that leads inside is refused by what it leads to", async () => {
    zone = { "inner.example A": [[127, 0, 0, 1]], "inner.example AAAA": [IPV6] };
    const result = await createPublicFetch({ resolve }).open("http://inner.example/", { bytesMax: 1, msMax: 1_000 });
    expect(result).toMatchObject({ code: "bad_url", message: "The URL does not lead to a public address." });
  });
});
