// Many broken requests: none stops the listener, gets a 500, or leaves its connection open.
import { expect, test } from "vitest";
import { runs } from "../../support/runs.ts";
import { post, rawClient, request, startEdge, until } from "./edge.ts";

/** Numbers in [0, 1) that are the same in every run (an LCG of Numerical Recipes). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = seeded(20_261_121);
function pick<T>(values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}

const WHOLE = [
  request("GET /hello?a=%zz"),
  post("/echo", '{"a":[1,2,3]}', ["authorization: Bearer x", "x-tollgate-trace: 1"]),
  request(
    "POST /echo",
    ["content-type: application/json", "transfer-encoding: chunked"],
    '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
  ),
  request("OPTIONS /echo", ["access-control-request-headers: a, b"]),
  request("DELETE /things/%E0%A4%A"),
  request("HEAD /things/1"),
];
const SCRAPS = [
  "\r\n",
  "\0",
  "\n",
  ":",
  " ",
  "%",
  "\u00ff",
  "transfer-encoding: chunked\r\n",
  "content-length: -1\r\n",
  "HTTP/1.1",
  "expect: 100-continue\r\n",
  "f".repeat(5_000),
];

/** A request with some bytes changed, dropped, doubled, or replaced by a scrap of HTTP. */
function broken(): Buffer {
  let text = pick(WHOLE);
  for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) {
    const at = Math.floor(random() * text.length);
    const to = at + Math.floor(random() * 8);
    text =
      text.slice(0, at) +
      pick(["", pick(SCRAPS), text.slice(at, to).repeat(2), String.fromCharCode(random() * 256)]) +
      text.slice(to);
  }
  return Buffer.from(text, "latin1");
}

test("broken requests in great number", async () => {
  const server = await startEdge({ bodyMsMax: 400 });
  const faults: string[] = [];
  for (let round = 0; round < runs(10, 50); round++) {
    const clients = await Promise.all(Array.from({ length: 40 }, () => rawClient(server.port)));
    const sent = clients.map(() => broken());
    for (const [i, client] of clients.entries()) {
      client.send(sent[i] ?? "");
      client.socket.end();
    }
    await Promise.all(clients.map(({ closed }) => closed));
    for (const [i, client] of clients.entries()) {
      // uWebSockets answers 505 to a first line that does not end in HTTP/1.1.
      if (/HTTP\/1\.1 5(?!05)/.test(client.text()))
        faults.push(`${JSON.stringify(sent[i]?.toString("latin1"))} -> ${client.text()}`);
    }
  }
  expect(faults).toEqual([]);
  await until(() => server.openRequests() === 0);
  const client = await rawClient(server.port);
  client.send(post("/echo", "still here"));
  await client.sees(/still here/);
});
