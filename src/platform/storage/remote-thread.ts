// The storage thread of another process on this machine, over a socket, with the same interface as a local one.
import { connect, type Socket } from "node:net";
import type { Clock } from "../../core/clock.ts";
import { exactVersion } from "../../core/version.ts";
import { frameOf, readFrames } from "./frames.ts";
import { openReadingThread } from "./reading-thread.ts";
import { type SqliteThread, ThreadClient } from "./thread-client.ts";
import type { FromThread, Hello, StoreNews, ToThread, Welcome } from "./wire.ts";

export interface RemoteThreadOptions {
  /** The path of the other process's socket. */
  readonly socket: string;
  /** The database file, from which this process reads for long queries. */
  readonly file: string;
  /** This process's id as owner of its holds, which end with the connection. */
  readonly owner: string;
  /** Must be the same as the other process's. */
  readonly clock: Clock;
  readonly onNews: (news: StoreNews) => void;
  /** The other process is gone: everything was rejected, and this process must exit, because its holds have ended. */
  readonly onFatal: (error: Error) => void;
}

/** The process with the store has told all others to exit, and informs the operator itself. */
export class EndRequested extends Error {}

/** The connection to the store broke: usually its process died, but this process may also have been cut off. */
export class StoreGone extends Error {
  constructor() {
    super("the process that keeps the store has ended");
  }
}

/** Connects. Rejects with a message for the operator if that fails. */
export async function openRemoteThread(options: RemoteThreadOptions): Promise<SqliteThread> {
  const { owner, file, clock, onNews, onFatal } = options;
  const socket = connect(options.socket);
  const greeted = Promise.withResolvers<SqliteThread>();
  let client: ThreadClient | null = null;
  // Messages right after the welcome may arrive in the same chunk, so a client must exist before they are handled.
  const greet = (welcome: Welcome): void => {
    if (welcome.kind === "refused") return greeted.reject(new Error(welcome.error));
    const parts = { port: portOf(socket), entries: welcome.operations, reading: openReadingThread(file), clock };
    client = new ThreadClient({ ...parts, shared: true, onNews, onFatal });
    greeted.resolve(client);
  };
  const hear = (message: FromThread | Welcome): void => {
    if (client === null) greet(message as Welcome);
    else if (typeof message === "object" && message.kind === "fatal") client.break(new EndRequested(message.error));
    else client.hear(message as FromThread);
  };
  readFrames(socket, (message) => hear(message as FromThread | Welcome));
  socket.on("error", (error) => greeted.reject(new Error(`the store's process cannot be reached: ${error.message}`)));
  socket.on("close", () => {
    const gone = new StoreGone();
    greeted.reject(gone);
    client?.exited(gone);
  });
  socket.write(frameOf({ kind: "hello", owner, release: exactVersion() } satisfies Hello));
  return greeted.promise;
}

function portOf(socket: Socket) {
  return {
    post(message: ToThread): void {
      if (typeof message === "object" && message.kind === "close") socket.end();
      else socket.write(frameOf(message));
    },
    cut: () => void socket.destroy(),
  };
}
