// How long a store may take in tests that are not about its bound: what a machine may take that others load as well.

/** Beside production's half a second; tests of that one say so: `REDIS_COMMAND_MS: HASTY_MS`. */
export const PATIENT_MS = 10_000;
/** Production's own. */
export const HASTY_MS = 500;
