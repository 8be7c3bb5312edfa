// The storage thread of another process of this machine, over a socket: called as this process's own would be.
import { connect, type Socket } from "node:net";
import type { Clock } from "../clock.ts";
import { VERSION } from "../version.ts";
import { FrameReader, frameOf } from "./frames.ts";
import { openReadingThread } from "./reading-thread.ts";
import { type SqliteThread, ThreadClient } from "./thread-client.ts";
import type { FromThread, Hello, OperationEntry, StoreNews, ToThread, Welcome } from "./wire.ts";

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

const GONE = "the process that keeps the store has ended";

/** Connects. Rejects with a sentence for the operator where that is not possible. */
export async function openRemoteThread(options: RemoteThreadOptions): Promise<SqliteThread> {
  const { owner, file, clock, onNews, onFatal } = options;
  const socket = connect(options.socket);
  let hear: (message: FromThread) => void = () => {};
  const greeted = Promise.withResolvers<readonly OperationEntry[]>();
  const reader = new FrameReader((message) => hear(message as FromThread));
  hear = (message) => {
    const welcome = message as Welcome;
    if (welcome.kind === "ready") greeted.resolve(welcome.operations);
    else greeted.reject(new Error(welcome.error));
  };
  socket.on("data", (chunk) => {
    try {
      reader.push(chunk);
    } catch {
      socket.destroy();
    }
  });
  socket.on("error", (error) => greeted.reject(new Error(`the store's process cannot be reached: ${error.message}`)));
  socket.on("close", () => greeted.reject(new Error(GONE)));
  socket.write(frameOf({ kind: "hello", owner, release: VERSION } satisfies Hello));
  const entries = await greeted.promise;
  const client = new ThreadClient({
    port: portOf(socket),
    entries,
    reading: openReadingThread(file),
    clock,
    onNews,
    onFatal,
  });
  hear = (message) => client.hear(message);
  socket.on("close", () => client.exited(GONE));
  // It may have ended while we waited for our turn.
  if (socket.destroyed) client.exited(GONE);
  return client;
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
