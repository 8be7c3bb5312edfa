// nginx as a floor: proxy_pass, keep-alive to the upstream, one worker, no buffering.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../processes.ts";
import { DUMMY_KEY, type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject } from "../subjects.ts";
import { installWithApt } from "./apt.ts";

function configuration(port: number, { upstreamPort, wire = "plain", folder }: Ground): string {
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
    server 127.0.0.1:${upstreamPort};
    keepalive 512;
    # Shorter than the upstream's ten seconds, or a request meets a connection that is just being closed.
    keepalive_timeout 5s;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${wire === "plain" ? "http" : "https"}://openai;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}

export async function startNginx(ground: Ground): Promise<Subject> {
  installWithApt(ground, "nginx", "nginx-light");
  const { folder } = ground;
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(port, ground));
  const { child, pid } = await ground.processes.spawn("nginx", ["-p", folder, "-c", file], {
    port,
    logFile: join(folder, "output.log"),
    folder,
    env: { PATH: process.env.PATH },
  });
  return { name: "nginx", port, pid, child, path: OPENAI_PATH, model: OPENAI_MODEL, headers: DUMMY_KEY };
}
