// Days in UTC, as reports and pages name them.

export const DAY_MS = 86_400_000;

/** `YYYY-MM-DD` */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
