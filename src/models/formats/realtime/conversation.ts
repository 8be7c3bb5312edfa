// What the realtime stand-in counts: the tokens of its conversation, and the sound of a tone.
import { isRecord, type Json } from "../../../core/json.ts";

/** Sound of 16 bits at 24 kHz. */
export const RATE_BYTES_PER_MS = 48;
const SAMPLES_PER_MS = 24;
const TONE_HZ = 440;
const LOUD = 500;
const IMAGE_TOKENS = 100;
const BYTES_PER_TOKEN = 4;
const AUDIO_MS_PER_TOKEN = 100;

export function tone(ms: number, amplitude = 8_000): string {
  const samples = Buffer.alloc(ms * RATE_BYTES_PER_MS);
  for (let at = 0; at < ms * SAMPLES_PER_MS; at++)
    samples.writeInt16LE(
      Math.round(amplitude * Math.sin((2 * Math.PI * TONE_HZ * at) / (1_000 * SAMPLES_PER_MS))),
      at * 2,
    );
  return samples.toString("base64");
}

export function isLoud(bytes: Buffer): boolean {
  let sum = 0;
  const samples = Math.floor(bytes.length / 2);
  for (let at = 0; at < samples; at++) sum += Math.abs(bytes.readInt16LE(at * 2));
  return samples > 0 && sum / samples > LOUD;
}

export class Conversation {
  #text = 0;
  #audio = 0;
  #images = 0;
  #cached = { text: 0, audio: 0, image: 0 };
  lastText = "";

  add(item: Json, soundMs = 0): void {
    const parts = Array.isArray(item.content) ? item.content.filter(isRecord) : [];
    const texts = parts.map(({ text }) => (typeof text === "string" ? text : ""));
    const output = typeof item.output === "string" ? item.output : "";
    // A turn of speech has no text, so it is answered as the text before it says.
    this.lastText = texts.join(" ") + output || this.lastText;
    this.#text += Math.ceil((texts.join("").length + output.length) / BYTES_PER_TOKEN);
    this.#images += parts.filter(({ type }) => type === "input_image").length * IMAGE_TOKENS;
    const sent = parts.map(({ audio }) => (typeof audio === "string" ? (audio.length * 0.75) / RATE_BYTES_PER_MS : 0));
    this.#audio += Math.ceil(sent.reduce((sum, ms) => sum + ms, soundMs) / AUDIO_MS_PER_TOKEN);
  }

  /** The input of a response; what an earlier one has read is cached. */
  read(settingsChars: number): Json {
    const text = this.#text + Math.ceil(settingsChars / BYTES_PER_TOKEN);
    const [audio, image] = [this.#audio, this.#images];
    const cached = this.#cached;
    this.#cached = { text, audio, image };
    const sum = (of: { text: number; audio: number; image: number }) => of.text + of.audio + of.image;
    return {
      input_tokens: text + audio + image,
      input_token_details: {
        text_tokens: text,
        audio_tokens: audio,
        image_tokens: image,
        cached_tokens: sum(cached),
        cached_tokens_details: { text_tokens: cached.text, audio_tokens: cached.audio, image_tokens: cached.image },
      },
    };
  }

  /** A response has extended it. */
  said({ output_token_details: details }: Json): void {
    if (!isRecord(details)) return;
    this.#text += Number(details.text_tokens);
    this.#audio += Number(details.audio_tokens);
  }
}
