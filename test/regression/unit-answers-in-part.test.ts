// Incomplete answers of models sold by units, or answers without usage: the gateway counts what arrived.
import { describe, expect, it } from "vitest";
import { soundSecondsMax } from "../../src/models/chat/units/sound-seconds.ts";
import { HeldStream } from "../../src/upstream/held-stream.ts";
import { completions } from "../../src/upstream/unit-dialects/completions.ts";
import { falImages } from "../../src/upstream/unit-dialects/fal-images.ts";
import { openaiImages } from "../../src/upstream/unit-dialects/openai-images.ts";
import { openaiVoice } from "../../src/upstream/unit-dialects/openai-voice.ts";
import type { UnitAsked, UnitContext, UnitDialect } from "../../src/upstream/unit-dialects/unit-dialect.ts";
import { unitLane } from "../../src/upstream/unit-lane.ts";

const ASKED: UnitAsked = { task: "generate", body: { asked_pixels: 1_000_000 }, files: [], stream: true };
const CONTEXT: UnitContext = {
  upstreamModel: "m",
  servedSlug: "lab/m",
  spec: { slug: "lab/m", kind: "images", dialect: "openai-images" },
  completionId: "c",
  createdS: 1,
};

/** How a stream of these events ends. */
function ended(dialect: UnitDialect, events: readonly unknown[]): string {
  let end = "open";
  const held = new HeldStream({
    content() {},
    done: () => {
      end = "done";
    },
    failed: ({ message }) => {
      end = message;
    },
  });
  const reader = unitLane(dialect, ASKED, CONTEXT).reader(held);
  for (const event of events) {
    const bytes = Buffer.from(JSON.stringify(event));
    reader.event(bytes, 0, bytes.length, null);
  }
  held.end();
  return end;
}

describe("what did not come is not charged", () => {
  it("pictures that are none, of a vendor that charges by the picture", () => {
    const asked = { ...ASKED, unit: "1024x1024 standard" };
    const answer = openaiImages.answer({ data: [{ url: "https://a.example/1" }, { url: null }, {}] }, asked, CONTEXT);
    expect(answer).toMatchObject({ body: { data: [{ url: "https://a.example/1" }] }, counts: { [asked.unit]: 1 } });
  });

  it("pictures that are none, of one that charges by their size", () => {
    const answer = falImages.answer({ images: [{ url: "https://a.example/1" }, { url: "" }, {}] }, ASKED, CONTEXT);
    expect(answer).toMatchObject({ counts: { megapixels: 1 } });
  });

  it.each([
    ["sound without sound", openaiVoice, [{ type: "speech.audio.done", usage: { input_tokens: 5, output_tokens: 9 } }]],
    [
      "sound whose pieces are empty",
      openaiVoice,
      [{ type: "speech.audio.delta", audio: "" }, { type: "speech.audio.done" }],
    ],
    [
      "a picture that is not there",
      openaiImages,
      [{ type: "image_generation.completed", usage: { output_tokens: 9 } }],
    ],
  ])("%s is a failure", (_, dialect, events) => {
    expect(ended(dialect, events)).toMatch(/is empty|has no image/);
  });
});

it("a completion without usage has its text for a count of our own", () => {
  const lane = unitLane(completions, { ...ASKED, stream: false }, CONTEXT);
  const answer = lane.answer({ choices: [{ text: "one two three", finish_reason: "stop" }] });
  expect(answer).toMatchObject({ text: "one two three", counts: null });
});

describe("an answer that does not say what it used", () => {
  const image = { data: [{ b64_json: "aaaa" }] };
  const lane = unitLane(openaiImages, { ...ASKED, stream: false }, CONTEXT);

  it("but counts nothing of everything has not said it: what was asked for is counted", () => {
    expect(lane.answer({ ...image, usage: { input_tokens: 0, output_tokens: 0 } })).toMatchObject({ counts: null });
  });

  it("is no answer either, and what it says of its use is known all the same", () => {
    const used = { usage: { input_tokens: 5, output_tokens: 7 } };
    expect(lane.answer({ data: [], ...used })).toMatchObject({ kind: "provider_malformed" });
    expect(lane.told?.({ data: [], ...used })).toMatchObject({ counts: { textIn: 5, imageOut: 7 } });
    expect(lane.told?.({ data: [], usage: { input_tokens: 0 } })).toBeNull();
  });
});

describe("a WAV file is bounded by the sound that is in it", () => {
  const chunk = (name: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.write(name, 0, "latin1");
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data]);
  };
  const format = (code: number, channels: number, hertz: number, bits: number, subformat?: number): Buffer => {
    const data = Buffer.alloc(40);
    data.writeUInt16LE(code, 0);
    data.writeUInt16LE(channels, 2);
    data.writeUInt32LE(hertz, 4);
    data.writeUInt16LE(bits, 14);
    data.writeUInt16LE(subformat ?? 0, 24);
    return data;
  };
  const secondsOf = (...chunks: readonly Buffer[]) => {
    const bytes = Buffer.concat([Buffer.from("RIFF\0\0\0\0WAVE", "latin1"), ...chunks]);
    const file = { field: "file", filename: "a.wav", contentType: "audio/wav", size: bytes.length };
    return soundSecondsMax({
      ...file,
      async *bytes() {
        yield bytes;
      },
    });
  };
  const data = chunk("data", Buffer.alloc(800_000));
  const studio = format(1, 32, 192_000, 32);

  it("of plain sound", async () => {
    expect(
      await secondsOf(chunk("LIST", Buffer.alloc(7)), Buffer.alloc(1), chunk("fmt ", format(1, 1, 8_000, 8)), data),
    ).toBe(101);
    expect(await secondsOf(chunk("fmt ", format(0xfffe, 1, 8_000, 8, 1)), data)).toBe(101);
  });

  it("not by a format that stands where no reader looks", async () => {
    const lie = chunk("JUNK", chunk("fmt ", studio));
    expect(await secondsOf(lie, chunk("fmt ", format(1, 1, 8_000, 8)), data)).toBe(101);
  });

  it("not by the figures of compressed sound that says so elsewhere", async () => {
    const mp3 = format(0xfffe, 32, 192_000, 32, 0x55);
    expect(await secondsOf(chunk("fmt ", mp3), data)).toBeGreaterThan(1_000);
  });
});
