// Where a request is answered, and what is noted of it meanwhile.
import type { Reply } from "../endpoint.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { ToldWindow } from "./told-window.ts";

export interface Answering {
  readonly reply: Reply;
  readonly window: ToldWindow;
  readonly record: RequestRecord;
}

export function addHeaders(reply: Reply, headers: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
}
