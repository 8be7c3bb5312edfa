// OpenAI's own realtime clients, over `ws` and over the platform's WebSocket: a tool call, an interruption, and a lost network, over TLS,
// which they require.
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import OpenAI from "openai";
import { OpenAIRealtimeWebSocket } from "openai/realtime/websocket";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { tone } from "../../../src/models/formats/realtime/conversation.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

const { keyFile, certificateFile } = await makeCertificate(folderForFile("tollgate-realtime-tls-"));
const gateway = forFile(await startTestGateway({ TLS_KEY: keyFile, TLS_CERT: certificateFile }));
const account = await gateway.account({ creditCents: 100_000 });
const network = forFile(await startTcpProxy(Number(new URL(gateway.url).port)));
const authorities = getCACertificates();
setDefaultCACertificates([...authorities, readFileSync(certificateFile, "utf8")]);
afterAll(() => setDefaultCACertificates(authorities));

type Client = typeof OpenAIRealtimeWS | typeof OpenAIRealtimeWebSocket;

async function connect(Realtime: Client) {
  const client = new OpenAI({ apiKey: account.key, baseURL: `https://localhost:${network.port}/v1` });
  const session = new Realtime({ model: "core/voice" }, client);
  onTestFinished(() => session.close());
  const errors: unknown[] = [];
  session.on("error", (error) => errors.push(error));
  await new Promise((resolve) => session.on("session.created", resolve));
  return { session, errors };
}

const say = (session: InstanceType<Client>, text: string) =>
  session.send({
    type: "conversation.item.create",
    item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  });

describe.each([
  ["ws", OpenAIRealtimeWS],
  ["the platform's WebSocket", OpenAIRealtimeWebSocket],
])("over %s", (_, Realtime) => {
  test("calls a tool and continues with its result", async () => {
    const { session, errors } = await connect(Realtime);
    const tools = [{ type: "function" as const, name: "weather", parameters: { type: "object", properties: {} } }];
    session.send({ type: "session.update", session: { type: "realtime", tools, output_modalities: ["text"] } });
    say(session, '[[call: weather {"city":"Oslo"}]]');
    session.send({ type: "response.create" });
    const calling = new Promise<string>((resolve) =>
      session.on("response.function_call_arguments.done", ({ call_id }) => resolve(call_id)),
    );
    const texts: string[] = [];
    session.on("response.output_text.delta", ({ delta }) => texts.push(delta));
    const done: string[] = [];
    session.on("response.done", ({ response }) => done.push(String(response.status)));
    const call_id = await calling;
    await eventually(() => (done.length === 1 ? true : undefined), "the call's end");
    const item = { type: "function_call_output" as const, call_id, output: "[[say: sunny]]" };
    session.send({ type: "conversation.item.create", item });
    session.send({ type: "response.create" });
    await eventually(() => (done.length === 2 ? true : undefined), "the answer");
    expect([texts.join(""), done, errors]).toEqual(["sunny", ["completed", "completed"], []]);
  });

  test("is interrupted by speech", async () => {
    const { session, errors } = await connect(Realtime);
    say(session, "[[say: one two three four five six]] [[wait: 300]]");
    session.send({ type: "response.create" });
    await new Promise((resolve) => session.on("response.output_audio.delta", resolve));
    const done = new Promise((resolve) => session.on("response.done", ({ response }) => resolve(response.status)));
    session.send({ type: "input_audio_buffer.append", audio: tone(100) });
    expect([await done, errors]).toEqual(["cancelled", []]);
  });

  test("loses its network in a response, which is charged, and connects again", async () => {
    const { session } = await connect(Realtime);
    say(session, "[[say: one two three four five six]] [[wait: 300]]");
    session.send({ type: "response.create" });
    await new Promise((resolve) => session.on("response.output_audio.delta", resolve));
    const charged = () =>
      gateway
        .records()
        .filter(({ operation, outcome }) => operation === "realtime" && outcome === "left_after_content");
    const before = charged().length;
    network.cut();
    await eventually(() => (charged().length > before ? true : undefined), "the charge");
    const { session: next } = await connect(Realtime);
    say(next, "[[say: again]]");
    next.send({ type: "response.create" });
    await new Promise((resolve) => next.on("response.done", resolve));
  });
});
