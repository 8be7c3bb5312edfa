// Realtime sessions as their client and the ledger see them, against the sandbox's vendor.
import { describe, expect, test } from "vitest";
import { tone } from "../../../src/models/formats/realtime/conversation.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { type Event, openRealtime, said } from "../../support/realtime.ts";
import { refusedSocket } from "../../support/responses-socket.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

const open = (key = account.key, more: { model?: string; path?: string } = {}) =>
  openRealtime({ url: gateway.url, key, ...more });

interface Posting {
  readonly kind: string;
  readonly charged_usd?: string;
  readonly amount_usd?: string;
  readonly model?: string;
}

async function postings({ key }: Pick<TestAccount, "key">): Promise<readonly Posting[]> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${gateway.url}/api/v1/transactions`, { headers });
  const { transactions } = (await answer.json()) as { transactions: Posting[] };
  return transactions.filter(({ kind }) => kind !== "topup");
}

interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly output_token_details: { readonly text_tokens: number; readonly audio_tokens: number };
  readonly cost: number;
}

const responseOf = (event: Event) => event.response as Record<string, unknown> & { usage: Usage };
const errorOf = (event: Event) => event.error as Record<string, unknown>;

describe("a response", () => {
  test("is relayed as the vendor speaks, under our model's name, and charged once", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    expect(session.socket.protocol).toBe("realtime");
    const created = await session.next("session.created");
    expect(created.session).toMatchObject({
      model: "openai/gpt-realtime-2",
      audio: { input: { turn_detection: { type: "server_vad", create_response: true } } },
    });
    expect(session.types()).toEqual(["session.created"]);
    session.send(said("Hello. [[say: one two three]]"));
    session.send({ type: "response.create", event_id: "mine" });
    const begun = await session.next("response.created");
    expect(responseOf(begun).max_output_tokens).toBe("inf");
    const done = await session.next("response.done");
    expect(responseOf(done)).toMatchObject({ status: "completed", max_output_tokens: "inf" });
    expect(session.types().filter((type) => type === "response.output_audio.delta")).toHaveLength(3);
    const { usage } = responseOf(done);
    // 3 words of 100 ms: 6 tokens of sound at 64 USD per million, and 4 of text at 24; the input is text at 4.
    const { input_tokens: input, output_token_details: output } = usage;
    const expected = input * 4e-6 + output.text_tokens * 24e-6 + output.audio_tokens * 64e-6;
    expect(usage.cost).toBeCloseTo(expected, 8);
    const all = await postings(own);
    expect(all).toHaveLength(1);
  });

  test("may be text, call a tool, and go on with its result", async () => {
    const session = await open();
    await session.next("session.created");
    const tools = [{ type: "function", name: "weather", parameters: { type: "object", properties: {} } }];
    session.send({ type: "session.update", session: { type: "realtime", output_modalities: ["text"], tools } });
    await session.next("session.updated");
    session.send(said('[[call: weather {"city":"Oslo"}]]'));
    session.send({ type: "response.create" });
    const call = await session.next("response.function_call_arguments.done");
    expect(call).toMatchObject({ name: "weather", arguments: '{"city":"Oslo"}' });
    await session.next("response.done");
    const output = { type: "function_call_output", call_id: call.call_id, output: "[[say: sunny]]" };
    session.send({ type: "conversation.item.create", item: output });
    session.send({ type: "response.create" });
    expect((await session.next("response.output_text.delta")).delta).toBe("sunny");
    expect(responseOf(await session.next("response.done")).status).toBe("completed");
  });

  test("that the client cancels is charged for what was said", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    session.send(said("[[say: one two three four five six]] [[wait: 300]]"));
    session.send({ type: "response.create" });
    await session.next("response.output_audio.delta");
    session.send({ type: "response.cancel" });
    const done = await session.next("response.done");
    expect(responseOf(done).status).toBe("cancelled");
    expect(responseOf(done).usage.cost).toBeGreaterThan(0);
    expect(await postings(own)).toHaveLength(1);
  });

  test("that fails at the vendor is free", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    session.send(said("[[fault: failed]]"));
    session.send({ type: "response.create" });
    expect(responseOf(await session.next("response.done")).status).toBe("failed");
    expect(await postings(own)).toEqual([]);
    session.send(said("[[say: again]]"));
    session.send({ type: "response.create" });
    expect(responseOf(await session.next("response.done")).status).toBe("completed");
  });
});

describe("turns of speech", () => {
  const speak = (session: Awaited<ReturnType<typeof open>>, ms: number, amplitude?: number) => {
    for (let at = 0; at < ms; at += 100)
      session.send({ type: "input_audio_buffer.append", audio: tone(100, amplitude) });
  };

  test("are answered as if the vendor had begun by itself, and interrupted by the next turn", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    await session.next("session.created");
    const system = { type: "message", role: "system", content: [{ type: "input_text", text: "[[wait: 300]]" }] };
    session.send({ type: "conversation.item.create", item: system });
    speak(session, 300);
    speak(session, 300, 0);
    await session.next("input_audio_buffer.committed");
    await session.next("response.output_audio.delta");
    speak(session, 100);
    const done = await session.next("response.done");
    expect(responseOf(done)).toMatchObject({
      status: "cancelled",
      status_details: { reason: "turn_detected" },
      max_output_tokens: "inf",
    });
    expect(session.types()).not.toContain("session.updated");
    expect(session.types()).not.toContain("error");
    expect(session.types()).not.toContain("rate_limits.updated");
    expect(await postings(own)).toHaveLength(1);
  });

  test("are transcribed at the transcription model's price", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    const transcription = { model: "gpt-4o-transcribe" };
    const turn_detection = null;
    session.send({
      type: "session.update",
      session: { type: "realtime", audio: { input: { transcription, turn_detection } } },
    });
    const updated = await session.next("session.updated");
    expect(updated.session).toMatchObject({ audio: { input: { turn_detection: null } } });
    speak(session, 2_000);
    session.send({ type: "input_audio_buffer.commit" });
    const told = await session.next("conversation.item.input_audio_transcription.completed");
    expect(told).toMatchObject({ transcript: "a tone", usage: { input_tokens: 20, output_tokens: 2 } });
    const [posting] = await eventually(async () => {
      const all = await postings(own);
      return all.length > 0 ? all : undefined;
    }, "the transcription's posting");
    // 20 tokens of sound at 6 USD per million, 2 of text at 10.
    expect(posting).toMatchObject({ model: "openai/gpt-4o-transcribe" });
    expect(JSON.stringify(posting)).toContain("0.00014");
    expect(session.types()).not.toContain("response.created");
  });

  test("are not transcribed by a model that the key may not call", async () => {
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ label: "voice alone", models: ["core/voice"] });
    const made = await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers, body });
    const session = await open(String(((await made.json()) as Event).api_key), { model: "core/voice" });
    const input = { transcription: { model: "gpt-4o-transcribe" } };
    session.send({ type: "session.update", session: { type: "realtime", audio: { input } } });
    expect(errorOf(await session.next("error"))).toMatchObject({ code: "key_not_allowed" });
  });
});

describe("money", () => {
  test("follows an output limit that the vendor has not confirmed yet", async () => {
    const session = await open();
    const limits = { max_output_tokens: 1, output_modalities: ["text"] };
    session.send({ type: "session.update", session: { type: "realtime", ...limits } });
    session.send(said("[[say: one two three]]"));
    session.send({ type: "response.create" });
    const response = responseOf(await session.next("response.done"));
    expect(response).toMatchObject({ status: "incomplete", max_output_tokens: 1 });
  });

  test.each([
    ["begins after the sound, and ends before the transcript", {}],
    ["was to be turned off by an update that the vendor refused", { speed: 9 }],
  ])("is charged for a transcription that %s", async (_, more) => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    const set = (input: Event, rest: Event = {}) =>
      session.send({ type: "session.update", session: { type: "realtime", audio: { input }, ...rest } });
    set({ turn_detection: null });
    session.send({ type: "input_audio_buffer.append", audio: tone(2_000) });
    set({ transcription: { model: "gpt-4o-transcribe" } });
    if (Object.keys(more).length > 0) set({ transcription: null }, more);
    session.send({ type: "input_audio_buffer.commit" });
    if (Object.keys(more).length === 0) set({ transcription: null });
    await session.next("conversation.item.input_audio_transcription.completed");
    const posted = await eventually(async () => (await postings(own))[0], "the transcription's posting");
    expect(posted).toMatchObject({ model: "openai/gpt-4o-transcribe" });
  });

  test("that does not suffice ends the session with OpenAI's code", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const session = await open(poor.key);
    session.send(said("Hello"));
    session.send({ type: "response.create", event_id: "first" });
    const error = await session.next("error");
    expect(errorOf(error)).toMatchObject({ type: "insufficient_quota", code: "insufficient_quota", event_id: "first" });
    expect((await session.closed).code).toBe(1008);
    expect(await postings(poor)).toEqual([]);
  });

  test("that is short lowers the answer's length", async () => {
    // 4 cents pay for some 600 tokens of sound.
    const poor = await gateway.account({ creditCents: 4 });
    const session = await open(poor.key);
    session.send(said(`[[say: ${"word ".repeat(500)}]]`));
    session.send({ type: "response.create" });
    const done = await session.next("response.done");
    expect(responseOf(done)).toMatchObject({
      status: "incomplete",
      status_details: { reason: "max_output_tokens" },
      max_output_tokens: "inf",
    });
    const { usage } = responseOf(done);
    expect(usage.cost).toBeLessThanOrEqual(0.04);
    expect(usage.output_tokens).toBeGreaterThan(256);
  });

  test("is charged for a response whose client has left", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    session.send(said("[[say: one two three four five six]] [[wait: 300]]"));
    session.send({ type: "response.create" });
    await session.next("response.output_audio.delta");
    session.socket.close();
    const [posting] = await eventually(async () => {
      const all = await postings(own);
      return all.length > 0 ? all : undefined;
    }, "the posting");
    expect(JSON.stringify(posting)).toContain("gpt-realtime");
  });

  test("is not charged where the vendor dies in a response", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const session = await open(own.key);
    session.send(said("[[fault: cut]]"));
    session.send({ type: "response.create" });
    expect(errorOf(await session.next("error"))).toMatchObject({ type: "upstream_error", code: "upstream_error" });
    expect((await session.closed).code).toBe(1011);
    expect(await postings(own)).toEqual([]);
  });
});

describe("opening", () => {
  test("takes tiers, the longer path, and a key in the header", async () => {
    const session = await open(account.key, { model: "core/voice", path: "/api/llm/v1/realtime" });
    expect(await session.next("session.created")).toMatchObject({ session: { model: "openai/gpt-realtime-2.1" } });
    const headers = { authorization: `Bearer ${account.key}` };
    const unknown = await refusedSocket({ url: gateway.url, path: "/v1/realtime?model=no-such", headers });
    expect([unknown.status, (unknown.body.error as Event).code]).toEqual([404, "model_not_found"]);
    const none = await refusedSocket({ url: gateway.url, path: "/v1/realtime", headers });
    expect(none.status).toBe(400);
    const noKey = await refusedSocket({ url: gateway.url, path: "/v1/realtime?model=openai/gpt-realtime-2" });
    expect(noKey.status).toBe(401);
    const plain = await fetch(`${gateway.url}/v1/realtime?model=core/voice`, { headers });
    expect(plain.status).toBe(400);
  });

  test("is refused over WebRTC, with a reason", async () => {
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/sdp" };
    const answer = await fetch(`${gateway.url}/v1/realtime/calls`, { method: "POST", headers, body: "v=0" });
    expect(answer.status).toBe(404);
    const { error } = (await answer.json()) as { error: Event };
    expect(error.message).toContain("WebRTC");
    expect(error.hint).toContain("/v1/realtime/client_secrets");
  });

  test("by a client secret is limited to its model and time", async () => {
    const mint = async (body: unknown) => {
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const answer = await fetch(`${gateway.url}/v1/realtime/client_secrets`, init);
      return { status: answer.status, json: (await answer.json()) as Event };
    };
    const session = { type: "realtime", model: "openai/gpt-realtime-2", instructions: "Speak Danish." };
    const made = await mint({ expires_after: { anchor: "created_at", seconds: 60 }, session });
    expect(made.json).toMatchObject({
      value: expect.stringMatching(/^ek_/),
      session: { model: "openai/gpt-realtime-2" },
    });
    const secret = String(made.json.value);
    const opened = await open(secret);
    expect(await opened.next("session.created")).toMatchObject({ session: { instructions: "Speak Danish." } });
    opened.send({ type: "response.create" });
    await opened.next("response.done");
    const other = await open(secret, { model: "openai/gpt-realtime-2.1-mini" });
    expect(errorOf(await other.next("error"))).toMatchObject({ code: "bad_request", param: "model" });
    const models = await fetch(`${gateway.url}/api/v1/transactions`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(models.status).toBe(401);
    const authorization = `Bearer ${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
    const path = "/v1/realtime?model=openai/gpt-realtime-2";
    expect((await refusedSocket({ url: gateway.url, path, headers: { authorization } })).status).toBe(401);
    expect((await mint({ expires_after: { seconds: 601 }, session })).status).toBe(400);
    expect((await mint({ session: { type: "realtime" } })).status).toBe(400);
  });
});

describe("bad input", () => {
  test.each([
    ["{", "body"],
    [{ no: "type" }, "type"],
    [{ type: "conversation.frob" }, "type"],
    [{ type: "session.update", session: { type: "realtime", model: "openai/gpt-realtime-2.1-mini" } }, "session.model"],
    [{ type: "session.update", session: { type: "realtime", prompt: { id: "p" } } }, "session.prompt"],
    [{ type: "session.update", session: { type: "realtime", tools: [{ type: "mcp" }] } }, "session.tools"],
    [{ type: "response.create", response: { max_output_tokens: -1 } }, "response.max_output_tokens"],
    ['{"type":"input_audio_buffer.append","audio":"AAAA","type":"response.frob"}', "type"],
  ])("%j is an error event, and the session goes on", async (event, param) => {
    const session = await open();
    await session.next("session.created");
    session.send(event as Event);
    const error = errorOf(await session.next("error"));
    expect(error.type).toBe("invalid_request_error");
    expect(error.param ?? "body").toBe(param);
    session.send(said("[[say: still here]]"));
    session.send({ type: "response.create", response: { output_modalities: ["text"] } });
    await session.next("response.done");
  });

  test("the vendor's own refusals name the client's event", async () => {
    const session = await open();
    session.send({ type: "session.update", event_id: "odd", session: { type: "realtime", speed: 9 } });
    expect(errorOf(await session.next("error")).event_id).toBe("odd");
    session.send({ type: "response.create", event_id: "odder", response: { output_modalities: ["smell"] } });
    expect(errorOf(await session.next("error")).event_id).toBe("odder");
  });

  test("a message that is too long, or no text, ends its session alone", async () => {
    const [long, binary] = [await open(), await open()];
    long.send({ type: "input_audio_buffer.append", audio: "A".repeat(3 * 1024 * 1024) });
    await long.closed;
    binary.socket.send(new Uint8Array([1, 2, 3]));
    expect((await binary.closed).code).toBe(1003);
  });
});
