// Realtime sessions that send and receive 50 frames a second: the gateway's CPU per frame, and its memory per session.
import { setTimeout as sleep } from "node:timers/promises";
import { startSandbox } from "../../src/sandbox/server.ts";
import { atMost, type Bench, type Row, startSubjects, stopSubjects, told } from "../bench.ts";
import { cpuMs, residentMb } from "../measure.ts";
import type { Subject } from "../subjects.ts";

const FRAMES_PER_SECOND = 50;
/** 20 ms of sound of 16 bits at 24 kHz, in base64. */
const SOUND = "A".repeat(1_280);
const SESSIONS_PER_ACCOUNT = 16;
const CPU_US_MAX = 25;
const SESSION_KB_MAX = 60;
const APPEND = JSON.stringify({ type: "input_audio_buffer.append", audio: SOUND });
const DELTA = JSON.stringify({ type: "response.output_audio.delta", event_id: "event_1", delta: SOUND });
const CREATED = JSON.stringify({ type: "session.created", event_id: "event_0", session: { type: "realtime" } });

/** A vendor that answers each frame with one. */
function startVendor() {
  const echo = {
    path: /\/realtime$/,
    open(socket: { send(text: string): void }) {
      socket.send(CREATED);
      return { message: () => socket.send(DELTA), closed: () => {} };
    },
  };
  return startSandbox({ dialects: [], sockets: [echo], host: "127.0.0.1", port: 0 });
}

async function openSession(port: number, key: string, heard: () => void): Promise<WebSocket> {
  const address = `ws://127.0.0.1:${port}/v1/realtime?model=openai/gpt-realtime-2`;
  const socket = new WebSocket(address, ["realtime", `openai-insecure-api-key.${key}`]);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("message", () => resolve(), { once: true });
    socket.addEventListener("error", () => reject(new Error("a session was refused")));
  });
  socket.addEventListener("message", heard);
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
  const sockets: WebSocket[] = [];
  // What the first sessions allocate once is not counted.
  const firstKey = await openAccount();
  const first = await Promise.all(
    Array.from({ length: SESSIONS_PER_ACCOUNT }, () => openSession(port, firstKey, heard)),
  );
  for (let sent = 0; sent < 200; sent++) for (const socket of first) socket.send(APPEND);
  await sleep(1_000);
  for (const socket of first) socket.close();
  const beforeMb = residentMb(pid);
  while (sockets.length < count) {
    const key = await openAccount();
    const more = Math.min(SESSIONS_PER_ACCOUNT, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: more }, () => openSession(port, key, heard)))));
  }
  const kb = ((residentMb(pid) - beforeMb) * 1024) / count;
  const timer = setInterval(() => {
    for (const socket of sockets) socket.send(APPEND);
  }, 1_000 / FRAMES_PER_SECOND);
  await sleep(2_000);
  const [fromMs, from] = [cpuMs(pid), frames];
  const seconds = bench.quick ? 5 : 30;
  await sleep(seconds * 1_000);
  // Each frame that came back was one to the vendor, too.
  const relayed = 2 * (frames - from);
  const us = ((cpuMs(pid) - fromMs) * 1_000) / relayed;
  clearInterval(timer);
  for (const socket of sockets) socket.close();
  return [
    told(name, "frames a second", String(Math.round(relayed / seconds))),
    atMost(name, "CPU per frame", us, CPU_US_MAX, " us"),
    atMost(name, "memory per session", kb, SESSION_KB_MAX, " KB"),
  ];
}

export async function realtime(bench: Bench): Promise<Row[]> {
  const vendor = await startVendor();
  const settings = { OPENAI_BASE_URL: `${vendor.url}/openai` };
  const subjects = await startSubjects(bench, ["tollgate"], { settings });
  const rows: Row[] = [];
  for (const subject of subjects.values()) rows.push(...(await measure(bench, subject)));
  await stopSubjects(bench, subjects);
  await vendor.close();
  return rows;
}
