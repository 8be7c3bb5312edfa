// The log line of an internal error names its subject by the right kind of id.
import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { logInternalErrors } from "../../../src/platform/observe/internal-error.ts";
import { createLog } from "../../../src/platform/observe/log.ts";

const FIELDS = ["request_id", "transaction_id", "job_id"];

/** The ids in an error's line. */
function idsFor(id: string): Record<string, unknown> {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) };
  const { logger } = createLog({ level: "info", clock: systemClock, stream });
  const onBroken = logInternalErrors((err, words, fields) => logger.error({ err, ...fields }, words));
  onBroken(new Error("the disk is full"), id);
  expect(lines).toEqual([expect.objectContaining({ level: 50, msg: "internal error" })]);
  expect(lines[0]?.err).toMatchObject({ message: "the disk is full" });
  return Object.fromEntries(Object.entries(lines[0] ?? {}).filter(([field]) => FIELDS.includes(field)));
}

test.each([
  ["a request", "req_1", { request_id: "req_1" }],
  ["a call", "tx_1", { transaction_id: "tx_1" }],
  ["a call within a call", "tx_1.2", { transaction_id: "tx_1.2" }],
  ["a job", "job_1", { job_id: "job_1" }],
  ["work for nobody in particular", "", {}],
])("what breaks in %s", (_what, id, ids) => {
  expect(idsFor(id)).toEqual(ids);
});
