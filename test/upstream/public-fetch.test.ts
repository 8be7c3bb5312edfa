// Fetching an address that a caller supplied: what the caller gets when the server is good, odd, slow, broken or hostile.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPublicFetch } from "../../src/upstream/public-fetch.ts";
import { answered, BYTES_MAX, head, type Outside, outcome, redirect, say, startOutside, told } from "./outside.ts";

/** Turns of the event loop: far more than a closed connection needs, and far shorter than an idle one is kept. */
const TURNS_MAX = 2_000;

let outside: Outside;
beforeEach(async () => {
  outside = await startOutside();
});
afterEach(() => outside.close());

const TEXT = "How much a page can say, it says more than once. ".repeat(40);
const TOO_LARGE = {
  status: 400,
  code: "bad_url",
  message: `The URL serves more than the ${BYTES_MAX} bytes that are taken here.`,
};

function trouble(words: string) {
  const message = `No provider could answer: the server of the URL ${words}`;
  return { status: 500, code: "upstream_error", message };
}

/** Writes the same bytes until the other side closes. */
function forever(socket: Socket, bytes: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes)) {}
  };
  socket.on("drain", more);
  more();
}

async function fetched(url = outside.url("/")) {
  return outcome(await outside.open(url));
}

describe("a connection that has answered whole", () => {
  const staying: typeof outside.play = (socket) =>
    socket.write(`${head(200, { connection: "keep-alive", "content-length": "5" })}hello`);

  beforeEach(() => {
    outside.play = staying;
  });

  it("serves the next page of its origin", async () => {
    expect(String(await fetched())).toBe("hello");
    expect(String(await fetched(outside.url("/next")))).toBe("hello");
    expect(outside.dialled()).toBe(1);
    expect(String(await fetched(outside.url("/next", "FILES.example.")))).toBe("hello");
    outside.names["other.example"] = ["127.0.0.2"];
    expect(String(await fetched(outside.url("/", "other.example")))).toBe("hello");
    expect(outside.dialled()).toBe(2);
  });

  it("serves what may be longer, as a page after the robots.txt of its host", async () => {
    const small = answered(await outside.open(outside.url("/robots.txt"), { bytesMax: 5 }));
    expect(String(await outcome(small))).toBe("hello");
    expect(String(await fetched())).toBe("hello");
    expect(outside.dialled()).toBe(1);
  });

  it("serves nobody once its name leads elsewhere", async () => {
    expect(String(await fetched())).toBe("hello");
    outside.names["files.example"] = ["127.0.0.1"];
    expect(told(await outside.open(outside.url("/next"))).code).toBe("bad_url");
    expect(outside.heads).toHaveLength(1);
  });

  it("is not what something is sent over", async () => {
    expect(String(await fetched())).toBe("hello");
    const send = { headers: {}, body: "{}" };
    expect(String(await outcome(await outside.open(outside.url("/"), { send })))).toBe("hello");
    expect(outside.dialled()).toBe(2);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["closes it", (socket) => socket.destroy()],
    ["resets it", (socket) => socket.resetAndDestroy()],
    ["waits no longer", (socket) => socket.end(head(408, { "content-length": "0" }))],
  ])("is replaced, unseen, where its server %s at that moment", async (_, leave) => {
    expect(String(await fetched())).toBe("hello");
    outside.play = (socket) => {
      outside.play = staying;
      leave(socket);
    };
    expect(String(await fetched(outside.url("/next")))).toBe("hello");
    expect(outside.heads).toHaveLength(3);
    expect(outside.dialled()).toBe(2);
  });
});

describe("a good answer", () => {
  it("brings status, headers and body, and says where it came from", async () => {
    outside.play = (socket) => say(socket, { "content-type": "text/plain", "X-Two": "b" }, TEXT);
    const answer = answered(await outside.open(outside.url("/page?q=%20a#part")));
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ "content-type": "text/plain", "x-two": "b", "content-length": "1960" });
    expect(answer.finalUrl).toBe(outside.url("/page?q=%20a"));
    expect(String(await outcome(answer))).toBe(TEXT);
    expect(outside.heads[0]).toMatch(/^GET \/page\?q=%20a HTTP\/1.1\r\nhost: files\.example:\d+\r\n/);
    expect(outside.heads[0]).not.toMatch(/cookie|authorization|referer/i);
  });

  it("keeps the status of an error page", async () => {
    outside.play = (socket) => socket.end(`${head(404, { "content-length": "4" })}gone`);
    expect(answered(await outside.open(outside.url("/"))).status).toBe(404);
  });

  it("is found under a name in any script", async () => {
    outside.names["xn--bcher-kva.example"] = ["127.0.0.2"];
    const answer = answered(await outside.open(outside.url("/", "BÜCHER.example.")));
    expect(answer.finalUrl).toBe(outside.url("/", "xn--bcher-kva.example"));
    expect(String(await outcome(answer))).toBe("hello");
  });

  it.each([
    ["gzip", gzipSync(TEXT)],
    ["x-gzip", gzipSync(TEXT)],
    ["GZIP", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
    ["identity", Buffer.from(TEXT)],
    ["", Buffer.from(TEXT)],
  ])("is decoded from %j", async (encoding, body) => {
    outside.play = (socket) => say(socket, { "content-encoding": encoding }, body);
    const answer = answered(await outside.open(outside.url("/")));
    expect(answer.headers).not.toHaveProperty("content-encoding");
    expect(answer.headers["content-length"]).toBe(encoding.length > 0 && encoding !== "identity" ? undefined : "1960");
    expect(String(await outcome(answer))).toBe(TEXT);
  });

  it("may be exactly as large as is taken", async () => {
    outside.play = (socket) => say(socket, {}, Buffer.alloc(BYTES_MAX));
    expect((await fetched()) as Buffer).toHaveLength(BYTES_MAX);
  });

  it("leaves nothing open once its connection has served no other page for seconds", async () => {
    outside.play = (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    expect(String(await fetched())).toBe("hello");
    await outside.lastClosed();
  });

  it("leaves nothing open once the gateway ends", async () => {
    outside.play = (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    expect(String(await fetched())).toBe("hello");
    outside.fetch.close();
    const turns = async () => {
      for (let turn = 0; turn < TURNS_MAX; turn++) await new Promise((resolve) => setImmediate(resolve));
      return "open";
    };
    expect(await Promise.race([outside.lastClosed(), turns()])).toBeUndefined();
  });

  it("may have no length and no end but that of its connection", async () => {
    outside.play = (socket) => socket.end(`HTTP/1.0 200 OK\r\n\r\n${TEXT}`);
    expect(String(await fetched())).toBe(TEXT);
  });
});

describe("redirects", () => {
  it("are followed up to five times, relative ones too, and say where they ended", async () => {
    const next: Record<string, string> = {
      "/1": "/2",
      "/2": "3?x",
      "/3?x": outside.url("/4"),
      "/4": `//files.example:${outside.port}/5`,
      "/5": "/naïve#part",
    };
    outside.play = (socket, path) => {
      if (path in next) redirect(socket, next[path] ?? "");
      else say(socket, {}, path);
    };
    const answer = answered(await outside.open(outside.url("/1")));
    expect(answer.finalUrl).toBe(outside.url("/na%C3%AFve"));
    expect(String(await outcome(answer))).toBe("/na%C3%AFve");
  });

  it("without an end are left after the fifth", async () => {
    outside.play = (socket, path) => redirect(socket, `${path}x`);
    expect(told(await fetched())).toEqual(trouble("redirects more than 5 times"));
    expect(outside.heads).toHaveLength(6);
  });

  it("are not followed at all where none are wanted", async () => {
    outside.play = (socket) => redirect(socket, "/");
    const result = await outside.open(outside.url("/"), { redirectsMax: 0 });
    expect(told(result)).toEqual(trouble("redirects more than 0 times"));
    expect(outside.heads).toHaveLength(1);
  });

  it("to two places are followed to neither", async () => {
    outside.play = (socket) => socket.end(head(302, { location: "/a\r\nlocation: /b" }));
    expect(told(await fetched())).toEqual(trouble("redirects to two places at once"));
  });

  it("without a place are the answer", async () => {
    outside.play = (socket) => socket.end(head(302, { "content-length": "0" }));
    expect(answered(await outside.open(outside.url("/"))).status).toBe(302);
  });
});

describe("too much", () => {
  it("is refused before it is read, where the server says so: 10 GB", async () => {
    outside.play = (socket) => socket.write(head(200, { "content-length": "10000000000" }));
    expect(told(await outside.open(outside.url("/")))).toEqual(TOO_LARGE);
    await outside.lastClosed();
  });

  it.each([
    ["without an end", { connection: "close" }, Buffer.alloc(65_536)],
    ["in chunks without an end", { "transfer-encoding": "chunked" }, Buffer.from(`4000\r\n${"x".repeat(16_384)}\r\n`)],
  ])("is cut %s, and the server is left", async (_, headers, bytes) => {
    outside.play = (socket) => {
      socket.write(head(200, headers));
      forever(socket, bytes);
    };
    expect(told(await fetched())).toEqual(TOO_LARGE);
    await outside.lastClosed();
  });

  const zeros = Buffer.alloc(10_000_000);
  const chunk = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
  it.each([
    ["gzip", Buffer.concat(Array(1_000).fill(gzipSync(zeros)))],
    ["deflate", deflateSync(zeros)],
    ["br", brotliCompressSync(zeros)],
  ])("inside a small %s body is cut where it grows too large", async (encoding, bomb) => {
    outside.play = (socket) => say(socket, { "content-encoding": encoding }, bomb);
    let bytes = 0;
    const answer = answered(await outside.open(outside.url("/")));
    const reading = (async () => {
      for await (const piece of answer.body) bytes += piece.length;
    })();
    expect(told(await reading.catch((error: unknown) => error))).toEqual(TOO_LARGE);
    expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
    await outside.lastClosed();
  });

  it("that decodes to nothing is cut all the same", async () => {
    outside.play = (socket) => {
      socket.write(head(200, { "content-encoding": "gzip", "transfer-encoding": "chunked" }));
      forever(socket, chunk(Buffer.concat(Array(1_000).fill(gzipSync("")))));
    };
    expect(told(await fetched())).toEqual(TOO_LARGE);
  });

  it("of headers is not read", async () => {
    outside.play = (socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      forever(socket, Buffer.from(`x-more: ${"y".repeat(1_000)}\r\n`));
    };
    expect(told(await fetched())).toEqual(trouble("sends more headers than are read here"));
  });

  it.each(["gzip, gzip", "gzip, br", "identity, gzip", "compress", "../gzip", "constructor"])(
    "work to decode %j is not begun",
    async (encoding) => {
      outside.play = (socket) => say(socket, { "content-encoding": encoding }, gzipSync(gzipSync(TEXT)));
      expect(told(await fetched())).toEqual(trouble("sends a body in an encoding that is not understood here"));
    },
  );
});

describe("too slow", () => {
  const LATE = trouble("took longer than 0.2 seconds");
  const slow = { msMax: 200 };

  function trickle(socket: Socket, bytes: string): void {
    const timer = setInterval(() => socket.write(bytes), 10);
    socket.once("close", () => clearInterval(timer));
  }

  it.each([
    ["says nothing", () => {}],
    ["trickles its head", (socket: Socket) => trickle(socket, "H")],
    [
      "trickles headers",
      (socket: Socket) => trickle(socket.write("HTTP/1.1 200 OK\r\n") ? socket : socket, "x: y\r\n"),
    ],
    ["says 100 Continue for ever", (socket: Socket) => trickle(socket, "HTTP/1.1 100 Continue\r\n\r\n")],
    ["trickles its body", (socket: Socket) => trickle(socket.write(head(200)) ? socket : socket, "x")],
    ["redirects and says nothing more", (socket: Socket, path: string) => path === "/" && redirect(socket, "/next")],
  ])("is a server that %s", async (_, play) => {
    outside.play = play;
    expect(told(await outcome(await outside.open(outside.url("/"), slow)))).toMatchObject({ code: LATE.code });
    await outside.lastClosed();
  });

  it("is named with the time that it was given, and the answer may not be left unread for longer either", async () => {
    outside.play = (socket) => socket.write(`${head(200, { "content-length": "100" })}half`);
    const answer = answered(await outside.open(outside.url("/"), slow));
    await outside.lastClosed();
    expect(told(await outcome(answer))).toEqual(LATE);
  });

  it("is a name whose servers do not answer", async () => {
    const fetch = createPublicFetch({
      resolve: (_, signal) =>
        new Promise((_done, failed) => signal.addEventListener("abort", () => failed(signal.reason))),
    });
    expect(told(await fetch.open("http://files.example/", { bytesMax: 1, ...slow }))).toEqual(LATE);
  });

  it("is a server that never shakes hands", async () => {
    outside.play = () => {};
    const result = await outside.open(outside.url("/").replace("http:", "https:"), slow);
    expect(told(result)).toEqual(LATE);
  });
});

describe("a broken answer", () => {
  it.each([
    [
      "half of a body",
      (socket: Socket) => socket.end(`${head(200, { "content-length": "100" })}half`),
      "broke off its answer",
    ],
    [
      "a chunk too few",
      (socket: Socket) => socket.end(`${head(200, { "transfer-encoding": "chunked" })}4\r\nhalf\r\n`),
      "does not speak HTTP as it should",
    ],
    [
      "half of a compressed body",
      (socket: Socket) => say(socket, { "content-encoding": "gzip" }, gzipSync(TEXT).subarray(0, 30)),
      "sends a body that does not decode",
    ],
    [
      "what is not compressed at all",
      (socket: Socket) => say(socket, { "content-encoding": "br" }, TEXT),
      "sends a body that does not decode",
    ],
    ["no answer", (socket: Socket) => socket.end(), "broke off its answer"],
    ["a reset", (socket: Socket) => socket.resetAndDestroy(), "broke off its answer"],
    [
      "another protocol",
      (socket: Socket) => socket.end("220 mail.example ESMTP\r\n"),
      "does not speak HTTP as it should",
    ],
    [
      "two lengths",
      (socket: Socket) => socket.end(`${head(200, { "content-length": "1\r\ncontent-length: 2" })}ab`),
      "broke off its answer",
    ],
  ])("%s is said to be one", async (_, play, words) => {
    outside.play = play;
    expect(told(await fetched())).toEqual(trouble(words));
  });

  it("a port where nobody listens says no more than that", async () => {
    const { port } = outside;
    await outside.close();
    const fetch = createPublicFetch({ allowForTests: [`127.0.0.2:${port}`] });
    const result = await fetch.open(`http://127.0.0.2:${port}/`, { bytesMax: 1, msMax: 1_000 });
    expect(told(result)).toEqual(trouble("could not be reached"));
    outside = await startOutside();
  });

  it("a name that nobody can look up is the name servers' fault, not the caller's", async () => {
    const error = Object.assign(new Error("queryA ESERVFAIL files.example"), { code: "ESERVFAIL" });
    const fetch = createPublicFetch({ resolve: () => Promise.reject(error) });
    const result = await fetch.open("http://files.example/", { bytesMax: 1, msMax: 1_000 });
    expect(told(result)).toEqual(trouble("could not be reached"));
  });
});

describe("https", () => {
  const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
  const certificate = fixture("certificate.pem");

  async function secure(work: (port: number, names: unknown[]) => Promise<void>): Promise<void> {
    const asked: unknown[] = [];
    const server = createTlsServer({ key: fixture("key.pem"), cert: certificate }, (socket) => {
      asked.push(socket.servername);
      socket.on("error", () => {});
      socket.once("data", () => redirectOrSay(socket));
    });
    const redirectOrSay = (socket: Socket) =>
      asked.length > 1 ? redirect(socket, "http://files.example/") : say(socket, {}, TEXT);
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.2");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await work(port, asked);
    server.close();
  }

  const opener = (port: number) => {
    const fetch = createPublicFetch({ resolve: async () => ["127.0.0.2"], allowForTests: [`127.0.0.2:${port}`] });
    return (host: string) => fetch.open(`https://${host}:${port}/`, { bytesMax: BYTES_MAX, msMax: 5_000 });
  };

  it("is refused with a certificate that nobody vouches for", async () => {
    await secure(async (port, asked) => {
      expect(told(await opener(port)("files.example"))).toEqual(trouble("has no valid certificate"));
      expect(asked).toEqual([]);
    });
  });

  it("asks the checked address by its name, takes the certificate of that name alone, and does not fall back to http", async () => {
    const usual = getCACertificates("default");
    setDefaultCACertificates([...usual, certificate]);
    await secure(async (port, asked) => {
      const open = opener(port);
      expect(String(await outcome(await open("files.example")))).toBe(TEXT);
      expect(asked).toEqual(["files.example"]);
      expect(told(await open("other.example"))).toEqual(trouble("has no valid certificate"));
      expect(told(await open("127.0.0.2"))).toEqual(trouble("has no valid certificate"));
      const left = { code: "bad_url", message: "The URL redirects to one that leaves https." };
      expect(told(await open("files.example"))).toMatchObject(left);
    });
    setDefaultCACertificates(usual);
  });
});

describe("leaving", () => {
  it("while the server thinks ends the request", async () => {
    const leaving = new AbortController();
    outside.play = () => leaving.abort();
    const result = await outside.open(outside.url("/"), { signal: leaving.signal });
    expect(told(result)).toEqual(trouble("was left before it had answered"));
    await outside.lastClosed();
  });

  it("before it was opened opens nothing", async () => {
    const result = await outside.open(outside.url("/"), { signal: AbortSignal.abort() });
    expect(told(result).code).toBe("upstream_error");
    expect(outside.heads).toEqual([]);
  });

  it("in the middle of the body closes the connection", async () => {
    outside.play = (socket) => {
      socket.write(head(200));
      forever(socket, Buffer.alloc(1_000));
    };
    const answer = answered(await outside.open(outside.url("/")));
    for await (const piece of answer.body) if (piece.length > 0) break;
    await outside.lastClosed();
  });

  it("is what the gateway does when it ends: what runs is cut, and nothing is begun", async () => {
    outside.play = (socket) => socket.write(`${head(200, { "content-length": "100" })}half`);
    const answer = answered(await outside.open(outside.url("/")));
    outside.fetch.close();
    expect(told(await outcome(answer)).code).toBe("draining");
    expect(told(await outside.open(outside.url("/"))).code).toBe("draining");
  });
});
