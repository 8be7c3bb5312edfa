// A corporate proxy: it opens CONNECT tunnels, for clients with the password, to servers that are not reachable otherwise.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface ConnectProxy {
  /** With its credentials. */
  readonly url: string;
  readonly port: number;
  /** The requested tunnels, in order. */
  readonly asked: readonly string[];
  /** Answers every CONNECT with this status; null: opens the tunnel. */
  refuseWith: number | null;
  close(): void;
}

/** A tunnel to a name leads to that name's port on this machine; without an entry, to the given address itself. */
export async function startConnectProxy(ports: Readonly<Record<string, number>> = {}): Promise<ConnectProxy> {
  const asked: string[] = [];
  const sockets = new Set<Duplex>();
  const wanted = `Basic ${Buffer.from("us er:p@ss").toString("base64")}`;
  const server = createServer((_, answer) => answer.writeHead(500).end("only CONNECT"));
  server.on("connect", ({ url = "", headers }, client: Socket, head: Buffer) => {
    sockets.add(client);
    client.on("error", () => client.destroy());
    const status = headers["proxy-authorization"] === wanted ? proxy.refuseWith : 407;
    if (status !== null) return void client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
    asked.push(url);
    const [host = "", port = ""] = url.split(/:(?=\d+$)/);
    const own = ports[host];
    const onward = connect(own ?? Number(port), own === undefined ? host.replace(/^\[|\]$/g, "") : "127.0.0.1");
    sockets.add(onward);
    onward.on("error", () => client.destroy());
    onward.on("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.write(head);
      onward.pipe(client).pipe(onward);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const proxy: ConnectProxy = {
    url: `http://us%20er:p%40ss@127.0.0.1:${port}`,
    port,
    asked,
    refuseWith: null,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
