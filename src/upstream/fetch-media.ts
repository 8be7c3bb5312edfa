// Opens links of a request in its vendor's place: guarded, a few at a time, within bounds of bytes and time, once for a call.
import { createHash } from "node:crypto";
import { GatewayError } from "../core/errors.ts";
import type { FetchedMedia, Media, MediaLink } from "./media-links.ts";
import type { PublicFetch } from "./public-fetch.ts";

/** Of one link, and of all that a call fetches: what vendors take inline. */
export const LINK_BYTES_MAX = 8 * 1024 * 1024;
export const CALL_BYTES_MAX = 16 * 1024 * 1024;
/** For all links of a call, names and redirects included. */
export const FETCH_MS_MAX = 10_000;
/** Links that one call opens at once. */
const AT_ONCE = 4;
/**
 * Links that an account may have opened in a minute for calls that came to nothing, and so were free: beyond it we would be a crawler
 * that costs nothing. What serves in the end is taken off again.
 */
export const UNPAID_LINKS_MAX = 120;
/** Links that this process opens at once. */
const OPEN_MAX = 32;
/** Fetched bytes that this process holds for vendors that have not said a word yet. */
const HELD_BYTES_MAX = 256 * 1024 * 1024;
const WORDS: Readonly<Record<MediaLink["kind"], string>> = { image: "an image", file: "a document" };

/** What files begin with: what a server says of them is not believed. */
const SIGNATURES: readonly (readonly [mediaType: string, test: (bytes: Buffer) => boolean])[] = [
  ["image/png", (bytes) => bytes.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff],
  ["image/gif", (bytes) => /^GIF8[79]a/.test(bytes.subarray(0, 6).toString("latin1"))],
  ["image/webp", (bytes) => /^RIFF[\s\S]{4}WEBP/.test(bytes.subarray(0, 12).toString("latin1"))],
  ["application/pdf", (bytes) => bytes.subarray(0, 1024).includes("%PDF-")],
];

/** What stands for a link of a sandbox account, which reaches no server: the smallest of its kind, and of a document two pages. */
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

/** The type of what was fetched, by its first bytes; null: nothing that the part may hold. */
function typeOf(bytes: Buffer, { kind, url }: MediaLink): string | null {
  const known = SIGNATURES.find(([, test]) => test(bytes))?.[0] ?? null;
  if (kind === "image") return known?.startsWith("image/") ? known : null;
  if (known === "application/pdf") return known;
  // What was bounded as a document by its ending must be one; any other may be a text.
  if (known !== null || /\.pdf$/i.test(url.split(/[?#]/, 1)[0] ?? "") || bytes.includes(0)) return null;
  return "text/plain";
}

function refused(fault: string): GatewayError {
  return new GatewayError("bad_url", { detail: { detail: fault } });
}

function busy(): GatewayError {
  return new GatewayError("upstream_busy", { detail: { detail: "too many links are being opened" } });
}

/** Counts by account and minute, handed in: the links opened for nothing. */
export interface UnpaidLinks {
  take(account: string, max: number): unknown;
  peek(account: string, max: number): { readonly allowed: boolean };
  giveBack(account: string): void;
}

/** One call's links, each fetched once however many candidates want it. */
interface CallMedia {
  readonly media: Map<string, Promise<Media | GatewayError>>;
  bytes: number;
  /** Links opened of which it is not known yet whether they served, and those that count as unpaid. */
  opened: number;
  unpaid: number;
  /** Attempts that have not yet heard from their vendor. */
  holders: number;
}

export interface FetchOptions {
  /** The call: what one of its candidates has fetched the next one has too. */
  readonly asked: object;
  /** Whose call it is; null: none in particular. */
  readonly account: string | null;
  readonly sandbox: boolean;
  readonly signal: AbortSignal;
}

export interface MediaFetcher {
  /** What stands at the links, or why one of them cannot be had. Until `release` its bytes count as held. Never rejects. */
  fetch(links: readonly MediaLink[], options: FetchOptions): Promise<FetchedMedia | GatewayError>;
  /** The attempt no longer needs the bytes; `served`: nor will another one of the call. */
  release(asked: object, account: string | null, served: boolean): void;
}

/** Lets so many through at once; who waits is let go in order, or gives up with its signal. */
class Gate {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(free: number) {
    this.#free = free;
  }

  async enter(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise((done) => {
      const leave = () => {
        this.#waiting.delete(go);
        done(false);
      };
      const go = () => {
        signal.removeEventListener("abort", leave);
        done(true);
      };
      this.#waiting.add(go);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}

/** Opens nothing before the first call. */
export function createMediaFetcher(open: PublicFetch["open"], unpaid: UnpaidLinks | null): MediaFetcher {
  const calls = new WeakMap<object, CallMedia>();
  const gate = new Gate(OPEN_MAX);
  let heldBytes = 0;

  function callOf(asked: object): CallMedia {
    const known = calls.get(asked);
    if (known !== undefined) return known;
    const call = {
      media: new Map<string, Promise<Media | GatewayError>>(),
      bytes: 0,
      opened: 0,
      unpaid: 0,
      holders: 0,
    };
    calls.set(asked, call);
    return call;
  }

  /** Why another piece of this length is too much; null: it is not. */
  function tooMuch(call: CallMedia, bytes: number): GatewayError | null {
    call.bytes += bytes;
    heldBytes += bytes;
    if (call.bytes > CALL_BYTES_MAX)
      return refused(`and the others of the call serve more than ${CALL_BYTES_MAX} bytes`);
    return heldBytes > HELD_BYTES_MAX ? busy() : null;
  }

  async function read(link: MediaLink, call: CallMedia, signal: AbortSignal): Promise<Media | GatewayError> {
    const answer = await open(link.url, { bytesMax: LINK_BYTES_MAX, msMax: FETCH_MS_MAX, signal });
    if (answer instanceof GatewayError) return answer;
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body) {
      // Leaving the loop closes the connection.
      if (answer.status !== 200) break;
      const fault = tooMuch(call, piece.length);
      if (fault !== null) return fault;
      pieces.push(piece);
    }
    if (answer.status !== 200) return refused(`answers with status ${answer.status}`);
    const bytes = Buffer.concat(pieces);
    const mediaType = typeOf(bytes, link);
    if (mediaType === null) return refused(`does not serve ${WORDS[link.kind]} that can be read here`);
    return { mediaType, base64: bytes.toString("base64") };
  }

  async function readInTurn(link: MediaLink, call: CallMedia, signal: AbortSignal): Promise<Media | GatewayError> {
    if (!(await gate.enter(signal))) return busy();
    try {
      call.opened += 1;
      return await read(link, call, signal);
    } catch (error) {
      return error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
    } finally {
      gate.leave();
    }
  }

  /** Counts what a call's links have come to. */
  function settle(call: CallMedia, account: string, served: boolean): void {
    for (; !served && call.opened > 0; call.opened--, call.unpaid++) unpaid?.take(account, UNPAID_LINKS_MAX);
    for (; served && call.unpaid > 0; call.unpaid--) unpaid?.giveBack(account);
    call.opened = 0;
  }

  /** A link is known by its hash, so that a long address is kept once. What was left before it had answered can be asked for again. */
  async function mediaOf(link: MediaLink, call: CallMedia, signal: AbortSignal): Promise<Media | GatewayError> {
    const hash = createHash("sha256").update(`${link.kind} ${link.url}`).digest("base64");
    const reading = call.media.get(hash) ?? readInTurn(link, call, signal);
    call.media.set(hash, reading);
    const media = await reading;
    if (media instanceof GatewayError && signal.aborted) call.media.delete(hash);
    return media;
  }

  async function all(
    links: readonly MediaLink[],
    call: CallMedia,
    stop: AbortController,
    signal: AbortSignal,
  ): Promise<FetchedMedia | GatewayError> {
    const fetched = new Map<string, Media>();
    const left = [...links];
    let fault: GatewayError | null = null;
    const work = async (): Promise<void> => {
      for (let link = left.shift(); link !== undefined && fault === null; link = left.shift()) {
        const media = await mediaOf(link, call, signal);
        if (!(media instanceof GatewayError)) fetched.set(link.url, media);
        else if (fault === null) {
          fault = media;
          stop.abort();
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return fault ?? fetched;
  }

  return {
    async fetch(links, { asked, account, sandbox, signal }) {
      const call = callOf(asked);
      if (call.holders === 0) heldBytes += call.bytes;
      call.holders += 1;
      if (sandbox) return new Map(links.map(({ url, kind }) => [url, PLAY[kind]]));
      if (account !== null && unpaid?.peek(account, UNPAID_LINKS_MAX).allowed === false) {
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
        const fetched = await all(links, call, stop, AbortSignal.any([signal, stop.signal]));
        return late ? refused(`and the others of the call take longer than ${FETCH_MS_MAX / 1_000} seconds`) : fetched;
      } finally {
        clearTimeout(timer);
      }
    },
    release(asked, account, served) {
      const call = callOf(asked);
      if (account !== null) settle(call, account, served);
      call.holders -= 1;
      if (call.holders > 0) return;
      heldBytes -= call.bytes;
      if (!served) return;
      call.media.clear();
      call.bytes = 0;
    },
  };
}
