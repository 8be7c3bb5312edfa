// Requests of RFC 9112 and of known smuggling families, each with its expected outcome.
import { post, request } from "../edge.ts";

/**
 * The expected outcome, by engine. `ok`: a 2xx answer. `error`: a 4xx answer. `refused`: 4xx, 501 or 505, or the connection closes without
 * an answer, and nothing behind the request is served. `closed`: a 2xx answer is allowed, but nothing behind it is served.
 */
export type Outcome = "ok" | "error" | "refused" | "closed";

export interface FramingCase {
  readonly family: string;
  readonly name: string;
  readonly sent: string;
  readonly node: Outcome;
  readonly uws: Outcome;
}

const JSON_TYPE = "content-type: application/json";
const TE = "transfer-encoding: chunked";
const CHUNKS = "2\r\n{}\r\n0\r\n\r\n";

const rows: FramingCase[] = [];

function add(family: string, cases: Readonly<Record<string, string>>, node: Outcome, uws: Outcome = node): void {
  for (const [name, sent] of Object.entries(cases)) rows.push({ family, name, sent, node, uws });
}

const chunked = (body: string, headers: readonly string[] = [TE]) =>
  request("POST /echo", [JSON_TYPE, ...headers], body);
const head = (...lines: readonly string[]) => `${lines.join("\r\n")}\r\n\r\n`;

add(
  "valid",
  {
    "a GET": request("GET /hello"),
    "a GET with a query": request("GET /hello?a=1"),
    "a POST with a length": post("/echo", "{}"),
    "a POST without a body": request("POST /echo", ["content-length: 0"]),
    "leading zeros of a length": request("POST /echo", [JSON_TYPE, "content-length: 0002"], "{}"),
    "spaces around a value": request("GET /hello", ["x-a:   b   "]),
    "a tab before a value": request("GET /hello", ["x-a:\tb"]),
    "an empty value": request("GET /hello", ["x-a:"]),
    "a DELETE": request("DELETE /things/1"),
  },
  "ok",
);
add(
  "chunked",
  {
    "one chunk": chunked(CHUNKS),
    "two chunks": chunked("1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
    "size in upper case": chunked(`A\r\n"12345678"\r\n0\r\n\r\n`),
    "leading zeros of a size": chunked("0002\r\n{}\r\n000\r\n\r\n"),
    "no chunk but the last": chunked("0\r\n\r\n"),
    "the coding in upper case": chunked(CHUNKS, ["transfer-encoding: CHUNKED"]),
  },
  "ok",
  "closed",
);
add(
  "chunk extensions and trailers",
  {
    "an extension": chunked("2;a=b\r\n{}\r\n0\r\n\r\n"),
    "a quoted extension": chunked('2;a="b c"\r\n{}\r\n0\r\n\r\n'),
    "an extension of the last chunk": chunked("2\r\n{}\r\n0;a\r\n\r\n"),
    "a trailer": chunked("2\r\n{}\r\n0\r\nx-a: b\r\n\r\n"),
  },
  "ok",
  "closed",
);
add(
  "CL.TE and TE.CL",
  {
    "length, then coding": chunked("0\r\n\r\nG", ["content-length: 6", TE]),
    "coding, then length": chunked(CHUNKS, [TE, "content-length: 4"]),
    "coding and a length of 0": chunked(CHUNKS, [TE, "content-length: 0"]),
    "both, of a GET": request("GET /hello", ["content-length: 5", TE], "0\r\n\r\n"),
    "a long length and an early last chunk": chunked("0\r\n\r\nGET /x HTTP/1.1\r\nx: y", ["content-length: 30", TE]),
    "a short length and long chunks": chunked("8\r\nSMUGGLED\r\n0\r\n\r\n", ["content-length: 3", TE]),
  },
  "refused",
);
add(
  "TE.TE",
  {
    "chunked, identity": chunked(CHUNKS, ["transfer-encoding: chunked, identity"]),
    "gzip, chunked": chunked(CHUNKS, ["transfer-encoding: gzip, chunked"]),
    xchunked: chunked(CHUNKS, ["transfer-encoding: xchunked"]),
    identity: chunked(CHUNKS, ["transfer-encoding: identity"]),
    "chunked twice in a line": chunked(CHUNKS, ["transfer-encoding: chunked, chunked"]),
    "two lines": chunked(CHUNKS, [TE, "transfer-encoding: identity"]),
    "two equal lines": chunked(CHUNKS, [TE, TE]),
    "a quoted coding": chunked(CHUNKS, ['transfer-encoding: "chunked"']),
    "a space before the colon": chunked(CHUNKS, ["transfer-encoding : chunked"]),
    "a tab before the colon": chunked(CHUNKS, ["transfer-encoding\t: chunked"]),
    folded: chunked(CHUNKS, ["transfer-encoding:\r\n chunked"]),
    "a vertical tab before the coding": chunked(CHUNKS, ["transfer-encoding: \x0bchunked"]),
    "a NUL behind the coding": chunked(CHUNKS, ["transfer-encoding: chunked\0"]),
    "an empty coding": chunked(CHUNKS, ["transfer-encoding: "]),
  },
  "refused",
);
add(
  "lengths",
  {
    two: request("POST /echo", [JSON_TYPE, "content-length: 2", "content-length: 40"], "{}"),
    "two equal": request("POST /echo", [JSON_TYPE, "content-length: 2", "content-length: 2"], "{}"),
    "a list": request("POST /echo", [JSON_TYPE, "content-length: 2, 2"], "{}"),
    "a sign": request("POST /echo", [JSON_TYPE, "content-length: +2"], "{}"),
    negative: request("POST /echo", [JSON_TYPE, "content-length: -2"], "{}"),
    hexadecimal: request("POST /echo", [JSON_TYPE, "content-length: 0x2"], "{}"),
    "a fraction": request("POST /echo", [JSON_TYPE, "content-length: 2.0"], "{}"),
    letters: request("POST /echo", [JSON_TYPE, "content-length: two"], "{}"),
    "too large for 64 bits": request("POST /echo", [JSON_TYPE, "content-length: 99999999999999999999999"], "{}"),
    "a space inside": request("POST /echo", [JSON_TYPE, "content-length: 2 2"], "{}"),
    "a space before the colon": request("POST /echo", [JSON_TYPE, "content-length : 2"], "{}"),
    "two of a GET": request("GET /hello", ["content-length: 0", "content-length: 4"]),
    empty: request("POST /echo", [JSON_TYPE, "content-length: "], "{}"),
  },
  "refused",
);
add(
  "broken chunks",
  {
    "a size that is no number": chunked("zz\r\n{}\r\n0\r\n\r\n"),
    "a sign": chunked("+2\r\n{}\r\n0\r\n\r\n"),
    "0x before a size": chunked("0x2\r\n{}\r\n0\r\n\r\n"),
    "a size beyond 64 bits": chunked("fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    "a size that wraps": chunked("10000000000000002\r\n{}\r\n0\r\n\r\n"),
    "more data than the size": chunked("2\r\n{}xx\r\n0\r\n\r\n"),
    "a space before the size": chunked(" 2\r\n{}\r\n0\r\n\r\n"),
    "no size": chunked("\r\n{}\r\n0\r\n\r\n"),
  },
  "refused",
  "closed",
);
add(
  "line ends in chunks",
  {
    "a bare LF behind a size": chunked("2\n{}\r\n0\r\n\r\n"),
    "a bare LF behind data": chunked("2\r\n{}\n0\r\n\r\n"),
    "bytes behind the last chunk": chunked("2\r\n{}\r\n0\r\nXX\r\n\r\n"),
    "a bare CR behind a size": chunked("2\r{}\r\n0\r\n\r\n"),
    "a bare LF in an extension": chunked("2;a\n{}\r\n0\r\n\r\n"),
  },
  "refused",
  "closed",
);
add(
  "headers",
  {
    "obs-fold": request("GET /hello", ["x-a: b", " c"]),
    "obs-fold with a tab": request("GET /hello", ["x-a: b", "\tc"]),
    "a fold before the first header": head("GET /hello HTTP/1.1", " x: y", "host: a"),
    "a space before the colon": request("GET /hello", ["x-a : b"]),
    "no colon": request("GET /hello", ["x-a"]),
    "a NUL in a value": request("GET /hello", ["x-a: b\0c"]),
    "a NUL in a name": request("GET /hello", ["x\0a: b"]),
    "a bare CR in a value": request("GET /hello", ["x-a: b\rc"]),
    "a space in a name": request("GET /hello", ["x a: b"]),
    "no Host": head("GET /hello HTTP/1.1", "accept: */*"),
    "two Hosts": request("GET /hello", ["host: other"]),
    "headers of 20 KiB": request("GET /hello", [`x-a: ${"x".repeat(20_000)}`]),
  },
  "refused",
);
add(
  "request lines",
  {
    "no version": "GET /hello\r\nhost: a\r\n\r\n",
    "HTTP/2.0": head("GET /hello HTTP/2.0", "host: a"),
    "HTTP/1.2.3": head("GET /hello HTTP/1.2.3", "host: a"),
    "a lower-case version": head("GET /hello http/1.1", "host: a"),
    "a NUL in the target": head("GET /he\0llo HTTP/1.1", "host: a"),
    "a space in the target": head("GET /hel lo HTTP/1.1", "host: a"),
    "no target": head("GET HTTP/1.1", "host: a"),
    CONNECT: head("CONNECT a:443 HTTP/1.1", "host: a:443"),
    "CONNECT with a body": `${head("CONNECT a:443 HTTP/1.1", "host: a:443", "content-length: 5")}a`,
    "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  },
  "refused",
);
add(
  "methods",
  {
    "in lower case": head("get /hello HTTP/1.1", "host: a"),
    unknown: head("BREW /hello HTTP/1.1", "host: a", "content-length: 0"),
  },
  "refused",
  "error",
);
add("absolute targets", { http: head("GET http://localhost/hello HTTP/1.1", "host: localhost") }, "ok", "refused");
add("old versions", { "HTTP/1.0": head("GET /hello HTTP/1.0", "host: a") }, "closed", "refused");
export const WEBSOCKET = [
  "connection: upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
];
const H2C = ["connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AA"];
add(
  "upgrades",
  { "h2c of a GET": request("GET /hello", H2C), "a WebSocket where none is": request("GET /hello", WEBSOCKET) },
  "ok",
);
add(
  "upgrades with a body",
  { h2c: post("/echo", "{}", H2C), "a WebSocket where none is": post("/echo", "{}", WEBSOCKET) },
  "closed",
  "ok",
);
add("upgrades with chunks", { h2c: chunked(CHUNKS, [...H2C, TE]) }, "closed");

export const FRAMING_LIST: readonly FramingCase[] = rows;
