// The floor of this stack: uWebSockets in front, undici behind, and the least that a correct proxy does in between.
import { App, us_socket_local_port } from "uWebSockets.js";
import { readFileSync } from "node:fs";
import { Pool } from "undici";

const [origin = "", wire = "plain", authorityFile = ""] = process.argv.slice(2);
const upstream = new Pool(origin, {
  connections: null,
  pipelining: 1,
  allowH2: wire === "http2",
  ...(wire === "plain" ? {} : { connect: { ca: readFileSync(authorityFile) } }),
});
const HOP = new Set(["host", "connection", "keep-alive", "content-length", "transfer-encoding", "date"]);

App()
  .post("/*", (res, req) => {
    const path = req.getUrl();
    const headers: string[] = [];
    req.forEach((name, value) => {
      if (!HOP.has(name)) headers.push(name, value);
    });
    let body = Buffer.alloc(0);
    let gone = false;
    let abort = () => {};
    res.onAborted(() => {
      gone = true;
      abort();
    });
    res.onData((part, last) => {
      // uWebSockets reuses its buffer after this call.
      body = body.length === 0 ? Buffer.from(new Uint8Array(part)) : Buffer.concat([body, new Uint8Array(part)]);
      if (!last || gone) return;
      let whole: Buffer[] | null = null;
      let writeHead = () => {};
      upstream.dispatch(
        { method: "POST", path, headers, body },
        {
          onRequestStart(controller) {
            abort = () => controller.abort(new Error("the client left"));
          },
          onResponseStart(_controller, status, head) {
            writeHead = () => {
              res.writeStatus(String(status));
              for (const name in head) if (!HOP.has(name)) res.writeHeader(name, String(head[name]));
            };
            if ("content-length" in head) whole = [];
            else if (!gone) res.cork(writeHead);
          },
          onResponseData(controller, bytes) {
            if (whole !== null) return void whole.push(bytes);
            if (gone) return;
            res.cork(() => {
              if (res.write(bytes)) return;
              controller.pause();
              res.onWritable(() => {
                controller.resume();
                return true;
              });
            });
          },
          onResponseEnd() {
            if (gone) return;
            res.cork(() => {
              if (whole === null) return res.end();
              // Head and body of a whole answer leave in one system call.
              writeHead();
              return res.end(whole.length === 1 ? whole[0] : Buffer.concat(whole));
            });
          },
          onResponseError() {
            if (!gone) res.close();
          },
        },
      );
    });
  })
  .listen("127.0.0.1", 0, (socket) => {
    if (socket !== false) process.send?.({ port: us_socket_local_port(socket) });
  });

// Exit in an orderly way, so that a profile is written.
for (const event of ["disconnect", "SIGTERM"]) process.on(event, () => process.exit(0));
