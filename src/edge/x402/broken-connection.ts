// A connection that is kept open may be closed by the other side just when something is sent over it. What may be asked twice is asked again.

/** Whether a `fetch` has ended because its connection broke, and not because its time was over or what came made no sense. */
export function isBroken(error: unknown): boolean {
  return error instanceof TypeError;
}
