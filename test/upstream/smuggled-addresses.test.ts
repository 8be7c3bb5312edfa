// Attempts to make us call an internal server: each is refused as `bad_url`, and none opens a connection.
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Outside, outcome, redirect, startOutside, told } from "./outside.ts";

let outside: Outside;
beforeAll(async () => {
  outside = await startOutside({ ownAddresses: () => ["93.184.215.14"] });
});
afterAll(() => outside.close());
beforeEach(() => {
  outside.names = { "files.example": ["127.0.0.2"] };
});

const NOT_PUBLIC = "The URL does not lead to a public address.";

/** Hosts. The port behind each is the inner server's, and is allowed. */
const HOSTS = `
  127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 017700000001 0x7f000001 0x7f.0.0.1 0177.0.0.1 0177.0.0.01
  0x7f.1 0X7F.0X0.0X0.0X1 127.0.0.1. 127.1. 127.0.0.1.. 0 0.0.0.0 0.1.2.3 １２７.０.０.１ 127。0。0。1 ①②⑦.⓪.⓪.①
  %31%32%37.0.0.1 127%2e0%2e0%2e1 localhost LOCALHOST localhost. ⓛocalhost loc­alhost anything.localhost
  localhost.localdomain.local 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.100.100.200
  169.254.169.254 2852039166 169.254.170.2 168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.7
  203.0.113.9 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 metadata.google.internal
  METADATA.Google.Internal. metadata printer.lan 1.0.0.127.in-addr.arpa [::1] [0:0:0:0:0:0:0:1] [::]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:A9FE:A9FE] [::127.0.0.1] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1]
  [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001:0:4136:e378:8000:63bf:80ff:fffe] [fe80::1]
  [fec0::1] [fc00::1] [fd00:ec2::254] [fd20:ce::254] [ff02::1] [100::1] [2001:db8::1] [3fff::1] [5f00::1]
`
  .trim()
  .split(/\s+/);

/** A name server's answers. The first is a rebinding server's: one address to pass the check, one for the connection. */
const RESOLVED: readonly (readonly string[])[] = [
  ["127.0.0.2", "127.0.0.1"],
  ["127.0.0.1", "127.0.0.2"],
  ["127.0.0.1"],
  ["169.254.169.254"],
  ["::1"],
  ["::ffff:127.0.0.1"],
  ["::ffff:7f00:1"],
  ["64:ff9b::7f00:1"],
  ["fe80::1%lo"],
  ["0177.0.0.1"],
  ["2130706433"],
  ["localhost"],
  [""],
  [],
  // This machine's own address, though public: servers that listen there may trust it.
  ["93.184.215.14"],
];

async function expectRefusal(url: string, message: string): Promise<void> {
  const dialled = outside.dialled();
  const result = await outcome(await outside.open(url));
  expect(told(result)).toEqual({ status: 400, code: "bad_url", message });
  expect(outside.dialled() - dialled).toBe(0);
  expect(outside.innerConnections()).toBe(0);
}

describe("an address that is not public", () => {
  it("is there to be found: what the hosts below mean does listen", async () => {
    const direct = await fetch(`http://127.0.0.1:${outside.port}/`);
    await direct.text();
    expect(outside.innerConnections()).toBe(1);
    await outside.close();
    outside = await startOutside({ ownAddresses: () => ["93.184.215.14"] });
  });

  it.each(HOSTS)("http://%s/ is refused", (host) => expectRefusal(`http://${host}:${outside.port}/`, NOT_PUBLIC));

  it.each(HOSTS)("https://%s/ is refused", (host) => expectRefusal(`https://${host}/`, NOT_PUBLIC));

  it.each(RESOLVED)("a name that means %s %s is refused", async (...addresses: readonly string[]) => {
    outside.names["evil.example"] = addresses;
    await expectRefusal(outside.url("/", "evil.example"), NOT_PUBLIC);
  });

  it.each(["metadata.google.internal", "anything.localhost", "printer.lan", "intranet", "nas.home.arpa"])(
    "%s is an inner name, whatever the name servers say",
    async (name) => {
      outside.names[name] = ["127.0.0.2"];
      await expectRefusal(outside.url("/", name), NOT_PUBLIC);
    },
  );

  it.each(HOSTS)("a redirect to http://%s/ is refused", async (host) => {
    outside.play = (socket) => redirect(socket, `http://${host}:${outside.port}/latest/meta-data`);
    const result = await outcome(await outside.open(outside.url("/")));
    expect(told(result)).toMatchObject({
      code: "bad_url",
      message: `The URL redirects to one that ${NOT_PUBLIC.slice(8)}`,
    });
    expect(outside.innerConnections()).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])("a redirect by %d and a scheme-relative address is refused", async (status) => {
    outside.play = (socket) => redirect(socket, `//127.0.0.1:${outside.port}/`, status);
    const result = await outcome(await outside.open(outside.url("/")));
    expect(told(result).code).toBe("bad_url");
    expect(outside.innerConnections()).toBe(0);
  });

  it("is refused at the third hop as at the first", async () => {
    outside.play = (socket, path) => {
      const next: Record<string, string> = { "/": "/a", "/a": "/b", "/b": `http://[::1]:${outside.port}/` };
      redirect(socket, next[path] ?? "/");
    };
    const result = await outcome(await outside.open(outside.url("/")));
    expect(told(result).code).toBe("bad_url");
    expect(outside.innerConnections()).toBe(0);
  });

  it("is not reached by a name that means it from the second question on", async () => {
    let asked = 0;
    outside.names["rebind.example"] = () => [asked++ === 0 ? "127.0.0.2" : "127.0.0.1"];
    outside.play = (socket) => redirect(socket, outside.url("/again", "rebind.example"));
    const result = await outcome(await outside.open(outside.url("/", "rebind.example")));
    // The first answer was used for one connection; the redirect made us resolve again, and that answer was refused.
    expect(told(result).code).toBe("bad_url");
    expect(asked).toBe(2);
    expect(outside.innerConnections()).toBe(0);
  });

  it("is not asked by way of the proxy that the environment names", async () => {
    const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY"];
    for (const name of names) vi.stubEnv(name, `http://127.0.0.1:${outside.port}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    outside.play = (socket) => socket.end("HTTP/1.1 204 Said\r\n\r\n");
    const result = await outcome(await outside.open(outside.url("/")));
    expect(result).toEqual(Buffer.alloc(0));
    expect(outside.innerConnections()).toBe(0);
  });
});

describe("a URL that hides where it leads", () => {
  it.each([
    ["http://files.example@127.0.0.1/", "has a user name or a password in it"],
    ["http://127.0.0.1:80@files.example/", "has a user name or a password in it"],
    ["http://:secret@files.example/", "has a user name or a password in it"],
    ["http://127.0.0.1#@files.example/", "does not lead to a public address"],
    ["http://127.0.0.1?@files.example/", "does not lead to a public address"],
    ["http://127.0.0.1\\@files.example/", "has blanks, control characters or backslashes in it"],
    ["http:\\\\127.0.0.1\\", "has blanks, control characters or backslashes in it"],
    ["http://127.0.0\t.1/", "has blanks, control characters or backslashes in it"],
    ["http://127.0.0.1\r\nhost: files.example/", "has blanks, control characters or backslashes in it"],
    [" http://127.0.0.1/", "has blanks, control characters or backslashes in it"],
    ["http://files.example\u0000.127.0.0.1/", "has blanks, control characters or backslashes in it"],
    ["http:127.0.0.1/", "is not an http or https URL"],
    ["http:/127.0.0.1/", "is not an http or https URL"],
    ["http:///127.0.0.1/", "is not an http or https URL"],
    ["//127.0.0.1/", "is not an http or https URL"],
    ["127.0.0.1", "is not an http or https URL"],
    ["", "is not an http or https URL"],
    ["file:///etc/passwd", "is not an http or https URL"],
    ["ftp://127.0.0.1/", "is not an http or https URL"],
    ["gopher://127.0.0.1:25/_", "is not an http or https URL"],
    ["data:text/plain,hello", "is not an http or https URL"],
    ["view-source:http://127.0.0.1/", "is not an http or https URL"],
    ["http://[fe80::1%25lo]/", "is not a URL"],
    ["http://[::1/", "is not a URL"],
    ["http://1.2.3.4.5/", "is not a URL"],
    ["http://256.0.0.1/", "is not a URL"],
    ["http://a b/", "has blanks, control characters or backslashes in it"],
    ["http://files.example:22/", "has a port other than 80 for http and 443 for https"],
    ["http://files.example:443/", "has a port other than 80 for http and 443 for https"],
    ["https://files.example:6379/", "has a port other than 80 for http and 443 for https"],
    ["http://files.example:0/", "has a port other than 80 for http and 443 for https"],
    ["http://files.example:65536/", "is not a URL"],
    [`http://files.example/${"a".repeat(2_040)}`, "is longer than 2048 characters"],
    [`http://files.example/${"é".repeat(1_000)}`, "is longer than 2048 characters"],
  ])("%j: %s", (url, fault) => expectRefusal(url, `The URL ${fault}.`));

  it.each([
    ["ftp://files.example/", "is not an http or https URL"],
    ["file:///etc/passwd", "is not an http or https URL"],
    ["javascript:alert(1)", "is not an http or https URL"],
    ["http://user@files.example/", "has a user name or a password in it"],
    ["http://files.example:22/", "has a port other than 80 for http and 443 for https"],
    ["http://[::1", "is not a URL"],
  ])("as a redirect %j: %s", async (location, fault) => {
    outside.play = (socket) => redirect(socket, location);
    const result = await outcome(await outside.open(outside.url("/")));
    expect(told(result)).toMatchObject({ code: "bad_url", message: `The URL redirects to one that ${fault}.` });
  });
});
