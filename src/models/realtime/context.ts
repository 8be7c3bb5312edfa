// The most tokens that the next response of a session can read: the vendor's last count, and everything that was added since.
import { isRecord, type Json } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";

/** Vendors add a few tokens around each item. */
const TOKENS_AROUND_ITEM = 16;
/** The vendor's own instructions, where the client sends none. */
const OWN_INSTRUCTION_TOKENS = 1_000;
const TEXT_BYTES_PER_TOKEN = 4;
const BASE64_BYTES = 0.75;

export interface ContextLimits {
  readonly tokensMax: number;
  readonly audioTokensPerSecond: number;
  readonly imageTokensMax: number;
}

/** Amounts that only grow; text in bytes, because a tokenizer makes at most one token of a byte. */
export interface Added {
  readonly textBytes: number;
  readonly audioSeconds: number;
  readonly images: number;
}

const NOTHING: Added = { textBytes: 0, audioSeconds: 0, images: 0 };

function plus(a: Added, b: Added, sign: 1 | -1 = 1): Added {
  return {
    textBytes: a.textBytes + sign * b.textBytes,
    audioSeconds: a.audioSeconds + sign * b.audioSeconds,
    images: a.images + sign * b.images,
  };
}

export function secondsOf(base64Chars: number, bytesPerSecond: number): number {
  return (base64Chars * BASE64_BYTES) / bytesPerSecond;
}

/** What items add: their sound and images apart from their text. `bytes`: of their whole JSON. */
export function addedBy(items: readonly unknown[], bytes: number, bytesPerSecond: number): Added {
  let added: Added = { ...NOTHING, textBytes: bytes + items.length * TOKENS_AROUND_ITEM };
  for (const item of items) {
    const parts = isRecord(item) && Array.isArray(item.content) ? item.content.filter(isRecord) : [];
    for (const { type, audio, image_url } of parts) {
      const isImage = type === "input_image";
      const soundChars = typeof audio === "string" ? audio.length : 0;
      const imageChars = isImage && typeof image_url === "string" ? image_url.length : 0;
      const audioSeconds = secondsOf(soundChars, bytesPerSecond);
      added = plus(added, { textBytes: -soundChars - imageChars, audioSeconds, images: isImage ? 1 : 0 });
    }
  }
  return added;
}

export class Context {
  /** As the vendor counted it. */
  #base = { text: OWN_INSTRUCTION_TOKENS, audio: 0, image: 0 };
  #added = NOTHING;

  add(added: Partial<Added>): void {
    this.#added = plus(this.#added, { ...NOTHING, ...added });
  }

  /** What has been added so far, to be passed to `counted` once a response that reads it has ended. */
  get added(): Added {
    return this.#added;
  }

  /** The input of a response, at most; `more` is read by it alone. */
  bound(more: Added, limits: ContextLimits): Counts {
    return this.#tokens(more, limits, 1);
  }

  /** The likely input of a response, for a vendor that never says. */
  estimate(more: Added, limits: ContextLimits): Counts {
    return this.#tokens(more, limits, TEXT_BYTES_PER_TOKEN);
  }

  /** A response has read the conversation as of `added`, and appended its output. */
  counted(read: Counts, added: Added): void {
    const { textIn = 0, cachedIn = 0, audioIn = 0, cachedAudioIn = 0, imageIn = 0, cachedImageIn = 0 } = read;
    this.#base = { text: textIn + cachedIn, audio: audioIn + cachedAudioIn, image: imageIn + cachedImageIn };
    this.#added = plus(this.#added, added, -1);
    this.produced(read);
  }

  /** A response has appended its output. */
  produced({ textOut = 0, audioOut = 0 }: Counts): void {
    this.#base = { ...this.#base, text: this.#base.text + textOut, audio: this.#base.audio + audioOut };
  }

  /** The vendor drops what exceeds the model's context; text goes first here, because it is the cheapest. */
  #tokens(
    more: Added,
    { tokensMax, audioTokensPerSecond, imageTokensMax }: ContextLimits,
    bytesPerToken: number,
  ): Counts {
    const all = plus(this.#added, more);
    const audio = this.#base.audio + Math.ceil(all.audioSeconds * audioTokensPerSecond);
    const image = this.#base.image + all.images * imageTokensMax;
    const text = this.#base.text + Math.ceil(all.textBytes / bytesPerToken);
    const audioIn = Math.min(audio, tokensMax);
    const imageIn = Math.min(image, tokensMax - audioIn);
    return { audioIn, imageIn, textIn: Math.min(text, tokensMax - audioIn - imageIn) };
  }
}

/** The JSON size of the settings that every response reads. */
export function settingsBytes({ instructions, tools }: Json): number {
  return [instructions, tools].reduce<number>(
    (bytes, one) => bytes + (one === undefined ? 0 : Buffer.byteLength(JSON.stringify(one) ?? "")),
    0,
  );
}
