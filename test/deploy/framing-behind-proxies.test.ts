// The framing list behind nginx and HAProxy, on both engines: no client receives another client's answer.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { FRAMING_LIST } from "../edge/http/contract/framing-list.ts";
import { ENGINES, echo, loadedEngine, rawClient, request, startEdge, until } from "../edge/http/edge.ts";
import { freePort } from "../support/free-port.ts";
import { has, read, temporary } from "./deployed.ts";

/** deploy/nginx.conf with one gateway, shorter timeouts and more connections per address, by the nginx that is installed. */
const nginxConfig = (folder: string, port: number, to: number) => {
  const own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const conf = read("nginx.conf")
    .replace("server gateway-1:8080 resolve max_fails=1 fail_timeout=2s;", `server 127.0.0.1:${to};`)
    .replaceAll(/^ +(server gateway-|resolver ).*\n/gm, "")
    .replaceAll(/(client_\w+_timeout) \w+;/g, "$1 3s;")
    .replace("limit_conn addresses 100;", "limit_conn addresses 1000;")
    .replace("listen 8080;", `listen 127.0.0.1:${port};`)
    .replace("http {", `http {\naccess_log off;\n${own.join("\n")}`);
  expect(conf).toContain(`listen 127.0.0.1:${port};`);
  return `daemon off;\npid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\n${conf}`;
};

const haproxyConfig = (_folder: string, port: number, to: number) => `defaults
  mode http
  timeout connect 2s
  timeout client 3s
  timeout http-request 3s
  timeout server 10s
  option http-buffer-request
frontend in
  bind 127.0.0.1:${port}
  default_backend gateway
backend gateway
  http-reuse always
  server one 127.0.0.1:${to}
`;

const PROXIES = [
  ["nginx", nginxConfig, (file: string, folder: string) => ["-p", folder, "-c", file, "-e", join(folder, "error.log")]],
  ["haproxy", haproxyConfig, (file: string) => ["-db", "-f", file]],
] as const;

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/hello`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function startProxy([name, config, words]: (typeof PROXIES)[number], to: number): Promise<number> {
  const [folder, port] = [temporary(), await freePort()];
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, config(folder, port, to));
  const proxy: ChildProcess = spawn(name, words(file, folder), { stdio: "ignore" });
  onTestFinished(async () => {
    proxy.kill();
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, "exit");
  });
  let isUp = false;
  void (async () => {
    while (!isUp && proxy.exitCode === null) isUp = await answers(port);
  })();
  await until(() => isUp || proxy.exitCode !== null);
  expect(proxy.exitCode).toBeNull();
  return port;
}

describe.each(ENGINES)("%s", (engine) => {
  for (const proxy of PROXIES) {
    test.skipIf(!has(proxy[0]))(`behind ${proxy[0]}: every client has its own answers`, async () => {
      const server = await startEdge({ engine: await loadedEngine(engine), handle: echo, bodyMsMax: 2_000 });
      const port = await startProxy(proxy, server.port);
      const wrong = await Promise.all(
        FRAMING_LIST.map(async ({ family, name, sent }, i) => {
          const attacker = await rawClient(port);
          attacker.send(sent);
          const victim = await rawClient(port);
          const path = `/things/${i}`;
          victim.send(request(`GET ${path}`, ["connection: close"]));
          await victim.closed;
          attacker.send(request("GET /things/behind", ["connection: close"]));
          await attacker.closed;
          const own = victim.text().includes(`"path":"${path}"`) && victim.text().match(/"path":/g)?.length === 1;
          const others = [...attacker.text().matchAll(/"path":"([^"]*)"/g)].map(([, served = ""]) => served);
          const known = others.every((served) => /^\/(hello|echo|things\/(1|behind))$/.test(served));
          return own && known ? [] : [`${family}, ${name}: ${victim.text().slice(0, 40)} | ${others}`];
        }),
      );
      expect(wrong.flat()).toEqual([]);
      await until(() => server.openRequests() === 0);
    });
  }
});
