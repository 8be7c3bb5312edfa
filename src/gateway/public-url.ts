// The gateway's public URL: from the settings, or from the port that it listens on.
import type { Config } from "../platform/config.ts";

export function listenerUrl(host: string, port: number, scheme: "http" | "https" = "http"): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export interface PublicUrl {
  /** Without a trailing slash. */
  get(): string;
  /** Sets the actual port, which is known only after the endpoints are created. */
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
