// Where callers reach this gateway: as the settings say, or at the port that it listens on.
import type { Config } from "../platform/config.ts";

/** The address of a listener of this machine. */
export function listenerUrl(host: string, port: number, scheme: "http" | "https" = "http"): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export interface PublicUrl {
  /** Without a slash at the end. */
  get(): string;
  /** The port that was had, which is known only when the endpoints have been made. */
  listensOn(port: number): void;
}

export function createPublicUrl({ publicUrl, host, port: wanted, tlsCert }: Config): PublicUrl {
  let port = wanted;
  return {
    get: () => publicUrl ?? listenerUrl(host, port, tlsCert === null ? "http" : "https"),
    listensOn(had) {
      port = had;
    },
  };
}
