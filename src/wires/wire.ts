// What a wire is in which models are asked: all that differs between one such wire and the next. Types and nothing else.

import type { ErrorCodec, Frame } from "../endpoint.ts";
import type { AnswerCodec, CallerRequest } from "../neutral.ts";

/** What an answer says of itself, whatever the wire. */
export interface AnswerHead {
  /** The answer's id, in the wire's own form. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
  /** The slug of the model that serves it. */
  readonly model: string;
}

export interface ModelWire<Body, FrameOptions> {
  /** A dialect of the same name passes bytes, both ways. */
  readonly name: string;
  readonly errors: ErrorCodec;
  /** Reads a body that has been checked. */
  request(body: Body): CallerRequest;
  /** How the answer to one call, served by one model, is written. */
  answers(head: AnswerHead): AnswerCodec;
  /** How that answer begins, breaks and ends, with what it cost. */
  frame(options: FrameOptions): Frame;
}
