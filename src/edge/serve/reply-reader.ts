// Reads an answer for HTTP: writes head and content to the reply, and keep-alives while the client waits.
import type { FramedOpenPlan, Framing, Reply } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { AnswerReader, Charge } from "../../core/plan.ts";
import type { Candidate, Leg } from "../../core/route.ts";
import type { RateLimit } from "./call.ts";

export function addHead(
  { frame, loweredTo }: Pick<Framing, "frame" | "loweredTo">,
  reply: Reply,
  { served, legs, charge }: { served: Candidate; legs: readonly Leg[]; charge: Charge | null },
): void {
  frame.head(reply, served, legs, charge);
  const lowered = loweredTo?.(served) ?? null;
  if (lowered !== null) reply.header("x-tollgate-max-tokens", String(lowered));
}

interface Told {
  readonly reply: Reply;
  readonly rateLimit: RateLimit;
}

export class ReplyReader implements AnswerReader {
  readonly #framed: FramedOpenPlan;
  readonly #reply: Reply;
  readonly #rateLimit: RateLimit;
  readonly #onHead: () => void;
  #onGone: (() => void) | null = null;
  #isEnded = false;
  #isAdmitted = false;
  #begun = false;
  #keepAlive: NodeJS.Timeout | null = null;
  #bytes = 0;

  /** `onHead` adds the last headers before the head is written. */
  constructor(framed: FramedOpenPlan, { reply, rateLimit }: Told, onHead: () => void) {
    this.#framed = framed;
    this.#reply = reply;
    this.#rateLimit = rateLimit;
    this.#onHead = onHead;
  }

  get closed(): boolean {
    return this.#isEnded || this.#reply.closed;
  }

  /** Ends the answer in the middle with an error; to the call it looks as if its client had left. False: no head was written yet. */
  endWith(error: GatewayError): boolean {
    this.stop();
    this.#isEnded = true;
    const told = this.#begun ? this.#framed.frame.broken(error, []) : "";
    if (this.#begun && told === null) this.#reply.cut();
    else if (this.#begun && told !== null) this.#reply.end(told);
    const onGone = this.#onGone;
    this.#onGone = null;
    onGone?.();
    return this.#begun;
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
    this.#onGone = listener;
    this.#reply.onGone(() => {
      if (!this.#isEnded) listener();
    });
  }

  onRoom(listener: () => void): void {
    this.#reply.onRoom(listener);
  }

  /** The call's hold is placed, and its plan runs. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  admitted(): void {
    this.#isAdmitted = true;
    if (this.#isEnded) return;
    this.#rateLimit.tell();
    const { keepAliveMs, plan } = this.#framed;
    if (keepAliveMs !== null && plan.streamed) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs);
  }

  begin(served: Candidate, legs: readonly Leg[]): void {
    this.stop();
    if (this.#begun || this.closed) return;
    this.#onHead();
    addHead(this.#framed, this.#reply, { served, legs, charge: null });
    this.#begun = true;
    this.#reply.begin(200);
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isEnded) return true;
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
      this.#onHead();
      keepAlive.headers(this.#reply);
      this.#begun = true;
      this.#reply.begin(200);
    }
    this.#reply.write(keepAlive.text);
  }
}
