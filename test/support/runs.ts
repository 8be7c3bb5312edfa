// How much of a test's random or repeated work a run does: a short form during development, the long form in `.ci/run`, which sets
// LONG_RUNS=1.

export const LONG_RUNS = process.env.LONG_RUNS === "1";

export function runs(short: number, long: number): number {
  return LONG_RUNS ? long : short;
}
