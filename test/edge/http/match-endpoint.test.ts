// Which endpoint a method and a path select.
import { describe, expect, test } from "vitest";
import { matchEndpoint } from "../../../src/edge/http/match-endpoint.ts";
import { chatErrors } from "../../../src/models/formats/chat-completions/wire.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { endpoint } from "./edge.ts";

const match = matchEndpoint([
  endpoint("GET", "/"),
  endpoint("GET", "/api/v1/agents"),
  endpoint("POST", "/api/v1/agents"),
  endpoint("GET", "/api/v1/agents/{id}"),
  endpoint("DELETE", "/api/v1/agents/{id}"),
  endpoint("GET", "/api/v1/agents/me"),
  endpoint("POST", "/api/run/{service}/{action}"),
  endpoint("GET", "/api/llm/v1/models/{slug...}", chatErrors),
  endpoint("GET", "/openapi.json"),
]);

function found(method: string, path: string): [string, Readonly<Record<string, string>>] | string {
  const matched = match(method, path);
  return "error" in matched
    ? matched.error.code
    : [`${matched.endpoint.method} ${matched.endpoint.path}`, matched.params];
}

describe("an endpoint", () => {
  test.each([
    ["GET", "/", "GET /", {}],
    ["POST", "/api/v1/agents", "POST /api/v1/agents", {}],
    ["GET", "/api/v1/agents/me", "GET /api/v1/agents/me", {}],
    ["GET", "/api/v1/agents/k1", "GET /api/v1/agents/{id}", { id: "k1" }],
    ["HEAD", "/api/v1/agents/k1", "GET /api/v1/agents/{id}", { id: "k1" }],
    ["DELETE", "/api/v1/agents/k%201", "DELETE /api/v1/agents/{id}", { id: "k 1" }],
    [
      "POST",
      "/api/run/core/one%2Fscrape",
      "POST /api/run/{service}/{action}",
      { service: "core", action: "one/scrape" },
    ],
    ["GET", "/api/llm/v1/models/openai/gpt-5", "GET /api/llm/v1/models/{slug...}", { slug: "openai/gpt-5" }],
    ["GET", "/openapi.json", "GET /openapi.json", {}],
  ])("is found for %s %s", (method, path, name, params) => {
    expect(found(method, path)).toEqual([name, params]);
  });

  test.each([
    ["GET", "/api/v1/agents/", "not_found"],
    ["GET", "/api/v1//agents", "not_found"],
    ["GET", "/API/v1/agents", "not_found"],
    ["GET", "/openapiXjson", "not_found"],
    ["GET", "/api/llm/v1/models/", "not_found"],
    ["POST", "/api/run/core/a/b", "not_found"],
    ["GET", "/constructor", "not_found"],
    ["get", "/openapi.json", "method_not_allowed"],
    ["POST", "/openapi.json", "method_not_allowed"],
    ["DELETE", "/api/v1/agents/me", "method_not_allowed"],
    ["GET", "/api/v1/agents/%", "bad_request"],
    ["GET", "/api/v1/agents/%ff", "bad_request"],
  ])("is not found for %s %s", (method, path, code) => {
    expect(found(method, path)).toBe(code);
  });

  test("that is not there is told in the wire of its neighbours", () => {
    expect(match("GET", "/api/llm/v1/nothing")).toMatchObject({ errors: chatErrors });
    expect(match("GET", "/api/v1/nothing")).toMatchObject({ errors: envelopeErrors });
    expect(match("GET", "/elsewhere")).toMatchObject({ errors: envelopeErrors });
    expect(match("POST", "/api/v1/agents/k1")).toMatchObject({ allow: "GET, HEAD, DELETE, OPTIONS" });
  });
});
