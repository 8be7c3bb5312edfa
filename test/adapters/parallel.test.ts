// Calls to Parallel: flat params in its nested wire format, research that is launched and polled, and runs with an owner.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const parallel = await wire("parallel");
const page = "https://a.example/";
const RUN = "trun_9907";

describe("search", () => {
  it("makes the vendor's objective and queries of a query, with the key in its own header", () => {
    const sent = parallel.send("search", { query: "longest bridge" });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.parallel.ai/v1/search" });
    expect(sent.headers["x-api-key"]).toBe("key-of-ours");
    expect(sent.body).toEqual({ objective: "longest bridge", search_queries: ["longest bridge"], mode: "advanced" });
  });

  it("takes the vendor's own params too", () => {
    const advanced_settings = { source_policy: { include_domains: ["a.example"] }, max_results: 5 };
    const params = { objective: "the longest", search_queries: ["longest bridge"], session_id: "s", advanced_settings };
    expect(parallel.send("search", { ...params, mode: "one-shot" }).body).toEqual({ ...params, mode: "advanced" });
    expect(parallel.send("search", { objective: "the longest", mode: "fast" }).body).toEqual({
      objective: "the longest",
      search_queries: ["the longest"],
      mode: "fast",
    });
    expect(parallel.send("search", { search_queries: ["a", "b"] }).body).toEqual({
      search_queries: ["a", "b"],
      mode: "advanced",
    });
  });

  it.each([
    [{}, "query"],
    [{ search_queries: [] }, "search_queries"],
    [{ query: "q", mode: "slow" }, "mode"],
    [{ query: "q", session_id: "s".repeat(1_001) }, "session_id"],
    [{ query: "q", advanced_settings: { max_results: 16 } }, "advanced_settings.max_results"],
    [
      { query: "q", advanced_settings: { fetch_policy: { max_age_seconds: 1 } } },
      "advanced_settings.fetch_policy.max_age_seconds",
    ],
    [{ query: "q", processor: "pro" }, "processor"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(parallel.refuses("search", params)).toEqual([field]);
  });

  it("costs a cent, and us no more with the most results that may be asked for", () => {
    expect(parallel.quote("search", { query: "q" })).toBe(1);
    expect(parallel.upstreamCents("search", { query: "q" })).toBe(0.5);
    expect(parallel.upstreamCents("search", { query: "q", mode: "fast" })).toBe(0.1);
    expect(parallel.upstreamCents("search", { query: "q", advanced_settings: { max_results: 15 } })).toBe(1);
  });
});

describe("extract", () => {
  it("sends addresses and an objective for a cent each", () => {
    const params = { urls: [page, `${page}2`], objective: "how long?", advanced_settings: { full_content: true } };
    const sent = parallel.send("extract", params);
    expect(sent).toMatchObject({ method: "POST", url: "https://api.parallel.ai/v1/extract", body: params });
    expect(parallel.quote("extract", params)).toBe(2);
    expect(parallel.upstreamCents("extract", params)).toBe(0.2);
  });

  it("takes one to twenty addresses", () => {
    expect(parallel.refuses("extract", { urls: [] })).toEqual(["urls"]);
    expect(parallel.refuses("extract", { urls: Array(21).fill(page) })).toEqual(["urls"]);
    expect(parallel.refuses("extract", { urls: [page, "no address"] })).toEqual(["urls.1"]);
  });

  it("is a failure that costs nothing when no page could be read, and a success when one could", () => {
    const errors = [{ url: page, error_type: "fetch_error", http_status_code: 404, content: null }];
    expect(parallel.means("extract", { body: { results: [], errors } }).verdict).toBe("caller_unsupported");
    expect(parallel.means("extract", { body: { results: [{ url: page }], errors } }).verdict).toBe("success");
  });

  it("hides the names that callers give to sessions", () => {
    expect(parallel.actions.extract?.callerIds).toEqual(["session_id"]);
    expect(parallel.actions.search?.callerIds).toEqual(["session_id"]);
  });
});

describe("task", () => {
  it("launches a run, and gives its id to whoever paid", () => {
    const sent = parallel.send("task", { input: "Who?" });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.parallel.ai/v1/tasks/runs" });
    expect(sent.body).toEqual({ input: "Who?", processor: "pro" });
    expect(parallel.actions.task).toMatchObject({ effect: "write", issues: [{ kind: "task", at: "/run_id" }] });
    const body = { run_id: RUN, status: "queued", is_active: true };
    expect(parallel.means("task", { status: 202, body }).verdict).toBe("success");
  });

  it.each([
    [{ input: "Who?" }, 10],
    [{ input: "Who?", processor: "pro" }, 10],
    [{ input: { name: "Ada" }, processor: "ultra" }, 30],
    [{ input: "Who?", processor: "lite" }, 1, 0.5],
    [{ input: "Who?", processor: "base" }, 2, 1],
    [{ input: "Who?", processor: "core" }, 4, 2.5],
  ])("%j costs %d cents, and us no more", (params, cents, upstreamCents = cents) => {
    expect(parallel.quote("task", params)).toBe(cents);
    expect(parallel.upstreamCents("task", params)).toBe(upstreamCents);
  });

  it.each([
    [{}, "input"],
    [{ input: "" }, "input"],
    [{ input: "Who?", processor: "ultra8x" }, "processor"],
    [{ input: "Who?", webhook: { url: page } }, "webhook"],
    [{ input: "Who?", mcp_servers: [] }, "mcp_servers"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(parallel.refuses("task", params)).toEqual([field]);
  });
});

describe("task-status", () => {
  it("asks for the run, and for its result once it is completed", () => {
    const asked = parallel.send("task-status", { run_id: RUN });
    expect(asked).toMatchObject({ method: "GET", url: `https://api.parallel.ai/v1/tasks/runs/${RUN}`, body: null });
    const soFar = { run_id: RUN, status: "completed" };
    const result = parallel.send("task-status", { run_id: RUN }, { at: 0, soFar });
    expect(result).toMatchObject({ method: "GET", body: null });
    expect(result.url).toBe(`https://api.parallel.ai/v1/tasks/runs/${RUN}/result?timeout=5`);
    const [step] = parallel.actions["task-status"]?.steps ?? [];
    expect(step).toMatchObject({ when: { at: "/status", is: "completed" }, merge: true });
  });

  it("is free, for whoever launched the run", () => {
    expect(parallel.quote("task-status", { run_id: RUN })).toBe(0);
    expect(parallel.upstreamCents("task-status", { run_id: RUN })).toBe(0);
    expect(parallel.actions["task-status"]?.requires).toEqual([{ kind: "task", param: "run_id" }]);
    expect(parallel.refuses("task-status", {})).toEqual(["run_id"]);
  });

  it("keeps an id in its place in the path", () => {
    const { url } = parallel.send("task-status", { run_id: "a/../../search?x=1" });
    expect(url).toBe("https://api.parallel.ai/v1/tasks/runs/a%2F..%2F..%2Fsearch%3Fx%3D1");
  });

  it.each(["queued", "running", "completed", "failed", "cancelled"])("tells that a run is %s", (status) => {
    const error = status === "failed" ? { ref_id: "r", message: "no sources" } : null;
    expect(parallel.means("task-status", { body: { run_id: RUN, status, error } }).verdict).toBe("success");
  });
});

it.each([
  [401, "provider_auth_failed"],
  [402, "provider_billing"],
  [403, "provider_auth_failed"],
  [404, "caller_invalid"],
  [422, "caller_invalid"],
  [429, "provider_rate_limited"],
  [500, "provider_server_error"],
])("%d means %s", (status, verdict) => {
  const body = { type: "error", error: { ref_id: "r", message: "It is so." } };
  for (const action of Object.keys(parallel.actions)) {
    expect(parallel.means(action, { status, body }).verdict).toBe(verdict);
  }
});
