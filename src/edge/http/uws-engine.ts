// The HTTP engine over uWebSockets.js. Passes its requests and responses to the edge unchanged.
import type { TemplatedApp, us_listen_socket, WebSocketBehavior } from "uWebSockets.js";
import type { Endpoint } from "../../core/endpoint.ts";
import type { Certificate } from "./certificate.ts";
import {
  cannotListen,
  type EdgeSocket,
  type Engine,
  type EngineHost,
  type EngineOptions,
  type EngineSocket,
  messageBytesMaxOf,
} from "./engine.ts";
import { SOCKET_SILENT_SECONDS_MAX } from "./socket.ts";

type Uws = typeof import("uWebSockets.js");

/** Missing in the types of uWebSockets.js: this form of `listen`, and the switch for its own header. */
interface Untyped {
  listen(host: string, port: number, options: number, listening: (socket: us_listen_socket | false) => void): void;
  _cfg(code: string): void;
}
/** Without it the port is shared (SO_REUSEPORT). */
const EXCLUSIVE_PORT = 1;

/** uWebSockets.js copies the fields of this into its own object. */
interface UserData {
  readonly socket: EdgeSocket;
}

export function uwsEngine(uws: Uws): Engine {
  (uws as unknown as Untyped)._cfg("silent");
  return {
    name: "uws",
    // It accepts bare line feeds in chunked bodies, and anything after the last chunk.
    isStrict: false,
    // The binary closes idle connections after 8 to 12 s.
    keepAliveLine: "\r\nkeep-alive: timeout=8",
    async listen(options, host) {
      const first = appOf(uws, options.certificate, host);
      const apps = [first];
      let socket: us_listen_socket | null = await listening(first, options);
      const port = uws.us_socket_local_port(socket as unknown as Parameters<Uws["us_socket_local_port"]>[0]);
      const stop = () => {
        if (socket !== null) uws.us_listen_socket_close(socket);
        socket = null;
      };
      return {
        port,
        stop,
        async setCertificate(certificate) {
          if (socket === null) return;
          // An app keeps its certificate, so a new app takes over the port. Open connections stay with the old one.
          const next = appOf(uws, certificate, host);
          stop();
          socket = await listening(next, { ...options, port });
          apps.push(next);
        },
        close() {
          socket = null;
          for (const app of apps) app.close();
        },
      };
    },
  };
}

function appOf(uws: Uws, certificate: Certificate | null, host: EngineHost): TemplatedApp {
  const files = certificate && { key_file_name: certificate.keyFile, cert_file_name: certificate.certFile };
  const app = files === null ? uws.App() : uws.SSLApp(files);
  for (const [path, endpoint] of host.socketPaths) app.ws(path, webSockets(host, endpoint));
  app.any("/*", (res, req) => host.accept(res, req));
  return app;
}

function listening(app: TemplatedApp, options: EngineOptions): Promise<us_listen_socket> {
  const flags = options.exclusive ? EXCLUSIVE_PORT : 0;
  return new Promise((resolve, reject) => {
    (app as unknown as Untyped).listen(options.host, options.port, flags, (socket) => {
      if (socket === false) reject(cannotListen(options));
      else resolve(socket);
    });
  });
}

function webSockets(host: EngineHost, endpoint: Endpoint): WebSocketBehavior<UserData> {
  return {
    maxPayloadLength: messageBytesMaxOf(endpoint),
    idleTimeout: SOCKET_SILENT_SECONDS_MAX,
    sendPingsAutomatically: true,
    // No message is dropped: the writer waits for the client.
    maxBackpressure: 0,
    // Upgrading after this handler is unsafe: uWebSockets closes some of those sockets at once.
    upgrade: (res, req, context) => {
      const socket = host.openSocket(res, req, endpoint);
      if (socket === null) return;
      const header = (name: string) => req.getHeader(`sec-websocket-${name}`);
      const protocol = socket.protocolOf(header("protocol"));
      res.upgrade<UserData>({ socket }, header("key"), protocol, header("extensions"), context);
    },
    open: (ws) => ws.getUserData().socket.opened(ws satisfies EngineSocket),
    message: (ws, message, isBinary) => ws.getUserData().socket.message(message, isBinary),
    drain: (ws) => ws.getUserData().socket.drained(),
    close: (ws) => ws.getUserData().socket.gone(),
  };
}
