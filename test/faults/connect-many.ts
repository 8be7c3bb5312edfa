// Opens many connections to a port of this machine.
import { once } from "node:events";
import net from "node:net";

const AT_ONCE = 250;

/** Opens connections in groups, because the kernel's accept queue is short. `begin` gets each before it is connected. */
export async function connectMany(
  port: number,
  count: number,
  begin: (socket: net.Socket) => void = () => {},
): Promise<readonly net.Socket[]> {
  const sockets: net.Socket[] = [];
  while (sockets.length < count) {
    const group = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () => {
      // The server may reset the first of a group before its last has connected.
      const socket = net.connect(port, "127.0.0.1").on("error", () => {});
      begin(socket.resume());
      return socket;
    });
    await Promise.all(group.map((socket) => once(socket, "connect")));
    sockets.push(...group);
  }
  return sockets;
}
