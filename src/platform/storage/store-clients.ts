// The clients of the storage thread: its own process, and other processes of this machine over a socket.
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { exactVersion } from "../../core/version.ts";
import { FRAME_BYTES_MAX, frameOf, readFrames } from "./frames.ts";
import type { FromThread, Hello, OperationEntry, StoreNews, ToThread, Welcome } from "./wire.ts";

/** The system's limit for socket paths; one more byte terminates them. */
const PATH_BYTES_MAX = 107;

/** A client of the thread. */
export interface StoreClient {
  say(message: FromThread): void;
  /** The last commit in its answers that is not on disk yet; 0: none. */
  waitsFor: number;
  /** The answer to its late batch, which waits for its commit. */
  late: { readonly commit: number; readonly text: string } | null;
}

export interface StoreSocketParts {
  readonly entries: readonly OperationEntry[];
  /** Called with each whole message of another process. */
  readonly onMessage: (client: StoreClient, message: ToThread) => void;
  /** Its connection has ended: nothing more will arrive, and everything received has been done. */
  readonly onLeft: (owner: string) => void;
}

function tellSynced(client: StoreClient, commit: number): void {
  const { late } = client;
  if (late !== null && late.commit <= commit) {
    client.late = null;
    client.say(late.text);
  }
  if (client.waitsFor === 0) return;
  if (commit >= client.waitsFor) client.waitsFor = 0;
  client.say(commit);
}

export class StoreClients {
  readonly #own: StoreClient;
  readonly #others = new Map<StoreClient, Socket>();
  /** Includes sockets that have not identified themselves or were refused: the thread cannot end while one is open. */
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;

  constructor(sayToOwn: (message: FromThread) => void) {
    this.#own = { say: sayToOwn, waitsFor: 0, late: null };
  }

  get own(): StoreClient {
    return this.#own;
  }

  /** Tells waiting clients that this commit, and all before it, are on disk. */
  synced(commit: number): void {
    tellSynced(this.#own, commit);
    for (const client of this.#others.keys()) tellSynced(client, commit);
  }

  /** Does nothing if there is no other process. */
  tellAll(news: StoreNews): void {
    if (this.#server === null) return;
    this.#own.say(news);
    for (const [client, socket] of this.#others) {
      // A process that reads nothing would never learn that a key was revoked: it must exit.
      if (socket.writableLength > FRAME_BYTES_MAX) socket.destroy();
      else client.say(news);
    }
  }

  /** Tells all clients that the store is permanently broken, and serves none of them any more. */
  end(error: string): void {
    const message: FromThread = { kind: "fatal", error };
    for (const client of this.#others.keys()) client.say(message);
    // Last, because its process ends this thread at once.
    this.#own.say(message);
    this.close();
  }

  /**
   * Serves other processes at `path` from now on. The store's file must be locked, so that an existing socket can only be a dead
   * process's.
   */
  async listen(path: string, parts: StoreSocketParts): Promise<void> {
    if (Buffer.byteLength(path) > PATH_BYTES_MAX)
      throw new Error(`DATA_DIR: ${path} is longer than the ${PATH_BYTES_MAX} bytes that a socket's path may have`);
    const release = exactVersion();
    const server = createServer((socket) => this.#welcome(socket, release, parts));
    try {
      // Create it in a private folder, so that other users cannot connect at any moment.
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      chmodSync(dirname(path), 0o700);
      rmSync(path, { force: true });
      server.listen(path);
      await once(server, "listening");
      chmodSync(path, 0o600);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      const words = `DATA_DIR: no socket can be made at ${path} (${code}), which WORKERS above 1 need without REDIS_URL`;
      throw new Error(words, { cause });
    }
    this.#server = server;
  }

  #welcome(socket: Socket, release: string, { entries, onMessage, onLeft }: StoreSocketParts): void {
    this.#sockets.add(socket);
    let owner: string | null = null;
    const say = (message: FromThread | Welcome): void => {
      try {
        socket.write(frameOf(message));
      } catch {
        socket.destroy();
      }
    };
    const client: StoreClient = { say, waitsFor: 0, late: null };
    const greet = ({ kind, owner: named, release: other }: Hello): void => {
      if (kind !== "hello" || other !== release) {
        const error = `the store is kept by Tollgate ${release}, which this one, ${other}, cannot share: restart all of it`;
        socket.end(frameOf({ kind: "refused", error } satisfies Welcome));
        return;
      }
      owner = named;
      this.#others.set(client, socket);
      say({ kind: "ready", operations: entries });
    };
    readFrames(socket, (message) => {
      if (owner === null) greet(message as Hello);
      else onMessage(client, message as ToThread);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#others.delete(client);
      if (owner !== null) onLeft(owner);
    });
  }

  close(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
