// Says in headers what a request window has left.
import type { WindowState } from "./request-windows.ts";

/**
 * Gives `header` the four RateLimit headers in the form of draft-ietf-httpapi-ratelimit-headers-06; Reset is in seconds from now.
 */
export function rateLimitHeaders(state: WindowState, header: (name: string, value: string) => void): void {
  header("RateLimit-Limit", String(state.limit));
  header("RateLimit-Remaining", String(state.remaining));
  header("RateLimit-Reset", String(state.resetSeconds));
  header("RateLimit-Policy", `${state.limit};w=${state.windowSeconds}`);
}
