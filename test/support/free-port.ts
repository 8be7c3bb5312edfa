// A port for a server that a test starts, and may restart.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

const FIRST_PORT = 11_000;
const PORTS = 10_000;

/**
 * A port that was free a moment ago. It is below the system's ephemeral ports, so that a restarted server finds no other test's connection
 * on its port. A cluster node uses the port ten thousand above it as its second one.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, FIRST_PORT + PORTS);
    const server = createServer().listen(port, "127.0.0.1");
    const free = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
