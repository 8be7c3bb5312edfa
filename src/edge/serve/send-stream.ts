// The answer of an endpoint that is too long to keep: its bytes are asked for as fast as the client takes them, and no faster.

import type { Reply, StreamAnswer } from "../../core/endpoint.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";

/** Sends a streamed answer. Where its source breaks, or gives less than it said, the connection is cut. */
export async function sendStream(answer: StreamAnswer, reply: Reply, record: RequestRecord): Promise<null> {
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
    // Fewer bytes than were announced can only be told by breaking the connection.
    if (!reply.closed) reply.cut();
  }
  return null;
}
