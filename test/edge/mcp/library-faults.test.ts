// Failures while the protocol's library loads, and while a call is passed to it.
import { expect, it, vi } from "vitest";
import type { StreamCall } from "../../../src/core/endpoint.ts";
import { createCancels } from "../../../src/edge/mcp/cancels.ts";
import { type McpOptions, mcpEndpoints } from "../../../src/edge/mcp/mcp-endpoints.ts";

async function opened(failsToLoad = 0) {
  const ended = vi.fn();
  const cancels = await createCancels(null);
  const clients: string[] = [];
  const begin = (client: string) => {
    clients.push(client);
    return { signal: new AbortController().signal, end: ended };
  };
  let loads = 0;
  const options = {
    wantsSignIn: false,
    cancels: { ...cancels, begin },
    // Read while the library loads.
    get callInside() {
      loads += 1;
      if (loads <= failsToLoad) throw new Error("it did not load");
      return null;
    },
  };
  const [endpoint] = mcpEndpoints(options as unknown as McpOptions);
  if (endpoint === undefined || !("stream" in endpoint)) throw new Error("no endpoint");
  const ask = (headers: Record<string, string> = {}, address = "") => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }));
    const request = { headers: new Map(Object.entries(headers)), query: new URLSearchParams(), body, address };
    return endpoint.stream({ request, caller: null, gone: new AbortController().signal } as unknown as StreamCall);
  };
  return { ask, ended, clients };
}

it("is loaded again for the next request if the first load fails", async () => {
  const { ask } = await opened(1);
  await expect(ask()).rejects.toThrow("it did not load");
  expect(await ask({ "content-type": "application/json" })).toMatchObject({ status: expect.any(Number) });
});

it("forgets a call that it could not take", async () => {
  const { ask, ended } = await opened();
  await expect(ask({ "mcp-name": "two\nlines" })).rejects.toThrow("header");
  expect(ended).toHaveBeenCalledTimes(1);
});

it.each(["mcp-name", "mcp-protocol-version"])("refuses a header %s that HTTP cannot carry", async (name) => {
  const { ask, ended } = await opened();
  const message = `The header ${name} must be in ASCII.`;
  await expect(ask({ [name]: "€" })).rejects.toMatchObject({ code: "bad_request", message });
  expect(ended).toHaveBeenCalledTimes(1);
});

it("takes no session id for another client's address", async () => {
  const { ask, clients } = await opened();
  await ask({}, "203.0.113.7");
  await ask({ "mcp-session-id": "203.0.113.7" }, "203.0.113.8");
  expect(new Set(clients).size).toBe(2);
});
