// How a chain's node is understood: its result, its refusal, and a node that is unreachable.
import { expect, it } from "vitest";
import { NodeRefusal, nodeRpc } from "../../../src/money/wallet/node-rpc.ts";

const answering = (answer: object) => nodeRpc("http://node.invalid", async () => Response.json(answer));

it.each([undefined, null])("takes the result of an answer whose error is %s", async (error) => {
  expect(await answering({ jsonrpc: "2.0", id: 1, result: "0x1", error }).call("eth_blockNumber", [])).toBe("0x1");
});

it("takes an answer with an error for a refusal", async () => {
  const node = answering({ jsonrpc: "2.0", id: 1, result: null, error: { code: 3, message: "execution reverted" } });
  await expect(node.call("eth_call", [])).rejects.toThrow(new NodeRefusal("execution reverted"));
});
