// Sound in and out, and files in forms, with the official client: answers, holds and charges, and the error for a broken form.
import { fileURLToPath } from "node:url";
import { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

/** Image models that no vendor retires. */
const OVERLAY_DIR = fileURLToPath(new URL("../../fixtures/images-overlay", import.meta.url));

const gateway = forFile(await startTestGateway({ OVERLAY_DIR }));
const account = await gateway.account({ creditCents: 10_000 });

/** Plain sound of a given length: 8,000 samples of one byte per second. */
function wav(seconds: number): Buffer {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + seconds * 8_000, 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(seconds * 8_000, 40);
  return Buffer.concat([head, Buffer.alloc(seconds * 8_000, 128)]);
}

async function transactionOf(requestId: string | null) {
  const id = String(requestId).replace(/^req_/, "tx_");
  const headers = { authorization: `Bearer ${account.key}` };
  return (await (await fetch(`${gateway.url}/api/v1/transactions/${id}`, { headers })).json()) as Record<
    string,
    unknown
  >;
}

const sound = (seconds = 30) => toFile(wav(seconds), "talk.wav", { type: "audio/wav" });

describe("transcriptions", () => {
  it("by the second are charged for what the vendor heard, and held for the file", async () => {
    const { data, response } = await account.client.audio.transcriptions
      .create({ file: await sound(), model: "whisper-1", language: "en" })
      .withResponse();
    expect(data.text).toMatch(/^the sea is calm/);
    expect(data).toMatchObject({ usage: { type: "duration", seconds: 30, cost: 0.003 } });
    expect(Object.keys(data)).toEqual(["text", "usage"]);
    const requestId = response.headers.get("x-request-id");
    expect(await transactionOf(requestId)).toMatchObject({ endpoint: "transcription", charged_nano_usd: 3_000_000 });
    // The file's header, which is not sound, counts as a fraction of a second.
    expect(await gateway.record(requestId)).toMatchObject({ held_nano_usd: 3_100_000, charged_nano_usd: 3_000_000 });
  });

  it("by the token are charged for what the vendor counted", async () => {
    const { data, response } = await account.client.audio.transcriptions
      .create({ file: await sound(), model: "gpt-4o-transcribe", prompt: "a calm sea" })
      .withResponse();
    expect(data.usage).toMatchObject({ type: "tokens", output_tokens: 60 });
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({
      charged_nano_usd: 300 * 6_000 + 3 * 2_500 + 60 * 10_000,
      usage: { input_tokens: 303, output_tokens: 60 },
    });
  });

  it("never charge less than the vendor's least", async () => {
    const { response } = await account.client.audio.transcriptions
      .create({ file: await sound(2), model: "openai/whisper-large-v3-turbo" })
      .withResponse();
    // Ten seconds at four cents an hour.
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({ charged_nano_usd: 111_112 });
  });

  it.each([
    ["text", "text/plain; charset=utf-8", /^the sea is calm and\n$/],
    ["srt", "application/x-subrip", /^1\n00:00:00,000 --> 00:00:02,\d{3}\nthe sea is calm/],
    ["vtt", "text/vtt", /^WEBVTT\n\n00:00:00\.000 --> 00:00:02\.\d{3}\nthe sea is calm/],
  ] as const)("as %s are written by us, because that form does not tell what was used", async (form, type, text) => {
    const { data, response } = await account.client.audio.transcriptions
      .create({ file: await sound(2), model: "whisper-1", response_format: form })
      .withResponse();
    expect(response.headers.get("content-type")).toBe(type);
    expect(String(data)).toMatch(form === "text" ? /^the sea is calm/ : text);
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({ charged_nano_usd: 200_000 });
  });

  it("come in events, whose last says what they cost", async () => {
    const { data: stream, response } = await account.client.audio.transcriptions
      .create({ file: await sound(4), model: "gpt-4o-mini-transcribe", stream: true })
      .withResponse();
    const events: { type: string; usage?: unknown }[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toHaveLength(9);
    const nano = 40 * 3_000 + 8 * 5_000;
    expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", usage: { cost: nano / 1e9 } });
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({ charged_nano_usd: nano });
  });

  it("into English are another endpoint of the same models", async () => {
    const { text } = await account.client.audio.translations.create({ file: await sound(2), model: "whisper-1" });
    expect(text).toMatch(/^the sea/);
    const other = account.client.audio.translations.create({ file: await sound(2), model: "gpt-4o-transcribe" });
    await expect(other).rejects.toMatchObject({ status: 400, param: "model" });
  });

  it.each([
    [{ model: "gpt-4o-transcribe", response_format: "srt" }, "response_format"],
    [{ model: "whisper-1", stream: true }, "stream"],
    [{ model: "gpt-4o-transcribe", timestamp_granularities: ["word"] }, "timestamp_granularities"],
    [
      { model: "gpt-4o-transcribe", known_speaker_references: ["data:audio/wav;base64,AAAA"] },
      "known_speaker_references",
    ],
    [{ model: "whisper-1", temperature: 3 }, "temperature"],
  ])("%j is refused by name", async (more, param) => {
    const asked = account.client.audio.transcriptions.create({ file: await sound(1), ...more } as never);
    await expect(asked).rejects.toMatchObject({ status: 400, param });
  });

  it("of a file that could last for hours are held for hours", async () => {
    const file = await toFile(Buffer.alloc(3_000_000, 7), "talk.ogg");
    const poor = await gateway.account({ creditCents: 5 });
    const asked = poor.client.audio.transcriptions.create({ file, model: "whisper-1" });
    await expect(asked).rejects.toMatchObject({ status: 402, code: "insufficient_balance" });
  });
});

describe("a form", () => {
  const send = async (
    path: string,
    body: string | FormData,
    headers: Record<string, string> = {},
    key = account.key,
  ) => {
    const request = { method: "POST", body, headers: { authorization: `Bearer ${key}`, ...headers } };
    const response = await fetch(`${gateway.url}/v1${path}`, request);
    return { status: response.status, error: ((await response.json()) as { error: Record<string, unknown> }).error };
  };
  const type = { "content-type": "multipart/form-data; boundary=x" };

  it.each([
    ["that is JSON", '{"model":"whisper-1"}', { "content-type": "application/json" }, 415, "unsupported_media"],
    ["without a boundary", "--x--", { "content-type": "multipart/form-data" }, 415, "unsupported_media"],
    ["that breaks off", '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhis', type, 400, "bad_request"],
    ["of nothing", "", type, 400, "bad_request"],
    [
      "without a file",
      '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--x--\r\n',
      type,
      400,
      "bad_request",
    ],
  ])("%s is told so", async (_, body, headers, status, code) => {
    expect(await send("/audio/transcriptions", body, headers)).toMatchObject({ status, error: { code } });
  });

  it("with a file that is too large, or too many of them, is told so", async () => {
    const large = new FormData();
    large.set("model", "whisper-1");
    large.set("file", new Blob([Buffer.alloc(25 * 1024 * 1024 + 1)]), "talk.wav");
    expect(await send("/audio/transcriptions", large)).toMatchObject({
      status: 413,
      error: { code: "body_too_large" },
    });
    const many = new FormData();
    many.set("model", "whisper-1");
    for (const name of ["one.wav", "two.wav"]) many.append("file", new Blob([wav(1)]), name);
    expect(await send("/audio/transcriptions", many)).toMatchObject({ status: 400, error: { code: "bad_request" } });
  });

  it("of somebody who cannot pay is not taken in", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const form = new FormData();
    form.set("model", "whisper-1");
    form.set("file", new Blob([wav(1)]), "talk.wav");
    expect(await send("/audio/transcriptions", form, {}, poor.key)).toMatchObject({
      status: 402,
      error: { code: "insufficient_balance" },
    });
  });

  it("under an Idempotency-Key is charged once, and another file under it is refused", async () => {
    const options = { headers: { "idempotency-key": "one" } };
    const create = async (seconds: number) =>
      account.client.audio.transcriptions
        .create({ file: await sound(seconds), model: "whisper-1" }, options)
        .withResponse();
    const first = await create(3);
    const again = await create(3);
    expect(again.response.headers.get("idempotent-replayed")).toBe("true");
    expect(again.data.text).toBe(first.data.text);
    await expect(create(4)).rejects.toMatchObject({ status: 422, code: "idempotency_mismatch" });
  });
});

describe("a voice", () => {
  it("by the character is known before its first byte", async () => {
    const response = await account.client.audio.speech.create({
      model: "tts-1",
      voice: "alloy",
      input: "the sea is calm",
    });
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe("a piece of sound".repeat(4));
    const requestId = response.headers.get("x-request-id");
    expect(await transactionOf(requestId)).toMatchObject({ endpoint: "speech", charged_nano_usd: 15 * 15_000 });
    expect(await gateway.record(requestId)).toMatchObject({ held_nano_usd: 15 * 15_000 });
  });

  it("by the token is unpacked from events, because they alone tell what was used", async () => {
    const response = await account.client.audio.speech.create({
      model: "gpt-4o-mini-tts",
      voice: "coral",
      input: "the sea is calm",
      instructions: "slowly",
      response_format: "opus",
    });
    expect(response.headers.get("content-type")).toBe("audio/opus");
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe("a piece of sound".repeat(4));
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({
      charged_nano_usd: 12 * 600 + 32 * 12_000,
    });
  });

  it("comes in events to who asks for them", async () => {
    const response = await account.client.audio.speech.create({
      model: "gpt-4o-mini-tts",
      voice: "coral",
      input: "calm",
      stream_format: "sse",
    });
    const text = await response.text();
    expect(text.match(/"speech\.audio\.delta"/g)).toHaveLength(1);
    expect(text).toContain(`"cost":${(9 * 600 + 8 * 12_000) / 1e9}`);
  });

  it("pays in full who leaves while it speaks, because the vendor bills all of it", async () => {
    const leaving = new AbortController();
    const response = await account.client.audio.speech.create(
      { model: "gpt-4o-mini-tts", voice: "coral", input: "calm ".repeat(400).trim() },
      { signal: leaving.signal },
    );
    await response.body?.getReader().read();
    leaving.abort();
    const record = await gateway.record(response.headers.get("x-request-id"));
    expect(record.charged_nano_usd).toBe(408 * 600 + 3_200 * 12_000);
  });

  it.each([
    [{ model: "tts-1", instructions: "slowly" }, "instructions"],
    [{ model: "tts-1", stream_format: "sse" }, "stream_format"],
    [{ model: "tts-1", input: "x".repeat(4_097) }, "input"],
    [{ model: "tts-1", speed: 9 }, "speed"],
    [{ model: "tts-1", response_format: "midi" }, "response_format"],
  ])("%j is refused by name", async (more, param) => {
    const asked = account.client.audio.speech.create({ voice: "alloy", input: "calm", ...more } as never);
    await expect(asked).rejects.toMatchObject({ status: 400, param });
  });
});

describe("image edits", () => {
  const picture = (name = "one.png") => toFile(Buffer.from("a picture"), name, { type: "image/png" });

  it("are charged for the pictures that went in as well", async () => {
    const { data, response } = await account.client.images
      .edit({
        model: "easel/gpt-image-by-token",
        image: [await picture(), await picture("two.png")],
        prompt: "add a boat",
        quality: "low",
        size: "1024x1024",
      })
      .withResponse();
    expect(data.data?.[0]?.b64_json).toMatch(/^iVBOR/);
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({
      endpoint: "image_edits",
      charged_nano_usd: 7 * 5_000 + 646 * 8_000 + 272 * 32_000,
    });
  });

  it("are of models that edit", async () => {
    const asked = account.client.images.edit({ model: "easel/dall-e-2", image: await picture(), prompt: "x" });
    await expect(asked).rejects.toMatchObject({ status: 400, param: "model" });
  });
});
