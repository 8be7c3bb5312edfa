// Where a request is answered, and what is noted of it meanwhile.
import type { Reply } from "../../core/endpoint.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";
import type { Heard } from "./heard.ts";
import type { ToldWindow } from "./told-window.ts";

export interface Answering {
  readonly reply: Reply;
  readonly window: ToldWindow;
  readonly record: RequestRecord;
  /** Hears what a model is asked; absent: no span tells it. */
  readonly heard?: Heard | undefined;
}

export function addHeaders(reply: Reply, headers: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
}
