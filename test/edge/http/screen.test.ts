// A caller without access cannot send megabytes first; a caller with access is not screened for small bodies.
import { expect, it } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { rawClient, startEdge } from "./edge.ts";

const REFUSED = new GatewayError("invalid_token", { detail: { detail: "no" } });

function head(length: number): string {
  return `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
}

it("turns away the sender of a long body before the rest of it has come, and the connection lives", async () => {
  const { port } = await startEdge({ screen: async () => REFUSED });
  const client = await rawClient(port);
  client.send(`${head(300)}${" ".repeat(100)}`);
  await client.sees(/ 401 /);
  client.send(`${" ".repeat(200)}${head(2)}{}`);
  await client.sees(/ 200 /);
});

it("asks at once where the length is not known, and then ends the connection", async () => {
  const { port } = await startEdge({ screen: async () => REFUSED });
  const client = await rawClient(port);
  client.send(
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n",
  );
  await client.sees(/ 401 /);
  await client.closed;
});

it("goes on reading for a sender in good standing, and does not ask for a body that comes whole", async () => {
  let asked = 0;
  const screen = async () => {
    asked++;
    return null;
  };
  const { port } = await startEdge({ screen });
  const client = await rawClient(port);
  client.send(`${head(2)}{}`);
  await client.sees(/ 200 /);
  expect(asked).toBe(0);
  client.send(`${head(4)}[1`);
  client.send("1]");
  await client.sees(/ 200 [\s\S]* 200 /);
  expect(asked).toBeLessThanOrEqual(1);
});

it("leaves a connection as good as before whose body came whole while the question was open", async () => {
  const answers: ((refusal: null) => void)[] = [];
  const { port } = await startEdge({ screen: () => new Promise((resolve) => answers.push(resolve)) });
  const client = await rawClient(port);
  // More than one read, all of it available: uWebSockets keeps reading even when paused.
  for (let round = 1; round <= 3; round++) {
    client.send(`${head(60_000)}${" ".repeat(30_000)}`);
    client.send(" ".repeat(30_000));
    const seen = new RegExp(`(?: 200 OK[\\s\\S]*){${round}}`);
    while (!seen.test(client.text())) {
      answers.shift()?.(null);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
});
