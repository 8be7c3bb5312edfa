// Sends an answer that is too long to keep in memory, as fast as the client takes it.

import type { Reply, StreamAnswer } from "../../core/endpoint.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";

/** Cuts the connection where the source fails or yields fewer bytes than announced. */
export async function sendStream(answer: StreamAnswer, reply: Reply, record: RequestRecord): Promise<void> {
  for (const [name, value] of Object.entries(answer.headers)) reply.header(name, value);
  let wake = () => {};
  reply.onGone(() => wake());
  reply.onRoom(() => wake());
  record.status = reply.closed ? 0 : answer.status;
  const { bytesTotal = Number.POSITIVE_INFINITY } = answer;
  reply.begin(answer.status, answer.bytesTotal);
  try {
    for await (const part of answer.bytes) {
      if (reply.closed) break;
      record.bytesOut += part.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (!reply.write(part) && record.bytesOut < bytesTotal && !reply.closed) await promise;
    }
    if (answer.bytesTotal === undefined || record.bytesOut === bytesTotal) reply.end();
  } finally {
    // Only a cut connection shows that bytes are missing.
    if (!reply.closed) reply.cut();
  }
}
