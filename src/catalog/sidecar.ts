// For a vendor without an HTTP API: `adapters/<vendor>.helper.ts` uses the vendor's own package in a separate process.
import type { Json } from "./said.ts";

/** The result in HTTP terms, which are all that adapters' rules and the sandbox understand. */
export interface SidecarReply {
  readonly status: number;
  readonly body: Json;
}

export interface SidecarClient {
  /** An error that it throws becomes a 502. When `signal` aborts, the call is over: end what the vendor has started. */
  handle(path: string, body: unknown, signal: AbortSignal): Promise<SidecarReply>;
  close(): void;
}

/** The default export of such a file. The parts of a key are separated by newlines; the key must not appear in any answer. */
export type OpenSidecar = (key: string) => Promise<SidecarClient>;
