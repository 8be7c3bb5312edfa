// The ids of what the gateway has run in the messages wire: its vendor must not take it for its own when it comes back.

/** What stands before them. */
export const RUN_HERE = { hosted: "srvtoolu_tg", action: "mcptoolu_tg" } as const;

/** Whether a body has in it what only we have run. */
export function holdsOurs(bytes: Buffer): boolean {
  return bytes.includes(RUN_HERE.hosted) || bytes.includes(RUN_HERE.action);
}
