// A vendor that has no HTTP: `adapters/<vendor>.helper.ts` speaks to it by the vendor's own package, in a process of its own.
import type { Json } from "./said.ts";

/** What was asked, and what came of it, in the words of HTTP: adapters' rules and the sandbox know no other. */
export interface SidecarReply {
  readonly status: number;
  readonly body: Json;
}

/** What is spoken to the vendor with, for one key. */
export interface SidecarClient {
  /**
   * Answers a request of the adapter's. What it throws is told as 502. `signal` is aborted when the answer is not waited for any more: what
   * the vendor has made by then has to be ended here.
   */
  handle(path: string, body: unknown, signal: AbortSignal): Promise<SidecarReply>;
  close(): void;
}

/** The default export of such a file. A key has its parts separated by newlines; it must stand in no answer. */
export type OpenSidecar = (key: string) => Promise<SidecarClient>;
