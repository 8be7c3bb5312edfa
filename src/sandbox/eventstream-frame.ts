// Writes events as frames of AWS's binary event stream: length, headers and data, with checksums.
import { crc32 } from "node:zlib";
import type { DialectEvent } from "./dialect.ts";

const TEXT = 7;

function header(name: string, value: string): Buffer {
  const [named, valued] = [Buffer.from(name), Buffer.from(value)];
  const head = Buffer.alloc(2);
  head.writeUInt16BE(valued.length);
  return Buffer.concat([Buffer.from([named.length]), named, Buffer.from([TEXT]), head, valued]);
}

export function eventstreamFrame(headers: Readonly<Record<string, string>>, payload: Buffer): Buffer {
  const written = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + written.length + payload.length);
  prelude.writeUInt32BE(written.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const body = Buffer.concat([prelude, written, payload]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([body, checksum]);
}

/** A frame with the event's own name; a name that ends in Exception marks a failure. */
export function namedFrame({ name, data }: DialectEvent): Buffer {
  const failed = name?.endsWith("Exception") === true;
  const [kind, at] = failed ? ["exception", ":exception-type"] : ["event", ":event-type"];
  const headers = { [at]: name ?? "", ":content-type": "application/json", ":message-type": kind };
  return eventstreamFrame(headers, Buffer.from(data));
}

export function wrappedFrame({ data }: DialectEvent): Buffer {
  const headers = { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" };
  return eventstreamFrame(
    headers,
    Buffer.from(JSON.stringify({ bytes: Buffer.from(data).toString("base64"), p: "abc" })),
  );
}
