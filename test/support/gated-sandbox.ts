// A sandbox upstream behind a gate: calls wait there until the test releases them, so that they certainly overlap.

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";

export interface GatedSandbox {
  readonly url: string;
  readonly sandbox: Sandbox;
  /** From now on calls wait. */
  shut(): void;
  /** Releases all waiting calls, and lets later ones pass. */
  open(): void;
  /** The number of waiting calls. */
  waiting(): number;
  close(): Promise<void>;
}

export async function startGatedSandbox(): Promise<GatedSandbox> {
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  const held = new Set<() => void>();
  let isShut = false;

  const server = createServer((incoming, outgoing) => {
    const pass = (): void => {
      held.delete(pass);
      const onward = request(`${sandbox.url}${incoming.url}`, { method: incoming.method, headers: incoming.headers });
      onward.on("response", (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        // A body that breaks off upstream breaks off here.
        pipeline(answer, outgoing, () => {});
      });
      onward.on("error", () => outgoing.destroy());
      outgoing.on("close", () => onward.destroy());
      incoming.pipe(onward);
    };
    outgoing.on("close", () => held.delete(pass));
    if (isShut && incoming.method === "POST") held.add(pass);
    else pass();
  });
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    sandbox,
    shut() {
      isShut = true;
    },
    open() {
      isShut = false;
      for (const pass of [...held]) pass();
    },
    waiting: () => held.size,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await sandbox.close();
    },
  };
}
