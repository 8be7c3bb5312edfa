// Headers that guard money: an unreadable one gets a 400 that names it, at every endpoint and for every request.
import { describe, expect, test } from "vitest";
import { CREDENTIALS, GUARDED_HEADERS } from "../../../src/edge/http/guarded-headers.ts";
import { currentEngine, rawClient, startEdge } from "./edge.ts";

const GOOD: Readonly<Record<string, string>> = { "x-tollgate-sandbox": "1" };

async function answerTo(lines: readonly (string | Buffer)[], line: string): Promise<string> {
  const server = await startEdge();
  const client = await rawClient(server.port);
  const body = line.startsWith("POST") ? "content-length: 2\r\n" : "";
  client.send(
    Buffer.concat([
      Buffer.from(`${line} HTTP/1.1\r\nHost: a\r\n${body}`),
      ...lines.flatMap((one) => [Buffer.from(one as string), Buffer.from("\r\n")]),
      Buffer.from(`\r\n${body === "" ? "" : "{}"}`),
    ]),
  );
  await client.sees(/\r\n\r\n.*\}/s);
  return client.text();
}

describe.each(["GET /hello", "POST /echo", "POST /api/llm/v1/chat/completions", "GET /nothing"])("%s", (line) => {
  describe.each([...GUARDED_HEADERS.keys()])("with %s", (name) => {
    const good = GOOD[name] ?? "12";
    const status = line === "GET /nothing" ? 404 : 400;

    type Lines = [string, (string | Buffer)[]];
    const empty: Lines[] = [
      ["empty", [`${name}:`]],
      ["of blanks", [`${name}:   `]],
      ["twice, and once empty", [`${name}: ${good}`, `${name}:`]],
    ];
    const beyond: Lines = ["of a byte above 0x7F", [Buffer.concat([Buffer.from(`${name}: `), Buffer.from([0xff])])]];
    // uWebSockets drops such bytes at either end of a value.
    const isEmpty = currentEngine() === "uws" || !CREDENTIALS.includes(name);
    if (isEmpty) empty.push(beyond);
    // Without a credential a call gets 401, or what its endpoint offers callers without one.
    if (CREDENTIALS.includes(name)) {
      test.each(empty)("%s is as if it were not sent", async (_, lines) => {
        expect(await answerTo(lines, line)).toMatch(new RegExp(`^HTTP/1.1 ${line === "GET /nothing" ? 404 : 200} `));
      });
    }

    test.each([
      ...(CREDENTIALS.includes(name) ? [] : empty),
      ...(isEmpty ? [] : [beyond]),
      ["twice", [`${name}: ${good}`, `${name}: ${good}`]],
      ["with one inside", [Buffer.concat([Buffer.from(`${name}: 1`), Buffer.from([0xff]), Buffer.from("2")])]],
    ])("%s is refused by its name", async (_, lines) => {
      const text = await answerTo(lines, line);
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      if (status === 400) expect(text.toLowerCase()).toContain(`${name}: `);
    });

    test("once and good is read", async () => {
      const text = await answerTo([`${name}: ${good}`], line);
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${line === "GET /nothing" ? 404 : 200} `));
    });
  });
});
