// The fake OpenAI that every subject of the bench has behind it: fast, paced by one timer, told what to do by the prompt.

import { App, type HttpResponse, SSLApp, us_socket_local_port } from "uWebSockets.js";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answer, startHttp2 } from "./upstream-http2.ts";

// A prompt holds `bench:<chunks>:<chunks a second>`; 0 a second means all at once. Unary calls need none.
const DIRECTIVE = /bench:(\d+):(\d+)/;
// Some gateways write JSON with spaces.
const STREAM = /"stream": ?true/;
const WITH_USAGE = /"include_usage": ?true/;
const WORDS =
  "the a of gateway stands between programs and what they pay for per call , it streams meters charges exactly once . \
A hold is placed before upstream called for most it can cost ; so nothing overspent at any concurrency internationalisation"
    .split(/\s+/)
    .map((word) => JSON.stringify(` ${word}`));
const CREATED = 1_790_000_000;
const MODEL = "gpt-4o-mini-2024-07-18";
const USAGE =
  '{"prompt_tokens":212,"completion_tokens":48,"total_tokens":260,"prompt_tokens_details":{"cached_tokens":128}}';
const ANSWER = `{"id":"chatcmpl-BenchAnswer0000000000000001","object":"chat.completion","created":${CREATED},"model":"${MODEL}",\
"choices":[{"index":0,"message":{"role":"assistant","content":"A gateway stands between programs and what they pay for \
per call: it streams, meters and charges. It holds the most a call can cost before it asks, and takes what it did cost \
after.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":${USAGE},"system_fingerprint":"fp_bench"}`;

/** The part of an event after its id, as OpenAI writes it. */
function eventTail(choices: string, usage: string): string {
  return `","object":"chat.completion.chunk","created":${CREATED},"model":"${MODEL}","system_fingerprint":"fp_bench","choices":${choices}${usage}}\n\n`;
}

/** All events of a stream, built once; with `usage` every event has the field, as OpenAI sends it on request. */
function script(asked: boolean) {
  const none = asked ? ',"usage":null' : "";
  const choice = (delta: string, finish: string) =>
    `[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]`;
  return {
    role: eventTail(choice('{"role":"assistant","content":"","refusal":null}', "null"), none),
    words: WORDS.map((word) => eventTail(choice(`{"content":${word}}`, "null"), none)),
    finish: eventTail(choice("{}", '"stop"'), none),
    usage: asked ? eventTail("[]", `,"usage":${USAGE}`) : null,
  };
}
const PLAIN = script(false);
const ASKED = script(true);

interface Stream {
  readonly res: Answer;
  readonly head: string;
  readonly say: typeof PLAIN;
  readonly periodMs: number;
  dueMs: number;
  word: number;
  left: number;
  gone: boolean;
}

// A wheel of one slot a millisecond: each stream lies in the slot of its next chunk, and one timer turns the wheel.
const SLOTS = 8192;
const wheel: Stream[][] = Array.from({ length: SLOTS }, () => []);
let turnedToMs = Math.floor(performance.now());
let streamsStarted = 0;

function park(stream: Stream): void {
  const slot = Math.max(turnedToMs + 1, Math.floor(stream.dueMs));
  wheel[slot % SLOTS]?.push(stream);
}

function word(stream: Stream): string {
  stream.left -= 1;
  stream.word = (stream.word + 1) % WORDS.length;
  return `${stream.head}${stream.say.words[stream.word]}`;
}

function finish(stream: Stream): string {
  const { head, say } = stream;
  return `${head}${say.finish}${say.usage === null ? "" : head + say.usage}data: [DONE]\n\n`;
}

function step(stream: Stream): void {
  if (stream.gone) return;
  if (stream.left === 0) {
    stream.gone = true;
    stream.res.cork(() => stream.res.end(finish(stream)));
    return;
  }
  const bytes = word(stream);
  stream.res.cork(() => stream.res.write(bytes));
  stream.dueMs += stream.periodMs;
  park(stream);
}

setInterval(() => {
  const nowMs = Math.floor(performance.now());
  while (turnedToMs < nowMs) {
    turnedToMs += 1;
    const slot = turnedToMs % SLOTS;
    const due = wheel[slot];
    if (due === undefined || due.length === 0) continue;
    wheel[slot] = [];
    for (const stream of due) step(stream);
  }
}, 1);

/** Sends the role and the first word at once, so that a first token has no pace in it; the rest is spread by phase. */
function begin(res: Answer, body: string): void {
  const found = DIRECTIVE.exec(body);
  const chunks = Number(found?.[1] ?? 16);
  const perSecond = Number(found?.[2] ?? 0);
  streamsStarted += 1;
  const periodMs = perSecond === 0 ? 0 : 1000 / perSecond;
  const phase = (streamsStarted * 0.618_033_988_75) % 1;
  const stream: Stream = {
    res,
    head: `data: {"id":"chatcmpl-Bench${String(streamsStarted).padStart(24, "0")}`,
    say: WITH_USAGE.test(body) ? ASKED : PLAIN,
    periodMs,
    dueMs: performance.now() + phase * periodMs,
    word: streamsStarted % WORDS.length,
    left: chunks,
    gone: false,
  };
  res.onAborted(() => {
    stream.gone = true;
  });
  res.cork(() => {
    res.writeHeader("content-type", "text/event-stream; charset=utf-8").writeHeader("x-request-id", "req_bench");
    res.writeHeader("openai-processing-ms", "7").writeHeader("openai-version", "2020-10-01");
    res.write(stream.head + stream.say.role + word(stream));
    if (perSecond === 0) {
      while (stream.left > 0) res.write(word(stream));
      res.end(finish(stream));
    }
  });
  if (perSecond !== 0) park(stream);
}

/** A prompt holds `bench-calls:<calls>` where the model is to call the bench's action so often, before it answers. */
const CALLS = /bench-calls:(\d+)/;
const CALLED = /"role": ?"tool"/;

/** The answer of a model that calls. */
function callsOf(count: number): string {
  const calls = Array.from({ length: count }, (_, at) => ({
    id: `call_Bench${at}`,
    type: "function",
    function: { name: "bench__search", arguments: JSON.stringify({ query: `lighthouse ${at}`, limit: 5 }) },
  }));
  const message = { role: "assistant", content: null, tool_calls: calls };
  const choices = JSON.stringify([{ index: 0, message, finish_reason: "tool_calls" }]);
  return `{"id":"chatcmpl-BenchCalls","object":"chat.completion","created":${CREATED},"model":"${MODEL}","choices":${choices},"usage":${USAGE}}`;
}

function answer(res: Answer, body: string): void {
  const calls = CALLED.test(body) ? null : CALLS.exec(body);
  res.cork(() => {
    res.writeHeader("content-type", "application/json").writeHeader("x-request-id", "req_bench");
    res.writeHeader("openai-processing-ms", "7").writeHeader("openai-version", "2020-10-01");
    res.end(calls === null ? ANSWER : callsOf(Number(calls[1])));
  });
}

/** Whole or as a stream, as the body asks. */
function serve(res: Answer, body: string): void {
  if (STREAM.test(body)) begin(res, body);
  else answer(res, body);
}

const PAGE = `{"url":"https://bench.example/page","text":"${"many words ".repeat(5_950)}"},`;

/** One JSON value of this many megabytes, in pieces of 64 KB, as fast as they are read. */
function sendPages(res: HttpResponse, megabytes: number): void {
  let left = Math.floor((megabytes * 1_000_000) / PAGE.length);
  let gone = false;
  const more = () => {
    if (gone) return;
    res.cork(() => {
      while (left > 0) {
        left -= 1;
        if (!res.write(PAGE)) return;
      }
      gone = true;
      res.end('{"url":"https://bench.example/last","text":""}]}');
    });
  };
  res.onAborted(() => {
    gone = true;
  });
  res.onWritable(() => {
    more();
    return true;
  });
  res.cork(() => res.writeHeader("content-type", "application/json").write('{"results":['));
  more();
}

const ARTICLE_BYTES = 100_000;
const SENTENCE = "All that is paid at the gate is written down, and whoever asks is told what is left of it. ";
const PARAGRAPH = SENTENCE.repeat(6);
const TEXT = PARAGRAPH.repeat(Math.ceil(ARTICLE_BYTES / PARAGRAPH.length)).slice(0, ARTICLE_BYTES);
const HTML_HEAD =
  "<!doctype html><html><head><title>The gate</title></head><body><nav><a href='/'>Home</a></nav><article><h1>The gate</h1>";
const HTML_END = "</article></body></html>";
const HTML = `${HTML_HEAD}${`<p>${PARAGRAPH}</p>`.repeat(
  Math.floor((ARTICLE_BYTES - HTML_HEAD.length - HTML_END.length) / (PARAGRAPH.length + 7)),
)}${HTML_END}`;
const SCRAPED = SENTENCE.repeat(220);

/** Answers after `ms`, if the client still waits. */
function later(res: HttpResponse, ms: number, type: string, text: () => string): void {
  let gone = false;
  res.onAborted(() => {
    gone = true;
  });
  setTimeout(() => {
    if (!gone) res.cork(() => res.writeHeader("content-type", type).end(text()));
  }, ms);
}

/** A scraper's answer of 20 KB for the requested page, after `ms` on average: varying times keep pages out of step. */
function scrape(res: HttpResponse, ms: number): void {
  let body = "";
  res.onData((chunk) => {
    body += Buffer.from(chunk).toString("latin1");
  });
  const takesMs = ms * (0.5 + ((streamsStarted++ * 0.618_033_988_75) % 1));
  later(res, takesMs, "application/json", () => {
    const { url } = JSON.parse(body) as { url: string };
    const data = { markdown: `${url} ${SCRAPED}`, metadata: { title: "The gate", url, statusCode: 200 } };
    return JSON.stringify({ success: true, data });
  });
}

/** A certificate's files. */
interface TlsFiles {
  readonly key_file_name: string;
  readonly cert_file_name: string;
}

/** Over TLS with a certificate. uWebSockets offers no HTTP/2, so that is HTTP/1.1. */
function startFast(files: TlsFiles | null): Promise<number> {
  return new Promise((resolve, reject) => {
    (files === null ? App() : SSLApp(files))
      .get("/text/:ms", (res, req) => later(res, Number(req.getParameter(0)), "text/plain; charset=utf-8", () => TEXT))
      .get("/html/:ms", (res, req) => later(res, Number(req.getParameter(0)), "text/html; charset=utf-8", () => HTML))
      .get("/*", (res) => void res.writeStatus("404 Not Found").end())
      .post("/scrape/:ms/*", (res, req) => scrape(res, Number(req.getParameter(0))))
      .post("/v1/wait/:ms", (res, req) =>
        later(res, Number(req.getParameter(0)), "application/json", () => '{"results":[]}'),
      )
      .post("/v1/pages/:megabytes", (res, req) => sendPages(res, Number(req.getParameter(0))))
      .post("/*", (res) => {
        let body = "";
        let gone = false;
        res.onAborted(() => {
          gone = true;
        });
        res.onData((chunk, last) => {
          body += Buffer.from(chunk).toString("latin1");
          if (last && !gone) serve(res, body);
        });
      })
      .listen("127.0.0.1", 0, (socket) => {
        if (socket === false) reject(new Error("the upstream cannot listen"));
        else resolve(us_socket_local_port(socket));
      });
  });
}

const BIG_BYTES = 50_000_000;

/** 50 MB of events as fast as they are read. node:http, because uWebSockets hangs up on a reader that stands still. */
function sendBig(response: ServerResponse): void {
  const head = 'data: {"id":"chatcmpl-Bench000000000000000000000big';
  const choice = `[{"index":0,"delta":{"content":"${"many words ".repeat(92)}"},"logprobs":null,"finish_reason":null}]`;
  const block = (head + eventTail(choice, "")).repeat(16);
  let sent = 0;
  const more = () => {
    while (sent < BIG_BYTES) {
      sent += block.length;
      if (!response.write(block)) return;
    }
    response.off("drain", more);
    response.end(`${head}${PLAIN.finish}data: [DONE]\n\n`);
  };
  response.on("drain", more);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.write(head + PLAIN.role);
  more();
}

async function startBig(): Promise<number> {
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => {
      sendBig(response);
    });
  });
  server.requestTimeout = 0;
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

process.on("disconnect", () => process.exit(0));
const [key_file_name = "", cert_file_name = ""] = process.argv.slice(2);
const [port, bigPort] = await Promise.all([startFast(null), startBig()]);
if (cert_file_name === "") process.send?.({ port, bigPort });
else {
  const tlsPort = await startFast({ key_file_name, cert_file_name });
  const http2Port = await startHttp2({ keyFile: key_file_name, certificateFile: cert_file_name }, serve);
  process.send?.({ port, bigPort, tlsPort, http2Port });
}
