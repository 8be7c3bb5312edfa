// An attempt whose vendor cannot open links: fetches the media first, then opens the attempt.
import { GatewayError } from "../core/errors.ts";
import type { AnswerSink, Attempt, AttemptFailure, FinalPart, Reading } from "../core/route.ts";
import type { FetchedMedia } from "./media-links.ts";
import { NOTHING_READ } from "./nothing-read.ts";

export interface FetchingParts {
  /** Fetches the links; returns an error if one fails. */
  readonly fetch: (signal: AbortSignal) => Promise<FetchedMedia | GatewayError>;
  /** Called once, when the vendor has answered or never will. */
  readonly release: (served: boolean) => void;
  readonly open: (media: FetchedMedia, sink: AnswerSink) => Attempt;
}

/** Assigns the fault: a failing server or a bad URL is the caller's, an overload is ours. */
function failureOf(error: GatewayError): AttemptFailure {
  const { code, message } = error;
  const kind =
    code === "bad_url" || code === "upstream_error"
      ? "caller_unsupported"
      : code === "upstream_busy"
        ? "provider_busy"
        : "gateway_internal";
  const status = kind === "caller_unsupported" ? 400 : 0;
  return { kind, status, message: `a link in the request: ${message}`, retryAfterMs: null, cause: error };
}

class FetchingAttempt implements Attempt, AnswerSink {
  readonly #parts: FetchingParts;
  readonly #sink: AnswerSink;
  readonly #left = new AbortController();
  #inner: Attempt | null = null;
  #paused = false;
  #released = false;

  constructor(parts: FetchingParts, sink: AnswerSink) {
    this.#parts = parts;
    this.#sink = sink;
  }

  async start(): Promise<void> {
    const media = await this.#parts.fetch(this.#left.signal);
    if (this.#left.signal.aborted) return this.#release(false);
    if (media instanceof GatewayError) return this.failed(failureOf(media));
    this.#inner = this.#parts.open(media, this);
    if (this.#paused) this.#inner.pause();
  }

  pause(): void {
    this.#paused = true;
    this.#inner?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#inner?.resume();
  }

  abort(): void {
    this.#left.abort();
    this.#inner?.abort();
    if (this.#inner !== null) this.#release(false);
  }

  accepted(): boolean {
    return this.#inner?.accepted() ?? false;
  }

  reading(): Reading {
    return this.#inner?.reading() ?? NOTHING_READ;
  }

  content(bytes: Uint8Array): void {
    this.#release(true);
    this.#sink.content(bytes);
  }

  done(final: FinalPart): void {
    this.#release(true);
    this.#sink.done(final);
  }

  failed(failure: AttemptFailure): void {
    this.#release(false);
    if (!this.#left.signal.aborted) this.#sink.failed(failure);
  }

  #release(served: boolean): void {
    if (this.#released) return;
    this.#released = true;
    this.#parts.release(served);
  }
}

/** Starts an attempt that fetches media first. */
export function openFetchingAttempt(parts: FetchingParts, sink: AnswerSink): Attempt {
  const attempt = new FetchingAttempt(parts, sink);
  // The injected functions never reject; an exception of ours while opening the attempt becomes a failure.
  attempt
    .start()
    .catch((cause: unknown) =>
      attempt.failed({ kind: "gateway_internal", status: 0, message: "internal error", retryAfterMs: null, cause }),
    );
  return attempt;
}
