// Announced bodies that arrive slowly: a caller that cannot pay is refused before its body is read, and all bodies together have a bound.
import { expect, onTestFinished, test } from "vitest";
import { rawClient } from "../edge/http/edge.ts";
import { eventually, startTestGateway, type TestGateway } from "../support/gateway.ts";

const MIB = 1_048_576;
const CHAT = "/api/llm/v1/chat/completions";

async function start(environment: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await startTestGateway(environment);
  onTestFinished(() => gateway.stop());
  return gateway;
}

function head(key: string, length: string): string {
  const lines = ["host: x", "content-type: application/json", `authorization: Bearer ${key}`, length];
  return `POST ${CHAT} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

/** Announces a body, of which only a little is sent until the test sends more. */
async function announce(gateway: TestGateway, key: string, bytes: number) {
  const client = await rawClient(Number(new URL(gateway.url).port));
  client.send(`${head(key, `content-length: ${bytes}`)}{"model":`);
  return client;
}

const ERROR = /"code":"(\w+)"/;

test("a key without credit is told 402 before its body has come, however the body is announced", async () => {
  const gateway = await start();
  const { key } = await gateway.account({ kind: "personal", creditCents: 0 });
  const known = await announce(gateway, key, 32 * MIB);
  expect(await known.sees(/\}\}$/)).toMatch(/^HTTP\/1\.1 402 [\s\S]*"insufficient_balance"/);
  const chunked = await rawClient(Number(new URL(gateway.url).port));
  chunked.send(`${head(key, "transfer-encoding: chunked")}9\r\n{"model":\r\n`);
  expect(await chunked.sees(/\}\}$/)).toMatch(/^HTTP\/1\.1 402 /);
  // A short body in two parts is read, because some actions are free.
  const short = await announce(gateway, key, 11);
  short.send("1}");
  expect(await short.sees(/\}\}$/)).toMatch(/^HTTP\/1\.1 400 /);
});

test("an account has so many bytes of bodies on their way in, and all accounts together have a bound", async () => {
  const gateway = await start({ BODIES_MIB: "80", ACCOUNT_BODIES_MIB: "40" });
  const [first, second, third] = await Promise.all([gateway.account(), gateway.account(), gateway.account()]);
  const bytes = 30 * MIB;
  const waiting = [await announce(gateway, first.key, bytes), await announce(gateway, second.key, bytes)];
  const codeOf = async (key: string): Promise<string> => {
    const client = await announce(gateway, key, bytes);
    return ERROR.exec(await client.sees(/\}\}$/))?.[1] ?? "";
  };
  // Both bodies are on their way once another one of either account has no room.
  for (const { key } of [first, second]) {
    const refused = await eventually(async () => {
      const client = await announce(gateway, key, bytes);
      await Promise.race([client.sees(/\}\}$/), new Promise((resolve) => setTimeout(resolve, 1_000))]);
      return client.text().includes("bodies_in_flight") ? client.text() : undefined;
    }, "the second body of an account");
    expect(refused).toMatch(/^HTTP\/1\.1 429 [\s\S]*retry-after: 2[\s\S]*This account's request bodies take 40 MiB/);
  }
  const full = await announce(gateway, third.key, bytes);
  expect(await full.sees(/\}\}$/)).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 2[\s\S]*take 80 MiB/);
  expect(await codeOf(third.key)).toBe("bodies_in_flight");
  // Abandoned and served bodies free their room.
  waiting[0]?.socket.destroy();
  waiting[1]?.send(" ".repeat(bytes - 9));
  expect(await waiting[1]?.sees(/\}\}$/)).toMatch(/^HTTP\/1\.1 400 /);
  for (const { key } of [first, second]) {
    await eventually(async () => {
      const client = await announce(gateway, key, bytes);
      client.send(" ".repeat(bytes - 9));
      await client.sees(/\}\}$/);
      client.socket.destroy();
      return client.text().startsWith("HTTP/1.1 400 ") ? true : undefined;
    }, "room for a body");
  }
});

test("a body of unknown length takes its share as it comes, and is ended where there is no more room", async () => {
  const gateway = await start({ BODIES_MIB: "40", ACCOUNT_BODIES_MIB: "33" });
  const [first, second] = await Promise.all([gateway.account(), gateway.account()]);
  await announce(gateway, second.key, 32 * MIB);
  const client = await rawClient(Number(new URL(gateway.url).port));
  client.send(`${head(first.key, "transfer-encoding: chunked")}${(30 * MIB).toString(16)}\r\n${" ".repeat(30 * MIB)}`);
  expect(await client.sees(/\}\}$/)).toMatch(/^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*"bodies_in_flight"/);
  await client.closed;
});
