import { expect, it, vi } from "vitest";
import type { Endpoint, GatewayRequest, Reply } from "../../../src/core/endpoint.ts";
import { type ErrorCode, GatewayError } from "../../../src/core/errors.ts";
import { admit } from "../../../src/edge/serve/admit.ts";
import { Call } from "../../../src/edge/serve/call.ts";
import type { ServeDeps } from "../../../src/edge/serve/deps.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { RequestRecord } from "../../../src/platform/observe/record.ts";

function callWith(headers: Map<string, string>): Call {
  const from = { address: "203.0.113.7", headers };
  const request = { id: "req_1", method: "GET", path: "/", startedMs: 0, body: Buffer.alloc(0), ...from };
  const endpoint: Endpoint = {
    method: "GET",
    path: "/",
    auth: "none",
    bodyBytesMax: 0,
    errors: envelopeErrors,
    answer: () => ({ status: 200, body: {} }),
  };
  const observer = { begin: (start) => new RequestRecord(start) } as ConstructorParameters<typeof Call>[3]["observer"];
  return new Call(request as unknown as GatewayRequest, endpoint, {} as Reply, { observer });
}

it("a call runs all of its endings, the last first, even where one fails", async () => {
  const call = callWith(new Map());
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

it.each<[ErrorCode, "takeWindow" | "peekWindow"]>([
  ["invalid_token", "takeWindow"],
  ["insufficient_scope", "takeWindow"],
  ["ledger_unavailable", "peekWindow"],
])("where no key is needed, the reason %s is kept, and %s is called for the address", async (code, used) => {
  const refused = new GatewayError(code);
  const state = { allowed: true, limit: 60, remaining: 59, windowSeconds: 60, resetSeconds: 60 };
  const windows = { takeWindow: vi.fn(() => state), peekWindow: vi.fn(() => state) };
  const deps = { ...windows, authenticate: async () => refused, addressRequestsPerMinute: 60 };
  const call = callWith(new Map([["authorization", "Bearer x"]]));
  await admit(call, deps as unknown as ServeDeps);
  expect([call.caller, call.notAdmitted]).toEqual([null, refused]);
  expect(windows[used]).toHaveBeenCalledTimes(1);
  expect(windows.takeWindow.mock.calls.length + windows.peekWindow.mock.calls.length).toBe(1);
});
