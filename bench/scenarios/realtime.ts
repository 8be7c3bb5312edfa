// Realtime sessions that send and receive 50 frames a second: the gateway's CPU per frame, and its memory per session. Clients and vendor
// write ready frames to plain sockets and count bytes, so that one core drives them all.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, type Bench, type Row, told, withGateway } from "../bench.ts";
import { cpuMs, residentMb } from "../measure.ts";
import type { Subject } from "../subjects.ts";

const FRAMES_PER_SECOND = 50;
/** 20 ms of sound of 16 bits at 24 kHz, in base64. */
const SOUND = "A".repeat(1_280);
const SESSIONS_PER_ACCOUNT = 16;
const CPU_US_MAX = 25;
const SESSION_KB_MAX = 60;
const KEY = Buffer.alloc(16).toString("base64");
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A text frame of 126 to 65,535 bytes; a client's has a mask of zeros. */
function frame(event: unknown, isMasked: boolean): Buffer {
  const payload = Buffer.from(JSON.stringify(event));
  const head = Buffer.from([0x81, (isMasked ? 0x80 : 0) | 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), payload]);
}

const APPEND = frame({ type: "input_audio_buffer.append", audio: SOUND }, true);
const DELTA = frame({ type: "response.output_audio.delta", event_id: "event_1", delta: SOUND }, false);
const CREATED = frame({ type: "session.created", event_id: "event_0", session: { id: SOUND } }, false);

/** Calls `whole` for each frame of this many bytes. */
function countFrames(socket: Socket, bytes: number, whole: () => void): void {
  let seen = 0;
  socket.on("data", (chunk) => {
    for (seen += chunk.length; seen >= bytes; seen -= bytes) whole();
  });
}

/** A vendor that answers each frame with one. */
async function startVendor() {
  const server = createServer();
  server.on("upgrade", ({ headers }, socket: Socket) => {
    const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${GUID}`).digest("base64");
    socket.setNoDelay(true).on("error", () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    socket.write(CREATED);
    countFrames(socket, APPEND.length, () => socket.write(DELTA));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

async function openSession(port: number, key: string, heard: () => void): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  socket.on("error", () => {});
  const head = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nhost: gateway";
  const path = "/v1/realtime?model=openai/gpt-realtime-2";
  socket.write(`GET ${path} HTTP/1.1\r\n${head}\r\nsec-websocket-key: ${KEY}\r\nauthorization: Bearer ${key}\r\n\r\n`);
  for (let seen = ""; !seen.endsWith("}"); seen += String((await once(socket, "data"))[0]));
  countFrames(socket, DELTA.length, heard);
  return socket;
}

async function measure(bench: Bench, subject: Subject): Promise<Row[]> {
  const count = bench.quick ? 50 : 500;
  const name = `${count} realtime sessions`;
  const { port, pid, openAccount } = subject;
  if (pid === null || openAccount === undefined) return [];
  let frames = 0;
  const heard = () => {
    frames += 1;
  };
  const sockets: Socket[] = [];
  // What the first sessions allocate once is not counted.
  const firstKey = await openAccount();
  const first = await Promise.all(
    Array.from({ length: SESSIONS_PER_ACCOUNT }, () => openSession(port, firstKey, heard)),
  );
  for (let sent = 0; sent < 200; sent++) for (const socket of first) socket.write(APPEND);
  await sleep(1_000);
  for (const socket of first) socket.destroy();
  const beforeMb = residentMb(pid);
  while (sockets.length < count) {
    const key = await openAccount();
    const more = Math.min(SESSIONS_PER_ACCOUNT, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: more }, () => openSession(port, key, heard)))));
  }
  const kb = ((residentMb(pid) - beforeMb) * 1024) / count;
  const timer = setInterval(() => {
    for (const socket of sockets) socket.write(APPEND);
  }, 1_000 / FRAMES_PER_SECOND);
  await sleep(2_000);
  const [fromMs, from, cpuFromMs] = [performance.now(), frames, cpuMs(pid)];
  await sleep(bench.quick ? 5_000 : 30_000);
  // Each frame that came back was one to the vendor, too.
  const [relayed, usedMs, ms] = [2 * (frames - from), cpuMs(pid) - cpuFromMs, performance.now() - fromMs];
  clearInterval(timer);
  for (const socket of sockets) socket.destroy();
  const wanted = `of ${2 * count * FRAMES_PER_SECOND}`;
  return [
    told(name, "frames a second", `${Math.round((relayed * 1_000) / ms)} ${wanted}`),
    told(name, "CPU of the gateway", `${Math.round((usedMs * 100) / ms)} % of a core`),
    atMost(name, "CPU per frame", (usedMs * 1_000) / relayed, CPU_US_MAX, " us"),
    atMost(name, "memory per session", kb, SESSION_KB_MAX, " KB"),
  ];
}

export async function realtime(bench: Bench): Promise<Row[]> {
  const vendor = await startVendor();
  const settings = { OPENAI_BASE_URL: `${vendor.url}/openai` };
  const rows = await withGateway(bench, (subject) => measure(bench, subject), { settings });
  vendor.close();
  return rows;
}
