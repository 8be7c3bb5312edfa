// Request and answer of a model call in the neutral format, for tracing: the request as its format has read it, the answer as it goes out.
import type { CallerRequest } from "../../core/neutral.ts";
import { ResponseRecorder } from "../../models/chat/response-recorder.ts";
import type { Said } from "../../platform/observe/span-content.ts";

export class CallContent {
  #asked: CallerRequest | null = null;
  #recorder: ResponseRecorder | null = null;

  /** The answer will be in the format of the request. */
  begin(asked: CallerRequest): void {
    this.#asked = asked;
    this.#recorder = ResponseRecorder.of(asked.wire);
  }

  /** The next bytes of the answer, with its media type. */
  take(bytes: Buffer, type: string): void {
    this.#recorder?.take(bytes, type);
  }

  /** Null: the call asked no model. Answers of unknown formats have no choices. */
  get neutral(): Said | null {
    if (this.#asked === null) return null;
    return { asked: this.#asked, choices: () => this.#recorder?.choices() ?? null };
  }
}
