// The server may close a keep-alive connection just as a request is sent over it. Requests that are safe to repeat are sent again.

/** Whether a `fetch` failed because its connection broke, not because of a timeout or an invalid answer. */
export function isBroken(error: unknown): boolean {
  return error instanceof TypeError;
}
