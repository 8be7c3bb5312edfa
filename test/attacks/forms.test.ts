// Malicious forms: refused with the reason, in little memory and time, while another caller's calls continue.
import net from "node:net";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../support/cpu-time.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../support/gateway.ts";

const MIB = 1_048_576;
const EDGE = "----edge";

const gateway = forFile(await startTestGateway());
const eve = await gateway.account({ creditCents: 1_000 });
const ada = await gateway.account({ creditCents: 1_000 });

const part = (head: string, body: string) => `--${EDGE}\r\n${head}\r\n\r\n${body}\r\n`;
const field = (name: string, value: string) => part(`content-disposition: form-data; name="${name}"`, value);
const sound = (name: string) =>
  part(`content-disposition: form-data; name="${name}"; filename="a.wav"\r\ncontent-type: audio/wav`, "RIFF");
const END = `--${EDGE}--\r\n`;
const WELL = field("model", "openai/whisper-1");

async function send(body: string, { account = eve, type = `multipart/form-data; boundary=${EDGE}` } = {}) {
  const response = await fetch(`${gateway.url}/api/llm/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": type },
    body,
  }).catch((error: unknown) => error as Error);
  // If the connection is closed before the body has arrived, the client may notice that before it sees the answer.
  if (response instanceof Error) return { status: 0, code: "cut" };
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, code: error?.code ?? "" };
}

async function balance(account: TestAccount) {
  const headers = { authorization: `Bearer ${account.key}` };
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers });
  const { balance_cents, held_cents } = (await response.json()) as Record<string, number>;
  return { balance_cents, held_cents };
}

describe("a form", () => {
  it.each<[string, string]>([
    ["of ten thousand fields", Array.from({ length: 10_000 }, (_, at) => field(`f${at}`, "x")).join("") + END],
    ["of ten thousand files", Array.from({ length: 10_000 }, (_, at) => sound(`file${at}`)).join("") + END],
    ["whose name has a megabyte", field("n".repeat(MIB), "x") + END],
    ["whose value has a megabyte", field("prompt", "x".repeat(MIB)) + END],
    ["whose part has ten thousand headers", part("x-a: b\r\n".repeat(10_000).trimEnd(), "x") + END],
    [
      "whose header has a megabyte",
      part(`content-disposition: form-data; name="a"; x="${"y".repeat(MIB)}"`, "x") + END,
    ],
    ["whose header ends nowhere", `--${EDGE}\r\n${"content-disposition: form-data; ".repeat(20_000)}`],
    ["with a form inside of it", part(`content-type: multipart/mixed; boundary=${EDGE}`, WELL.repeat(100)) + END],
    ["of edges alone", `--${EDGE}\r\n`.repeat(50_000)],
    ["of half an edge, again and again", `${WELL}\r\n--${EDGE.slice(0, -1)}`.repeat(20_000)],
    ["that ends in the middle of its sound", WELL + sound("file").slice(0, -4)],
    ["named for what every object has", field("__proto__", "x") + field("constructor", "y") + END],
  ])("%s is refused in time, uncharged", async (_, body) => {
    const ms = await cpuMsOf(async () => expect([0, 400, 413]).toContain((await send(body)).status));
    expect(ms).toBeLessThan(4_000);
    expect(await balance(eve)).toEqual({ balance_cents: 1_000, held_cents: 0 });
  });

  it.each([
    ["none", "multipart/form-data"],
    ["one of ten thousand letters", `multipart/form-data; boundary=${"b".repeat(10_000)}`],
    ["one in quotes that do not end", 'multipart/form-data; boundary="x'],
    ["one of nothing", "multipart/form-data; boundary="],
  ])("whose edge is %s is refused", async (_, type) => {
    expect([0, 400, 413, 415, 431]).toContain((await send(WELL + END, { type })).status);
  });
});

describe("two hundred forms that never end", () => {
  it("take memory of nobody else, and another's call is answered", async () => {
    const { port } = new URL(gateway.url);
    const head = [
      "POST /api/llm/v1/audio/transcriptions HTTP/1.1",
      "host: localhost",
      `authorization: Bearer ${eve.key}`,
      `content-type: multipart/form-data; boundary=${EDGE}`,
      `content-length: ${20 * MIB}`,
    ].join("\r\n");
    const before = process.memoryUsage().rss;
    const sockets = Array.from({ length: 200 }, () => {
      const socket = net.connect(Number(port), "127.0.0.1");
      socket.on("error", () => {});
      socket.write(`${head}\r\n\r\n${WELL}${sound("file").slice(0, -2)}${"s".repeat(256 * 1024)}`);
      return socket;
    });
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise((resolve) => socket.once("drain", resolve).once("close", resolve).once("data", resolve)),
      ),
    );
    const { choices } = await ada.client.chat.completions.create({
      model: "core/cheap",
      messages: [{ role: "user", content: "Hello." }],
    });
    expect(choices).toHaveLength(1);
    // Their bytes are on disk.
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * MIB);
    for (const socket of sockets) socket.destroy();
    expect(await balance(eve)).toEqual({ balance_cents: 1_000, held_cents: 0 });
  });
});
