// What the clients ask: one chat request as the official OpenAI client for Node puts it on the wire.
import type { Subject } from "./subjects.ts";

export interface Ask {
  readonly stream: boolean;
  /** How many chunks the upstream sends, and how many a second; 0 a second is all at once. */
  readonly chunks?: number;
  readonly perSecond?: number;
}

// About 1 KB of prompt: a system message and a question.
const SYSTEM =
  "You are the assistant of a small company that sells parts for old bicycles. Answer in the language of the question, in at \
most five sentences, and say so when you do not know. Prices are in euros and include tax. Never promise a delivery date: say \
that the shop will confirm it by mail. If somebody asks for a part that fits several models, ask which model they have before \
you answer, and name the two or three measures that tell the models apart. Do not talk about other shops, and do not give \
advice about brakes beyond what the manual says; send such questions to the workshop. When a customer is angry, apologise \
once, briefly, and then solve the problem. Use the metric system, write numbers with a decimal point, and close with the \
number of the article where there is one.";
const QUESTION =
  "My rear hub from 1978 has play although I tightened the cones last week. Is that worth mending, what would I need for it, \
and do you have it?";

const CLIENT_HEADERS = {
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": "OpenAI/JS 7.55.0",
  "x-stainless-retry-count": "0",
  "x-stainless-lang": "js",
  "x-stainless-package-version": "7.55.0",
  "x-stainless-os": "Linux",
  "x-stainless-arch": "x64",
  "x-stainless-runtime": "node",
  "x-stainless-runtime-version": "v22.23.3",
  "accept-encoding": "gzip, deflate",
  connection: "keep-alive",
};

const AGENT_HEADERS = {
  accept: "*/*",
  "accept-encoding": "gzip, deflate",
  "user-agent": "agent/1.0",
  connection: "keep-alive",
};

/** A small call of the bench's own vendor: through the gateway, or directly. */
export function searchText(subject: Subject): string {
  const body = { query: "Which lighthouses on the coast of Brittany can be visited in winter?", limit: 5 };
  return postText(subject, isGateway(subject) ? "/api/run/bench/search" : "/v1/search", body);
}

/** A call with an answer of this many megabytes. */
export function pagesText(subject: Subject, megabytes: number): string {
  return postText(subject, isGateway(subject) ? "/api/run/bench/pages" : `/v1/pages/${megabytes}`, { megabytes });
}

function isGateway({ name }: Subject): boolean {
  return name === "tollgate" || name === "base";
}

/** Any call with a JSON body. */
export function postText(subject: Subject, path: string, json: unknown): string {
  const body = JSON.stringify(json);
  const length = Buffer.byteLength(body);
  return `${headText("POST", subject, path, { ...subject.headers, "content-type": "application/json" })}content-length: ${length}\r\n\r\n${body}`;
}

export function getText(subject: Subject, path: string, headers: Readonly<Record<string, string>> = {}): string {
  return `${headText("GET", subject, path, headers)}\r\n`;
}

function headText(method: string, { port }: Subject, path: string, headers: Readonly<Record<string, string>>): string {
  const all = { host: `127.0.0.1:${port}`, ...AGENT_HEADERS, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}`;
}

/** Events a stream of `chunks` words brings when usage was not asked for: role, words, finish, `[DONE]`. */
export function eventsOf(chunks: number): number {
  return chunks + 3;
}

/** The whole request, head and body. */
export function requestText(subject: Subject, ask: Ask): string {
  const directive = ask.chunks === undefined ? "" : ` (bench:${ask.chunks}:${ask.perSecond ?? 0})`;
  const body = JSON.stringify({
    model: subject.model,
    max_tokens: 256,
    temperature: 0.2,
    messages: [
      { role: "system", content: SYSTEM },
      { role: "user", content: QUESTION + directive },
    ],
    ...(ask.stream ? { stream: true } : {}),
  });
  const headers = { host: `127.0.0.1:${subject.port}`, ...CLIENT_HEADERS, ...subject.headers };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${subject.path} HTTP/1.1\r\n${head.join("")}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
