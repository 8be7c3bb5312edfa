// The facts that only a process can show. A test file that starts processes or servers belongs to `npm run test:system`, unless it names
// one of these: then it is the only proof of that fact in `npm test`. test/lanes.ts reads the name; test/lanes.test.ts allows one file per
// fact.

export const PROCESS_FACTS = [
  "a newcomer's first hour",
  "the commands of the README",
  "the command line is a program",
  "an operator's commands",
  "an old Node is turned away",
  "a start with a missing secret, or a signal at once",
  "a start keeps compiled sources for the next",
  "the last log lines at exit",
  "a heap of 40 MB",
  "SIGTERM drains",
  "SIGHUP reloads",
  "a killed gateway",
  "a killed ledger",
  "a call repeated after a kill",
  "a killed job runner",
  "x402 payments in Redis",
  "wallet payments in Redis",
  "a killed writer of a file",
  "a killed test run",
  "a second process on one file",
  "two workers on one file",
  "workers that die, hang or never start",
  "two gateways on one Redis",
  "records in Redis",
  "a Redis that fails",
  "a Redis that fails over",
  "an archive in PostgreSQL",
  "a move between stores",
  "a grant after a restart",
  "a vendor's sidecar",
  "a shell on a vendor's machine",
  "a sign-in in a browser",
  "the files of deploy/",
  "the lanes of .ci/run",
] as const;
export type ProcessFact = (typeof PROCESS_FACTS)[number];

/** Declares the fact that the calling file shows. */
export function onlyAProcessShows(_fact: ProcessFact): void {}
