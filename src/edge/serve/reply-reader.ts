// The reader of an HTTP answer: writes head and content to the reply, and shows a waiting client that we are alive.
import type { FramedOpenPlan, Framing, Reply } from "../../core/endpoint.ts";
import type { AnswerReader, Charge } from "../../core/plan.ts";
import type { Candidate, Leg } from "../../core/route.ts";
import type { ToldWindow } from "./told-window.ts";

/** Adds the headers of a good answer. */
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
  readonly #window: ToldWindow;
  #begun = false;
  #keepAlive: NodeJS.Timeout | null = null;
  #bytes = 0;

  constructor(framed: FramedOpenPlan, reply: Reply, window: ToldWindow) {
    this.#framed = framed;
    this.#reply = reply;
    this.#window = window;
  }

  get closed(): boolean {
    return this.#reply.closed;
  }

  /** The head is out: an error can only be told inside the stream. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Of content, so far. */
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
    this.#window.tell();
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

  /** No more keep-alives: other bytes are about to be written. */
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
