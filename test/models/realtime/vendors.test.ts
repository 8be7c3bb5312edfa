// Realtime vendors that refuse, die or act on their own, for a live account, with the node engine and short time limits.
import { expect, test } from "vitest";
import { realtime } from "../../../src/models/formats/realtime/stand-in.ts";
import type { SocketStandIn } from "../../../src/sandbox/dialect.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { type Event, openRealtime, said } from "../../support/realtime.ts";

const heard: Event[] = [];
let tell: (event: Event) => void = () => {};

/** Dies at once as one model, and is the sandbox's vendor as any other. */
const vendor: SocketStandIn = {
  path: realtime.path,
  open(socket, model) {
    if (model === "gpt-realtime-2.1") {
      socket.cut();
      return { message: () => {}, closed: () => {} };
    }
    tell = (event) => socket.send(JSON.stringify(event));
    const played = realtime.open(socket, model);
    return {
      closed: played.closed,
      message(text) {
        heard.push(JSON.parse(text) as Event);
        played.message(text);
      },
    };
  },
};
const sandbox = forFile(await startSandbox({ dialects: [], sockets: [vendor], host: "127.0.0.1", port: 0 }));
const gateway = forFile(
  await startTestGateway({
    HTTP_ENGINE: "node",
    OPENAI_API_KEY: "sk-of-the-operator",
    OPENAI_BASE_URL: `${sandbox.url}/openai`,
    REALTIME_SECONDS: "6",
    REALTIME_IDLE_SECONDS: "2",
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 10_000 });
const open = (model: string) => openRealtime({ url: gateway.url, key: account.key, model });

test("one that dies before its first event is replaced unseen", async () => {
  const session = await open("core/voice");
  expect(session.socket.protocol).toBe("realtime");
  expect(await session.next("session.created")).toMatchObject({ session: { model: "openai/gpt-realtime-2" } });
  session.send({ type: "session.update", session: { type: "realtime", model: "core/voice", tracing: "auto" } });
  await session.next("session.updated");
  session.send(said("[[say: hello]]"));
  session.send({ type: "response.create" });
  await session.next("response.done");
  expect(session.types()).not.toContain("error");
  const [own, update] = heard.filter(({ type }) => type === "session.update").map((event) => event.session);
  expect(own).toMatchObject({ audio: { input: { turn_detection: { create_response: false } } } });
  expect(update).toEqual({ type: "realtime", model: "gpt-realtime-2" });
  expect(heard.find(({ type }) => type === "response.create")).toMatchObject({
    response: { max_output_tokens: 32_000 },
  });
});

test("none that is left is an error event", async () => {
  const session = await open("openai/gpt-realtime-2.1");
  expect(await session.next("error")).toMatchObject({ error: { type: "upstream_error", code: "upstream_error" } });
  expect((await session.closed).code).toBe(1011);
});

test("a response that the session did not request is cancelled, and nobody sees it", async () => {
  const session = await open("openai/gpt-realtime-2");
  await session.next("session.created");
  heard.length = 0;
  tell({ type: "response.created", event_id: "e", response: { id: "resp_own" } });
  const cancel = await eventually(() => heard.find(({ type }) => type === "response.cancel"), "the cancel");
  expect(cancel.response_id).toBe("resp_own");
  expect(session.types()).not.toContain("response.created");
});

test("a session ends when both sides are silent, and when it is as old as it may be", async () => {
  const [idle, busy] = [await open("openai/gpt-realtime-2"), await open("openai/gpt-realtime-2")];
  const speaking = setInterval(() => busy.send({ type: "input_audio_buffer.clear" }), 500);
  expect((await idle.closed).code).toBe(1000);
  expect(await busy.next("error")).toMatchObject({ error: { code: "websocket_connection_limit_reached" } });
  clearInterval(speaking);
  expect((await busy.closed).code).toBe(1000);
});

test("a flood of updates ends its session", async () => {
  const session = await open("openai/gpt-realtime-2");
  await session.next("session.created");
  for (let sent = 0; sent < 200; sent++)
    session.send({ type: "session.update", session: { type: "realtime", instructions: "Be brief." } });
  const error = await session.next("error");
  expect(JSON.stringify(error)).toContain("too many updates");
  expect((await session.closed).code).toBe(1008);
});
