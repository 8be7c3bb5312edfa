// Calls to mem0, Zep, Letta and AgentMail.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const mem0 = await wire("mem0");
const zep = await wire("zep");
const letta = await wire("letta");
const agentmail = await wire("agentmail");
const said = [{ role: "user", content: "I do not eat meat." }];
const agent_id = "agent-0f1e2d3c-4b5a-4697-8877-665544332211";
const inbox_id = "quiet-harbor@agentmail.to";

describe("mem0", () => {
  it("keeps what was said under the user, with the word Token before our key", () => {
    const sent = mem0.send("add", { messages: said, user_id: "ada", metadata: { from: "chat" }, infer: false });
    expect(sent).toMatchObject({
      method: "POST",
      url: "https://api.mem0.ai/v3/memories/add/",
      body: { messages: said, user_id: "ada", metadata: { from: "chat" }, infer: false },
    });
    expect(sent.headers.authorization).toBe("Token key-of-ours");
    expect(mem0.send("add", { messages: said, user_id: "ada" }).body).toMatchObject({ infer: true });
  });

  it("searches with the user inside of the filters, where the vendor wants it", () => {
    const sent = mem0.send("search", { query: "food", user_id: "ada", top_k: 3 });
    expect(sent.url).toBe("https://api.mem0.ai/v3/memories/search/");
    expect(sent.body).toEqual({ query: "food", filters: { user_id: "ada" }, top_k: 3 });
  });

  it.each([
    ["add", { messages: said }, "user_id"],
    ["add", { user_id: "ada" }, "messages"],
    ["add", { messages: [], user_id: "ada" }, "messages"],
    ["add", { messages: [{ role: "tool", content: "x" }], user_id: "ada" }, "messages.0.role"],
    ["add", { messages: said, user_id: "ada", agent_id: "other" }, "agent_id"],
    ["search", { query: "food" }, "user_id"],
    ["search", { query: "food", user_id: "ada", filters: { user_id: "*" } }, "filters"],
    ["search", { query: "food", user_id: { "*": 1 } }, "user_id"],
  ])("%s refuses %j, naming %s", (name, params, field) => expect(mem0.refuses(name, params)).toEqual([field]));

  it.each([
    ["add", 200, { status: "PENDING", event_id: "e" }, "success"],
    ["add", 200, { status: "FAILED", event_id: "e" }, "provider_server_error"],
    ["search", 200, { results: [] }, "success"],
    ["search", 400, { error: "m" }, "caller_invalid"],
    ["search", 401, { detail: "Invalid API key" }, "provider_auth_failed"],
  ])("%s: %d %j is %s", (name, status, body, verdict) =>
    expect(mem0.means(name, { status, body }).verdict).toBe(verdict),
  );
});

describe("Zep", () => {
  const base = "https://api.getzep.com/api/v2";
  it.each([
    ["user-add", { user_id: "ada", first_name: "Ada" }, "POST", "/users", { user_id: "ada", first_name: "Ada" }],
    ["thread-create", { thread_id: "t", user_id: "ada" }, "POST", "/threads", { thread_id: "t", user_id: "ada" }],
    [
      "add",
      { thread_id: "a/b", messages: said },
      "POST",
      "/threads/a%2Fb/messages",
      { messages: said, return_context: false },
    ],
    ["get-context", { thread_id: "t" }, "GET", "/threads/t/context", null],
    [
      "search",
      { query: "food", user_id: "ada" },
      "POST",
      "/graph/search",
      { query: "food", user_id: "ada", scope: "edges", limit: 10 },
    ],
  ])("%s sends %j", (name, params, method, path, body) => {
    const sent = zep.send(name, params);
    expect(sent).toMatchObject({ method, url: base + path, body });
    expect(sent.headers.authorization).toBe("Api-Key key-of-ours");
    expect(zep.quote(name, params)).toBe(1);
  });

  it("hides every id that a caller chooses", () => {
    const ids = Object.entries(zep.actions).map(([name, { callerIds }]) => [name, callerIds]);
    expect(Object.fromEntries(ids)).toEqual({
      "user-add": ["user_id"],
      "thread-create": ["thread_id", "user_id"],
      add: ["thread_id"],
      "get-context": ["thread_id"],
      search: ["user_id"],
    });
  });

  it.each([
    ["user-add", { first_name: "Ada" }, "user_id"],
    ["add", { thread_id: "t", messages: Array(31).fill(said[0]) }, "messages"],
    ["add", { thread_id: "t", messages: [{ role: "user", content: "x".repeat(4_097) }] }, "messages.0.content"],
    ["search", { query: "x".repeat(401), user_id: "ada" }, "query"],
    ["search", { query: "food", graph_id: "everyone" }, "user_id"],
  ])("%s refuses what is too much or of others, naming a field", (name, params, field) =>
    expect(zep.refuses(name, params)).toContain(field),
  );
});

describe("Letta", () => {
  it("makes an agent with a model, for the vendor takes none without", () => {
    const memory_blocks = [{ label: "human", value: "Ada" }];
    const sent = letta.send("agent-create", { name: "helper", memory_blocks });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.letta.com/v1/agents/" });
    expect(sent.body).toEqual({
      name: "helper",
      memory_blocks,
      model: "openai/gpt-5.4-mini",
      embedding: "openai/text-embedding-3-small",
    });
    expect(letta.refuses("agent-create", {})).toEqual([]);
    expect(letta.refuses("agent-create", { tools: ["run_code"] })).toEqual(["tools"]);
    expect(letta.refuses("agent-create", { model: "gpt" })).toEqual(["model"]);
  });

  it("says something to an agent of the caller's, with a bound on its steps", () => {
    const sent = letta.send("message", { agent_id, input: "Hello" });
    expect(sent.url).toBe(`https://api.letta.com/v1/agents/${agent_id}/messages`);
    expect(sent.body).toEqual({ input: "Hello", max_steps: 10, streaming: false });
    expect(letta.refuses("message", { agent_id: "agent-1", input: "Hello" })).toEqual(["agent_id"]);
    expect(letta.refuses("message", { agent_id, input: "Hello", override_model: "x" })).toEqual(["override_model"]);
  });

  it.each([
    [200, { messages: [], stop_reason: { stop_reason: "end_turn" } }, "success"],
    [200, { messages: [], stop_reason: { stop_reason: "max_steps" } }, "success"],
    [200, { messages: [], stop_reason: { stop_reason: "llm_api_error" } }, "provider_server_error"],
    [200, { messages: [], stop_reason: { stop_reason: "insufficient_credits" } }, "provider_billing"],
    [409, { detail: "busy" }, "caller_invalid"],
    [422, { detail: [{ loc: ["body"], msg: "m", type: "t" }] }, "caller_invalid"],
  ])("%d %j is %s", (status, body, verdict) => expect(letta.means("message", { status, body }).verdict).toBe(verdict));
});

describe("AgentMail", () => {
  it.each([
    [
      "create_inbox",
      { username: "ada", display_name: "Ada" },
      "/inboxes",
      { username: "ada", display_name: "Ada" },
      200,
    ],
    [
      "send",
      { inbox_id, to: ["a@b.example"], subject: "Hi", html: "<p>Hi</p>" },
      "/inboxes/quiet-harbor%40agentmail.to/messages/send",
      { to: ["a@b.example"], subject: "Hi", html: "<p>Hi</p>" },
      1,
    ],
    [
      "reply",
      { inbox_id, message_id: "<1@x/y>", text: "Hi" },
      "/inboxes/quiet-harbor%40agentmail.to/messages/%3C1%40x%2Fy%3E/reply",
      { text: "Hi" },
      1,
    ],
  ])("%s sends %j", (name, params, path, body, cents) => {
    const sent = agentmail.send(name, params);
    expect(sent).toMatchObject({ method: "POST", url: `https://api.agentmail.to/v0${path}`, body });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
    expect(agentmail.quote(name, params)).toBe(cents);
    expect(agentmail.actions[name]?.effect).toBe("write");
  });

  it("lists mail for nothing", () => {
    const sent = agentmail.send("list-messages", { inbox_id, limit: 5 });
    expect(sent.url).toBe("https://api.agentmail.to/v0/inboxes/quiet-harbor%40agentmail.to/messages?limit=5");
    expect(agentmail.quote("list-messages", { inbox_id })).toBe(0);
  });

  const mail = { inbox_id, to: "a@b.example", subject: "Hi", text: "Hi" };
  it.each([
    ["send", { ...mail, subject: "Hi\r\nBcc: c@d.example" }, "subject"],
    ["send", { ...mail, subject: "Hi\u2028Bcc: c@d.example" }, "subject"],
    ["send", { ...mail, to: "a@b.example\r\nBcc: c@d.example" }, "to"],
    ["send", { ...mail, to: "a@b.example, c@d.example" }, "to"],
    ["send", { ...mail, to: Array(10_000).fill("a@b.example") }, "to"],
    ["send", { ...mail, to: [] }, "to"],
    ["send", { inbox_id, to: "a@b.example" }, "text"],
    ["send", { ...mail, text: "x".repeat(1_000_001) }, "text"],
    ["send", { ...mail, attachments: [{ url: "http://169.254.169.254/" }] }, "attachments"],
    ["send", { ...mail, headers: { "x-a": "b" } }, "headers"],
    ["send", { ...mail, inbox_id: "../../inboxes" }, "inbox_id"],
    ["create_inbox", { display_name: "Ada\nBcc: c@d.example" }, "display_name"],
    ["create_inbox", { username: "a b" }, "username"],
    ["create_inbox", { username: "a@b.example" }, "username"],
    ["create_inbox", { domain: "localhost" }, "domain"],
    ["reply", { inbox_id, message_id: "<1@x>\r\n", text: "Hi" }, "message_id"],
    ["reply", { inbox_id, text: "Hi" }, "message_id"],
  ])("%s refuses what is no mail of this caller's (%#), naming %s", (name, params, field) => {
    expect(agentmail.refuses(name, params)).toEqual([field]);
  });

  it.each([
    [403, { name: "IsTakenError", message: "m" }, "caller_invalid"],
    [403, { name: "MessageRejectedError", message: "m" }, "caller_invalid"],
    [403, { name: "ForbiddenError", message: "m" }, "provider_auth_failed"],
    [400, { name: "ValidationError", errors: [] }, "caller_invalid"],
    [404, { name: "NotFoundError", message: "m" }, "caller_invalid"],
    [429, { name: "RateLimitError", message: "m" }, "provider_rate_limited"],
  ])("%d %j is %s", (status, body, verdict) => expect(agentmail.means("send", { status, body }).verdict).toBe(verdict));
});
