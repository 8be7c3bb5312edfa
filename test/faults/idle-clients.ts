// A process with idle connections: sends a message when they are open, and ends when the server has closed all of them.
import { connectMany } from "./connect-many.ts";

const [port, count] = process.argv.slice(2).map(Number);
const sockets = await connectMany(port ?? 0, count ?? 0);
process.send?.("open");
const closed = sockets.map(
  (socket) => new Promise((resolve) => (socket.destroyed ? resolve(0) : socket.once("close", resolve))),
);
await Promise.all(closed);
process.disconnect();
