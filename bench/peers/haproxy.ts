// HAProxy as a second floor: keep-alive both ways, one thread, no buffering, no log.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../processes.ts";
import { DUMMY_KEY, type Ground, OPENAI_MODEL, OPENAI_PATH, type Subject } from "../subjects.ts";
import { installWithApt } from "./apt.ts";

const TLS = { plain: "", tls: " ssl verify none alpn http/1.1", http2: " ssl verify none alpn h2" } as const;

function configuration(port: number, { upstreamPort, wire = "plain" }: Ground): string {
  return `global
  # One thread does all the work, as one process of nginx does.
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
  option http-no-delay
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}
  default_backend openai
backend openai
  # Purged sooner than after the upstream's ten seconds, or a request meets a connection that is just being closed.
  server upstream 127.0.0.1:${upstreamPort}${TLS[wire]} pool-max-conn 5000 pool-purge-delay 5s
`;
}

export async function startHaproxy(ground: Ground): Promise<Subject> {
  installWithApt(ground, "haproxy", "haproxy");
  const { folder } = ground;
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configuration(port, ground));
  const { child, pid } = await ground.processes.spawn("haproxy", ["-db", "-f", file], {
    port,
    logFile: join(folder, "output.log"),
    folder,
    env: { PATH: process.env.PATH },
  });
  return { name: "haproxy", port, pid, child, path: OPENAI_PATH, model: OPENAI_MODEL, headers: DUMMY_KEY };
}
