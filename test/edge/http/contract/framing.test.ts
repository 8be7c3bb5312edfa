// The framing list against each engine directly: no request is read as part of another, none hangs, and no refused request is served.
import { expect, test } from "vitest";
import type { Endpoint, GatewayRequest, Reply } from "../../../../src/core/endpoint.ts";
import { currentEngine, echo, rawClient, request, startEdge, until } from "../edge.ts";
import { FRAMING_LIST, type FramingCase } from "./framing-list.ts";

const engine = currentEngine();

/** An edge that records the paths it served. */
async function notingEdge() {
  const served: string[] = [];
  const handle = (asked: GatewayRequest, to: Endpoint, reply: Reply) => {
    served.push(asked.path);
    echo(asked, to, reply);
  };
  return { served, server: await startEdge({ handle, bodyMsMax: 500, stalledMsMax: 2_000 }) };
}

const answers = (text: string): readonly string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].flatMap(([, status = ""]) => (status === "100" ? [] : [status]));

/** Sends a request of the list and another behind it; returns both outcomes. */
async function answersTo(port: number, { sent }: FramingCase, behind: string): Promise<readonly string[]> {
  const client = await rawClient(port);
  client.send(sent);
  await new Promise((resolve) => setImmediate(resolve));
  client.send(request(`GET ${behind}`, ["connection: close"]));
  // An answer to the second request shows that the connection stays open; without one the server must close it.
  await until(() => client.socket.destroyed || client.text().includes(`"path":"${behind}"`));
  return answers(client.text());
}

test("the list has at least 80 requests", () => expect(FRAMING_LIST.length).toBeGreaterThanOrEqual(80));

test("each request of the list is answered or refused, and nothing behind a refused one is served", async () => {
  const { served, server } = await notingEdge();
  const wrong = await Promise.all(
    FRAMING_LIST.map(async (row, i) => {
      const behind = `/things/${i}`;
      const statuses = await answersTo(server.port, row, behind);
      const servedBehind = served.includes(behind);
      const [first = "none"] = statuses;
      const isRight = {
        ok: first === "200" && servedBehind && statuses.length === 2,
        error: first.startsWith("4") && statuses.length === 2,
        closed: !servedBehind && statuses.length <= 1,
        refused: !servedBehind && statuses.length <= 1 && /^(none|4\d\d|50[15])$/.test(first),
      }[row[engine]];
      return isRight ? [] : [`${row.family}, ${row.name}: ${statuses.join(", ")}, behind: ${servedBehind}`];
    }),
  );
  expect(wrong.flat()).toEqual([]);
  await until(() => server.openRequests() === 0);
});

test("a pipeline of 100 is answered in order, or its connection ends, and no answer is another's", async () => {
  const { served, server } = await notingEdge();
  const client = await rawClient(server.port);
  client.send(Array.from({ length: 100 }, (_, i) => request(`GET /things/${i}`)).join(""));
  await client.sees(/"\/things\/99"/);
  const paths = [...client.text().matchAll(/"path":"\/things\/(\d+)"/g)].map(([, n]) => Number(n));
  expect(paths).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(served).toHaveLength(100);
});
