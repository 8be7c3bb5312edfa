// Opens many connections to a port of this machine.
import { once } from "node:events";
import net from "node:net";

const AT_ONCE = 250;

/** Opens connections in groups, because the kernel's accept queue is short. */
export async function connectMany(port: number, count: number): Promise<readonly net.Socket[]> {
  const sockets: net.Socket[] = [];
  while (sockets.length < count) {
    const group = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () =>
      net.connect(port, "127.0.0.1"),
    );
    await Promise.all(group.map((socket) => once(socket, "connect")));
    for (const socket of group) socket.on("error", () => {}).resume();
    sockets.push(...group);
  }
  return sockets;
}
