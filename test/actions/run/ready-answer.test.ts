import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { describe, expect, test } from "vitest";
import { answerWith, readyAnswer } from "../../../src/actions/run/ready-answer.ts";
import type { Answer, GatewayRequest } from "../../../src/core/endpoint.ts";

const LONG = "a page of some length ".repeat(200);

function asking(headers: Record<string, string>): GatewayRequest {
  return { headers: new Map(Object.entries(headers)) } as unknown as GatewayRequest;
}

async function readable({ body, headers = {} }: Answer): Promise<string> {
  const bytes = body as Buffer;
  const coding = headers["content-encoding"];
  if (coding === undefined) return bytes.toString();
  const through = coding === "br" ? createBrotliDecompress() : createGunzip();
  return (await buffer(Readable.from([bytes]).pipe(through))).toString();
}

describe("an answer at rest", () => {
  test.each([
    ["", undefined],
    ["identity", undefined],
    ["deflate, zstd", undefined],
    ["gzip", "gzip"],
    ["gzip, deflate, br", "br"],
    ["GZIP;q=0.8, BR ; q=1", "br"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.0,gzip;q=0", undefined],
  ])("for Accept-Encoding %j comes as %s", async (accepted, coding) => {
    const ready = readyAnswer(LONG, "text/plain", { "x-own": "1" });
    const answer = await answerWith(ready, asking({ "accept-encoding": accepted }));
    expect(answer.headers?.["content-encoding"]).toBe(coding);
    expect(answer.headers).toMatchObject({ vary: "accept-encoding", "content-type": "text/plain", "x-own": "1" });
    expect(await readable(answer)).toBe(LONG);
  });

  test("is compressed once for all", async () => {
    const ready = readyAnswer(LONG, "text/plain");
    const one = await answerWith(ready, asking({ "accept-encoding": "br" }));
    const other = await answerWith(ready, asking({ "accept-encoding": "br" }));
    expect(other.body).toBe(one.body);
  });

  test("has a strong ETag for each coding, and is 304 to whoever has it in that one", async () => {
    const ready = readyAnswer(LONG, "text/plain");
    const tags = new Map<string, string>();
    for (const coding of ["identity", "gzip", "br"]) {
      const { headers } = await answerWith(ready, asking({ "accept-encoding": coding }));
      tags.set(coding, headers?.etag ?? "");
    }
    expect(new Set(tags.values()).size).toBe(3);
    for (const [coding, etag] of tags) {
      const known = await answerWith(ready, asking({ "accept-encoding": coding, "if-none-match": etag }));
      expect(known).toMatchObject({ status: 304, headers: { etag, vary: "accept-encoding" } });
      const others = [...tags.values()].filter((other) => other !== etag).join(", ");
      const unknown = await answerWith(ready, asking({ "accept-encoding": coding, "if-none-match": others }));
      expect(unknown.status).toBe(200);
    }
  });

  test("stays as it is where it fits into a packet anyway", async () => {
    const answer = await answerWith(readyAnswer("short", "text/plain"), asking({ "accept-encoding": "br" }));
    expect(answer.headers).not.toHaveProperty("content-encoding");
    expect(answer.headers).not.toHaveProperty("vary");
  });
});
