// The storage thread of another process of this machine, over a socket: called as this process's own would be.
import { connect, type Socket } from "node:net";
import type { Clock } from "../../core/clock.ts";
import { exactVersion } from "../../core/version.ts";
import { FrameReader, frameOf } from "./frames.ts";
import { openReadingThread } from "./reading-thread.ts";
import { type SqliteThread, ThreadClient } from "./thread-client.ts";
import type { FromThread, Hello, StoreNews, ToThread, Welcome } from "./wire.ts";

export interface RemoteThreadOptions {
  /** Where the other process serves it. */
  readonly socket: string;
  /** The database, of which this process reads long questions by itself. */
  readonly file: string;
  /** This process, as the owner of its holds: they end when the connection does. */
  readonly owner: string;
  /** The same as the other process's. */
  readonly clock: Clock;
  readonly onNews: (news: StoreNews) => void;
  /** The other process has gone: everything has been rejected, and this one must end, since its holds have. */
  readonly onFatal: (error: Error) => void;
}

/** The process that keeps the store has said to all that it must end, and says so to the operator itself. */
export class EndRequested extends Error {}

/** The way to the store has ended without words: with its process, as a rule, but it may also be this one that was cut off. */
export class StoreGone extends Error {
  constructor() {
    super("the process that keeps the store has ended");
  }
}

/** Connects. Rejects with a sentence for the operator where that is not possible. */
export async function openRemoteThread(options: RemoteThreadOptions): Promise<SqliteThread> {
  const { owner, file, clock, onNews, onFatal } = options;
  const socket = connect(options.socket);
  const greeted = Promise.withResolvers<SqliteThread>();
  let client: ThreadClient | null = null;
  // What is told right behind the welcome is for a client that is there: all of it may have come in one piece.
  const greet = (welcome: Welcome): void => {
    if (welcome.kind === "refused") return greeted.reject(new Error(welcome.error));
    const parts = { port: portOf(socket), entries: welcome.operations, reading: openReadingThread(file), clock };
    client = new ThreadClient({ ...parts, onNews, onFatal });
    greeted.resolve(client);
  };
  const hear = (message: FromThread | Welcome): void => {
    if (client === null) greet(message as Welcome);
    else if (typeof message === "object" && message.kind === "fatal") client.break(new EndRequested(message.error));
    else client.hear(message as FromThread);
  };
  const reader = new FrameReader((message) => hear(message as FromThread | Welcome));
  socket.on("data", (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch {
      socket.destroy();
    }
  });
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
