// A port for a server that a test starts, and may start again.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

const FIRST_PORT = 11_000;
const PORTS = 10_000;

/**
 * A port that was free a moment ago. It is below those that the system gives away itself: a server that is started again finds
 * no connection of another test on its port. Ten thousand above it a cluster's node has its second one.
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
