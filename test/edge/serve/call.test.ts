import { expect, it } from "vitest";
import type { Endpoint, GatewayRequest, Reply } from "../../../src/core/endpoint.ts";
import { Call } from "../../../src/edge/serve/call.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { RequestRecord } from "../../../src/platform/observe/record.ts";

it("a call runs all of its endings, the last first, even where one fails", async () => {
  const headers = new Map<string, string>();
  const request = { id: "req_1", method: "GET", path: "/", startedMs: 0, headers, body: Buffer.alloc(0) };
  const endpoint: Endpoint = {
    method: "GET",
    path: "/",
    auth: "none",
    bodyBytesMax: 0,
    errors: envelopeErrors,
    answer: () => ({ status: 200, body: {} }),
  };
  const observer = { begin: (start) => new RequestRecord(start) } as ConstructorParameters<typeof Call>[3]["observer"];
  const call = new Call(request as unknown as GatewayRequest, endpoint, {} as Reply, { observer });
  const ran: string[] = [];
  call.onEnd(() => void ran.push("first"));
  call.onEnd(async () => {
    ran.push("second");
    throw new Error("the second ending failed");
  });
  call.onEnd(() => void ran.push("third"));
  await expect(call.end(null)).rejects.toThrow("the second ending failed");
  expect(ran).toEqual(["third", "second", "first"]);
});
