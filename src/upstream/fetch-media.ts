// Fetches linked media for vendors that cannot: through the guarded fetch, a few at a time, within byte and time limits, once per call.
import { createHash } from "node:crypto";
import { GatewayError } from "../core/errors.ts";
import { getOrMake } from "../core/maps.ts";
import { inOrder, Places } from "../core/places.ts";
import type { FetchedMedia, Media, MediaLink } from "./media-links.ts";
import type { PublicFetch } from "./public-fetch.ts";

/** Per link, and per call: what vendors accept inline. */
export const LINK_BYTES_MAX = 8 * 1024 * 1024;
export const CALL_BYTES_MAX = 16 * 1024 * 1024;
/** For all links of a call, DNS and redirects included. */
export const FETCH_MS_MAX = 10_000;
/** The links that one call opens concurrently. */
const AT_ONCE = 4;
/** Links per account and minute in free calls, because they failed: beyond it we would be a free crawler. Success takes one off again. */
export const UNPAID_LINKS_MAX = 120;
/** The links that this process opens concurrently. */
const OPEN_MAX = 32;
/** The fetched bytes that this process holds for vendors that have not answered yet. */
const HELD_BYTES_MAX = 256 * 1024 * 1024;
const WORDS: Readonly<Record<MediaLink["kind"], string>> = { image: "an image", file: "a document" };

/** The signatures of file types; the server's content type is not trusted. */
const SIGNATURES: readonly (readonly [mediaType: string, test: (bytes: Buffer) => boolean])[] = [
  ["image/png", (bytes) => bytes.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff],
  ["image/gif", (bytes) => /^GIF8[79]a/.test(bytes.subarray(0, 6).toString("latin1"))],
  ["image/webp", (bytes) => /^RIFF[\s\S]{4}WEBP/.test(bytes.subarray(0, 12).toString("latin1"))],
  ["application/pdf", (bytes) => bytes.subarray(0, 1024).includes("%PDF-")],
];

/** Replaces a sandbox account's link, which is never fetched: the smallest image, and a two-page document. */
const PLAY: Readonly<Record<MediaLink["kind"], Media>> = {
  image: {
    mediaType: "image/png",
    base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==",
  },
  file: { mediaType: "application/pdf", base64: Buffer.from(twoPages()).toString("base64") },
};

function twoPages(): string {
  const page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>";
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 2 /Kids [3 0 R 4 0 R] >>", page, page];
  const body = objects.map((object, at) => `${at + 1} 0 obj\n${object}\nendobj\n`).join("");
  return `%PDF-1.4\n${body}trailer\n<< /Root 1 0 R >>\n%%EOF\n`;
}

/** The type of fetched bytes by their signature; null if the part may not hold it. */
function typeOf(bytes: Buffer, { kind, url }: MediaLink): string | null {
  const known = SIGNATURES.find(([, test]) => test(bytes))?.[0] ?? null;
  if (kind === "image") return known?.startsWith("image/") ? known : null;
  if (known === "application/pdf") return known;
  // The token bound took a URL that ends in .pdf for a document, so it must be one; any other may be text.
  if (known !== null || /\.pdf$/i.test(url.split(/[?#]/, 1)[0] ?? "") || bytes.includes(0)) return null;
  return "text/plain";
}

function refused(fault: string): GatewayError {
  return new GatewayError("bad_url", { detail: fault });
}

function busy(): GatewayError {
  return new GatewayError("upstream_busy", { detail: "too many links are being opened" });
}

/** Counts opened links without a paid call, by account and minute; the caller provides it. */
export interface UnpaidLinks {
  take(account: string, max: number): unknown;
  peek(account: string, max: number): { readonly allowed: boolean };
  giveBack(account: string): void;
}

/** One call's links; each is fetched once, however many candidates need it. */
interface CallMedia {
  readonly media: Map<string, Promise<Media | GatewayError>>;
  bytes: number;
  /** Opened links whose call has no outcome yet, and links counted as unpaid. */
  opened: number;
  unpaid: number;
  /** Attempts whose vendor has not answered yet. */
  holders: number;
}

export interface FetchOptions {
  /** Identifies the call: its candidates share what any of them fetched. */
  readonly asked: object;
  /** The calling account; null if there is none. */
  readonly account: string | null;
  readonly sandbox: boolean;
  readonly signal: AbortSignal;
}

/** Fetches what a request links to. Opens nothing before the first call. */
export class MediaFetcher {
  readonly #open: PublicFetch["open"];
  readonly #unpaid: UnpaidLinks | null;
  readonly #calls = new WeakMap<object, CallMedia>();
  readonly #places = new Places(OPEN_MAX);
  #heldBytes = 0;

  constructor(open: PublicFetch["open"], unpaid: UnpaidLinks | null) {
    this.#open = open;
    this.#unpaid = unpaid;
  }

  /** Fetches the links, or returns why one of them fails. The bytes count as held until `release`. Never rejects. */
  async fetch(
    links: readonly MediaLink[],
    { asked, account, sandbox, signal }: FetchOptions,
  ): Promise<FetchedMedia | GatewayError> {
    const call = this.#callOf(asked);
    if (call.holders === 0) this.#heldBytes += call.bytes;
    call.holders += 1;
    if (sandbox) return new Map(links.map(({ url, kind }) => [url, PLAY[kind]]));
    if (account !== null && this.#unpaid?.peek(account, UNPAID_LINKS_MAX).allowed === false) {
      return refused(
        `is one of too many of this account, ${UNPAID_LINKS_MAX} in a minute, that were opened for nothing`,
      );
    }
    const stop = new AbortController();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      stop.abort();
    }, FETCH_MS_MAX);
    try {
      const fetched = await this.#all(links, call, stop, AbortSignal.any([signal, stop.signal]));
      return late ? refused(`and the others of the call take longer than ${FETCH_MS_MAX / 1_000} seconds`) : fetched;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Call when the attempt no longer needs the bytes; `served`: no other attempt of the call will either. */
  release(asked: object, account: string | null, served: boolean): void {
    const call = this.#callOf(asked);
    if (account !== null) this.#settle(call, account, served);
    call.holders -= 1;
    if (call.holders > 0) return;
    this.#heldBytes -= call.bytes;
    if (!served) return;
    call.media.clear();
    call.bytes = 0;
  }

  #callOf(asked: object): CallMedia {
    return getOrMake(this.#calls, asked, () => ({ media: new Map(), bytes: 0, opened: 0, unpaid: 0, holders: 0 }));
  }

  /** Counts another piece. Throws if it exceeds a limit. */
  #hold(call: CallMedia, bytes: number): void {
    call.bytes += bytes;
    this.#heldBytes += bytes;
    if (call.bytes > CALL_BYTES_MAX)
      throw refused(`and the others of the call serve more than ${CALL_BYTES_MAX} bytes`);
    if (this.#heldBytes > HELD_BYTES_MAX) throw busy();
  }

  async #read(link: MediaLink, call: CallMedia, signal: AbortSignal): Promise<Media | GatewayError> {
    const answer = await this.#open(link.url, { bytesMax: LINK_BYTES_MAX, msMax: FETCH_MS_MAX, signal });
    if (answer instanceof GatewayError) return answer;
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body) {
      // Leaving the loop closes the connection.
      if (answer.status !== 200) break;
      this.#hold(call, piece.length);
      pieces.push(piece);
    }
    if (answer.status !== 200) return refused(`answers with status ${answer.status}`);
    const bytes = Buffer.concat(pieces);
    const mediaType = typeOf(bytes, link);
    if (mediaType === null) return refused(`does not serve ${WORDS[link.kind]} that can be read here`);
    return { mediaType, base64: bytes.toString("base64") };
  }

  async #readInTurn(link: MediaLink, call: CallMedia, signal: AbortSignal): Promise<Media | GatewayError> {
    if (!(await this.#places.enter("", signal))) return busy();
    try {
      call.opened += 1;
      return await this.#read(link, call, signal);
    } catch (error) {
      return error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
    } finally {
      this.#places.leave();
    }
  }

  /** Books a call's opened links as unpaid, or gives unpaid ones back if the call was served. */
  #settle(call: CallMedia, account: string, served: boolean): void {
    for (; !served && call.opened > 0; call.opened--, call.unpaid++) this.#unpaid?.take(account, UNPAID_LINKS_MAX);
    for (; served && call.unpaid > 0; call.unpaid--) this.#unpaid?.giveBack(account);
    call.opened = 0;
  }

  /** Keys links by hash, so that long URLs take little memory. A fetch aborted before its answer may be tried again. */
  async #mediaOf(link: MediaLink, call: CallMedia, signal: AbortSignal): Promise<Media | GatewayError> {
    const hash = createHash("sha256").update(`${link.kind} ${link.url}`).digest("base64");
    const reading = call.media.get(hash) ?? this.#readInTurn(link, call, signal);
    call.media.set(hash, reading);
    const media = await reading;
    if (media instanceof GatewayError && signal.aborted) call.media.delete(hash);
    return media;
  }

  async #all(
    links: readonly MediaLink[],
    call: CallMedia,
    stop: AbortController,
    signal: AbortSignal,
  ): Promise<FetchedMedia | GatewayError> {
    const fetched = new Map<string, Media>();
    const fault = await inOrder(links, AT_ONCE, async (link) => {
      const media = await this.#mediaOf(link, call, signal);
      if (!(media instanceof GatewayError)) return void fetched.set(link.url, media);
      stop.abort();
      throw media;
    }).catch((media: GatewayError) => media);
    return fault ?? fetched;
  }
}
