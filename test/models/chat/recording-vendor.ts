// Every vendor at one address: a stand-alone sandbox behind a server that records requests and can reject keys.

import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { STAND_INS } from "../../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";

export interface Arrival {
  /** The first part is the vendor. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RecordingVendor {
  readonly url: string;
  /** The requests since the last `forget`. */
  readonly arrivals: Arrival[];
  /** Answers calls with this key with a status from now on. */
  refuse(key: string, status: number, headers?: Readonly<Record<string, string>>): void;
  forget(): void;
  close(): Promise<void>;
}

/** The sandbox requires a key of every caller; a custom server requires none. */
const ANY_KEY = { authorization: "Bearer any" };

export async function startRecordingVendor(): Promise<RecordingVendor> {
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  const arrivals: Arrival[] = [];
  const refusals = new Map<string, { status: number; headers: Readonly<Record<string, string>> }>();

  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const { url = "", headers } = incoming;
    arrivals.push({ path: url, headers, body: JSON.parse(bytes.toString("utf8")) });
    const refusal = refusals.get(String(headers.authorization ?? "").replace("Bearer ", ""));
    if (refusal !== undefined) {
      outgoing.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers });
      outgoing.end(JSON.stringify({ error: { message: "not with this key", type: "refused", code: null } }));
      return;
    }
    const onward = request(`${sandbox.url}${url}`, { method: "POST", headers: { ...ANY_KEY, ...headers } });
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    onward.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    refuse: (key, status, headers = {}) => refusals.set(key, { status, headers }),
    forget() {
      arrivals.length = 0;
      refusals.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await sandbox.close();
    },
  };
}
