// OpenAI's agents library in realtime: a tool that it runs itself, an interruption, and a lost network.
import { RealtimeAgent, RealtimeSession, tool } from "@openai/agents/realtime";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { forFile } from "../support/for-file.ts";
import { eventually, startTestGateway } from "../support/gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });
const url = `${gateway.url.replace("http", "ws")}/v1/realtime?model=core/voice`;

async function connect(asked: string[] = []) {
  const weather = tool({
    name: "weather",
    description: "The weather in a city",
    parameters: z.object({ city: z.string() }),
    async execute({ city }) {
      asked.push(city);
      return "[[say: sunny]]";
    },
  });
  const agent = new RealtimeAgent({ name: "guide", instructions: "Be brief.", tools: [weather] });
  const session = new RealtimeSession(agent, { transport: "websocket", model: "core/voice" });
  onTestFinished(() => session.close());
  const types: string[] = [];
  const errors: unknown[] = [];
  session.transport.on("*", ({ type }: { type: string }) => types.push(type));
  session.on("error", (error: unknown) => errors.push(error));
  await session.connect({ apiKey: account.key, url });
  const count = (type: string) => types.filter((one) => one === type).length;
  return { session, types, errors, count };
}

test("runs its tool, and the model continues with the result", async () => {
  const asked: string[] = [];
  const { session, errors, count } = await connect(asked);
  session.sendMessage('[[call: weather {"city":"Oslo"}]]');
  await eventually(() => (count("response.done") === 2 ? true : undefined), "the answer after the tool");
  expect([asked, errors]).toEqual([["Oslo"], []]);
});

test("is interrupted", async () => {
  const { session, errors, count } = await connect();
  session.sendMessage("[[say: one two three four five six]] [[wait: 300]]");
  await eventually(() => (count("response.output_audio.delta") > 0 ? true : undefined), "sound");
  session.interrupt();
  await eventually(() => (count("response.done") === 1 ? true : undefined), "the end");
  expect(count("response.output_audio.delta")).toBeLessThan(6);
  expect(errors).toEqual([]);
});

test("loses its network, and connects again", async () => {
  const { session, count } = await connect();
  session.sendMessage("[[say: one two three four five six]] [[wait: 300]]");
  await eventually(() => (count("response.output_audio.delta") > 0 ? true : undefined), "sound");
  session.close();
  const next = await connect();
  next.session.sendMessage("[[say: again]]");
  await eventually(() => (next.count("response.done") === 1 ? true : undefined), "the answer");
});
