// A model call's request and answer in the neutral format, for tracing: the request as parsed from its format, the answer as sent.
import type { CallerRequest } from "../../core/neutral.ts";
import { ResponseRecorder } from "../../models/chat/response-recorder.ts";
import type { Said } from "../../platform/observe/span-content.ts";

export class CallContent {
  #asked: CallerRequest | null = null;
  #recorder: ResponseRecorder | null = null;

  /** Call first: the answer has the format of the request. */
  begin(asked: CallerRequest): void {
    this.#asked = asked;
    this.#recorder = ResponseRecorder.of(asked.wire);
  }

  take(bytes: Buffer, type: string): void {
    this.#recorder?.take(bytes, type);
  }

  /** Null: not a model call. Answers of unknown formats have no choices. */
  get neutral(): Said | null {
    if (this.#asked === null) return null;
    return { asked: this.#asked, choices: () => this.#recorder?.choices() ?? null };
  }
}
