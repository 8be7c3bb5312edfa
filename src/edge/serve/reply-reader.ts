// Reads an answer for HTTP: writes head and content to the reply, and keep-alives while the client waits.
import type { FramedOpenPlan, Framing, Reply } from "../../core/endpoint.ts";
import type { AnswerReader, Charge } from "../../core/plan.ts";
import type { Candidate, Leg } from "../../core/route.ts";
import type { RateLimit } from "./rate-limit.ts";

/** Adds the headers of a successful answer. */
export function addHead(
  { frame, loweredTo }: Pick<Framing, "frame" | "loweredTo">,
  reply: Reply,
  { served, legs, charge }: { served: Candidate; legs: readonly Leg[]; charge: Charge | null },
): void {
  frame.head(reply, served, legs, charge);
  const lowered = loweredTo?.(served) ?? null;
  if (lowered !== null) reply.header("x-tollgate-max-tokens", String(lowered));
}

export class ReplyReader implements AnswerReader {
  readonly #framed: FramedOpenPlan;
  readonly #reply: Reply;
  readonly #rateLimit: RateLimit;
  #begun = false;
  #keepAlive: NodeJS.Timeout | null = null;
  #bytes = 0;

  constructor(framed: FramedOpenPlan, reply: Reply, rateLimit: RateLimit) {
    this.#framed = framed;
    this.#reply = reply;
    this.#rateLimit = rateLimit;
  }

  get closed(): boolean {
    return this.#reply.closed;
  }

  /** The head is written, so an error can only go into the stream. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Bytes of content written so far. */
  get bytes(): number {
    return this.#bytes;
  }

  onGone(listener: () => void): void {
    this.#reply.onGone(listener);
  }

  onRoom(listener: () => void): void {
    this.#reply.onRoom(listener);
  }

  admitted(): void {
    this.#rateLimit.tell();
    const { keepAliveMs, plan } = this.#framed;
    if (keepAliveMs !== null && plan.streamed) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs);
  }

  begin(served: Candidate, legs: readonly Leg[]): void {
    this.stop();
    if (this.#begun || this.#reply.closed) return;
    addHead(this.#framed, this.#reply, { served, legs, charge: null });
    this.#begun = true;
    this.#reply.begin(200);
  }

  write(bytes: Uint8Array): boolean {
    this.#bytes += bytes.length;
    return this.#reply.write(bytes);
  }

  /** Ends the keep-alives: other bytes are about to be written. */
  stop(): void {
    if (this.#keepAlive !== null) clearInterval(this.#keepAlive);
    this.#keepAlive = null;
  }

  #beat(): void {
    const { keepAlive } = this.#framed.frame;
    if (this.#reply.closed || keepAlive === null) return;
    if (!this.#begun) {
      keepAlive.headers(this.#reply);
      this.#begun = true;
      this.#reply.begin(200);
    }
    this.#reply.write(keepAlive.text);
  }
}
