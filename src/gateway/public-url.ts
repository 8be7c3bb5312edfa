// The gateway's public URL: from the settings, or from the port that it listens on.
import type { Config } from "../platform/config.ts";

export function listenerUrl(host: string, port: number, scheme: "http" | "https" = "http"): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export type PublicUrl = ReturnType<typeof createPublicUrl>;

export function createPublicUrl({ publicUrl, host, port: wanted, tlsCert }: Config) {
  let port = wanted;
  return {
    /** Without a trailing slash. */
    get: () => publicUrl ?? listenerUrl(host, port, tlsCert === null ? "http" : "https"),
    /** Sets the actual port, which is known only after the endpoints are created. */
    listensOn(had: number) {
      port = had;
    },
  };
}
