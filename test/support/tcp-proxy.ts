// A TCP proxy on loopback that does to a connection what networks do: delay, swallow, cut at the worst moment.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Passes everything on, each piece this much later; 0: at once. */
  pass(delayMs?: number): void;
  /** Takes everything and passes nothing on, in either direction; connections stay open. */
  blackHole(): void;
  /** The connections that are open now stay so and pass nothing on, in either direction; new ones are let in. */
  freeze(): void;
  /** Sends bytes to the server, on every connection, that its client has not sent. */
  inject(bytes: Buffer): void;
  /**
   * The next piece that holds `text` is passed on; once the server answers it, everything is cut and the answer is lost.
   * Resolves at the cut.
   */
  cutAfter(text: string): Promise<void>;
  /** Cuts all connections; new ones are let in. */
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
    // What is delayed stays in its order, also when what comes after it is not delayed.
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
