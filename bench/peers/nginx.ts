// nginx as a floor: proxy_pass, keep-alive to the upstream, one worker, no buffering.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../processes.ts";
import { DUMMY_KEY, type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject } from "../subjects.ts";
import { installWithApt } from "./apt.ts";

/** `listen`: how clients connect; `upstream`: the address that requests are passed to. */
function configuration(
  listen: string,
  upstream: { readonly scheme: string; readonly port: number },
  folder: string,
): string {
  return `daemon off;
# One process does all the work, so its CPU is the CPU of nginx.
master_process off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 10000; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 100000000;
  tcp_nodelay on;
  upstream openai {
    server 127.0.0.1:${upstream.port};
    keepalive 512;
    # Shorter than the upstream's ten seconds, or a request meets a connection that is just being closed.
    keepalive_timeout 5s;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${listen};
    location / {
      proxy_pass ${upstream.scheme}://openai;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}

async function start(ground: Ground, tls: string, upstream: { readonly scheme: string; readonly port: number }) {
  installWithApt(ground, "nginx", "nginx-light");
  const { folder } = ground;
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(`${port}${tls}`, upstream, folder));
  const { child, pid } = await ground.processes.spawn("nginx", ["-p", folder, "-c", file], {
    port,
    logFile: join(folder, "output.log"),
    folder,
    env: { PATH: process.env.PATH },
  });
  return { port, child, pid };
}

export async function startNginx(ground: Ground): Promise<Subject> {
  const scheme = ground.wire === "plain" || ground.wire === undefined ? "http" : "https";
  const started = await start(ground, "", { scheme, port: ground.upstreamPort });
  return { ...started, name: "nginx", path: OPENAI_PATH, model: OPENAI_MODEL, headers: DUMMY_KEY };
}

/** Terminates TLS in front of a gateway. */
export async function terminateTls(ground: Ground, gateway: Subject): Promise<Subject> {
  const { authorityFile, keyFile } = ground;
  const tls = ` ssl;\n    ssl_certificate ${authorityFile};\n    ssl_certificate_key ${keyFile}`;
  const started = await start(ground, tls, { scheme: "http", port: gateway.port });
  return { ...gateway, ...started, name: "tls-nginx", tls: true, behind: gateway };
}
