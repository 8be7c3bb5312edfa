// A TCP proxy on loopback that simulates network faults: delays, drops, cuts at the worst moment.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Forwards everything, each piece delayed by this much; 0: at once. */
  pass(delayMs?: number): void;
  /** Accepts everything and forwards nothing, in either direction; connections stay open. */
  blackHole(): void;
  /** The open connections stay open and forward nothing, in either direction; new ones work. */
  freeze(): void;
  /** Sends bytes to the server, on every connection, that its client did not send. */
  inject(bytes: Buffer): void;
  /**
   * Forwards the next piece that contains `text`; when the server answers it, cuts everything, so that the answer is lost. Resolves at the
   * cut.
   */
  cutAfter(text: string): Promise<void>;
  /** Cuts all connections; new ones work. */
  cut(): void;
  /** New connections lead to another server; the others are cut, or kept as they are. */
  leadTo(serverPort: number, others?: "cut" | "keep"): void;
  close(): Promise<void>;
}

export async function startTcpProxy(firstPort: number): Promise<TcpProxy> {
  let serverPort = firstPort;
  const pairs = new Set<readonly [Socket, Socket]>();
  const frozen = new WeakSet<Socket>();
  let delayMs = 0;
  let swallows = false;
  let trap: { readonly text: string; readonly cut: () => void } | null = null;

  function cut(): void {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  }

  const server = createServer((client) => {
    const upstream = connect(serverPort, "127.0.0.1");
    const pair = [client, upstream] as const;
    let armed: (() => void) | null = null;
    pairs.add(pair);
    // Delayed pieces keep their order, even before pieces without a delay.
    const late = new Map<Socket, Promise<void>>();
    const send = (to: Socket, chunk: Buffer) => {
      if (swallows || frozen.has(to)) return;
      const before = late.get(to);
      if (delayMs === 0 && before === undefined) {
        to.write(chunk);
        return;
      }
      const waited = new Promise((resolve) => setTimeout(resolve, delayMs));
      const written = Promise.all([before, waited]).then(() => {
        if (to.writable) to.write(chunk);
        if (late.get(to) === written) late.delete(to);
      });
      late.set(to, written);
    };
    client.on("data", (chunk) => {
      if (trap !== null && chunk.includes(trap.text)) {
        armed = trap.cut;
        trap = null;
      }
      send(upstream, chunk);
    });
    upstream.on("data", (chunk) => {
      if (armed === null) return send(client, chunk);
      cut();
      armed();
    });
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => {
        pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    pass(ms = 0) {
      swallows = false;
      delayMs = ms;
    },
    blackHole() {
      swallows = true;
    },
    freeze() {
      for (const pair of pairs) for (const socket of pair) frozen.add(socket);
    },
    inject(bytes) {
      for (const [, upstream] of pairs) upstream.write(bytes);
    },
    cutAfter(text) {
      const { promise, resolve } = Promise.withResolvers<void>();
      trap = { text, cut: resolve };
      return promise;
    },
    cut,
    leadTo(port, others = "cut") {
      serverPort = port;
      if (others === "cut") cut();
    },
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
