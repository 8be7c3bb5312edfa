// Tools, JSON schemas and reasoning of OpenAI chat requests, translated to the messages wire.
import { describe, expect, it } from "vitest";
import { HI, refused, sent, WEATHER } from "./messages-asking.ts";

describe("tools", () => {
  it("are declared with their schemas", () => {
    const bare = { type: "function", function: { name: "now" } };
    expect(sent({ tools: [WEATHER, bare] }).tools).toEqual([
      {
        name: "get_weather",
        description: "Tells the weather.",
        input_schema: { type: "object", properties: { city: { type: "string" } } },
      },
      { name: "now", input_schema: { type: "object" } },
    ]);
  });

  it("are strict only where the schema can be guaranteed", () => {
    const tool = (parameters: unknown) => ({ type: "function", function: { name: "f", parameters, strict: true } });
    const closed = { type: "object", properties: { n: { type: "integer", minimum: 1 } } };
    expect(sent({ tools: [tool(closed)] }).tools).toEqual([
      {
        name: "f",
        strict: true,
        input_schema: {
          type: "object",
          properties: { n: { type: "integer", description: "minimum: 1" } },
          additionalProperties: false,
        },
      },
    ]);
    const open = { type: "object", additionalProperties: { type: "string" } };
    expect(sent({ tools: [tool(open)] }).tools).toEqual([{ name: "f", input_schema: open }]);
  });

  it.each([
    [{ tool_choice: "auto" }, { type: "auto" }],
    [{ tool_choice: "none" }, { type: "none" }],
    [{ tool_choice: "required" }, { type: "any" }],
    [{ tool_choice: { type: "function", function: { name: "get_weather" } } }, { type: "tool", name: "get_weather" }],
    [{ parallel_tool_calls: false }, { type: "auto", disable_parallel_tool_use: true }],
    [
      { tool_choice: "required", parallel_tool_calls: false },
      { type: "any", disable_parallel_tool_use: true },
    ],
    [{}, undefined],
  ])("%j becomes %j", (fields, choice) => {
    expect(sent({ tools: [WEATHER], ...fields }).tool_choice).toEqual(choice);
    expect(sent(fields)).not.toHaveProperty("tool_choice");
  });

  it("are narrowed to the allowed ones", () => {
    const allowed = {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "now" } }] },
    };
    const body = sent({ tools: [WEATHER, { type: "function", function: { name: "now" } }], tool_choice: allowed });
    expect(body.tools).toMatchObject([{ name: "now" }]);
    expect(body.tool_choice).toEqual({ type: "any" });
  });
});

describe("response_format", () => {
  const format = (schema: unknown) => ({
    response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema } },
  });

  it("json_schema becomes the wire's own, narrowed to what it can guarantee", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      description: "A person.",
      properties: {
        name: { type: "string", minLength: 1, pattern: "^[A-Z]" },
        born: { type: "string", format: "date" },
        pets: {
          type: "array",
          minItems: 1,
          maxItems: 3,
          items: { oneOf: [{ $ref: "#/$defs/pet" }, { type: "null" }] },
        },
      },
      required: ["name"],
      additionalProperties: false,
      $defs: { pet: { type: "object", properties: { __proto__x: { type: "boolean" } } } },
    };
    expect(sent(format(schema)).output_config).toEqual({
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: {
            name: { type: "string", description: "minLength: 1\npattern: ^[A-Z]" },
            born: { type: "string", format: "date" },
            pets: {
              type: "array",
              minItems: 1,
              items: { anyOf: [{ $ref: "#/$defs/pet" }, { type: "null" }] },
              description: "maxItems: 3",
            },
          },
          required: ["name"],
          $defs: {
            pet: { type: "object", properties: { __proto__x: { type: "boolean" } }, additionalProperties: false },
          },
          additionalProperties: false,
          description: "A person.",
        },
      },
    });
  });

  it("is refused where the guarantee would mean something else", () => {
    const map = { type: "object", properties: { tags: { type: "object", additionalProperties: { type: "string" } } } };
    expect(refused(format(map))).toMatch(/free keys/);
    let deep: unknown = { type: "string" };
    for (let at = 0; at < 5_000; at++) deep = { type: "array", items: deep };
    expect(refused(format(deep))).toMatch(/cannot be guaranteed/);
  });

  it("json_object becomes an instruction", () => {
    const body = sent({ messages: [{ role: "system", content: "S" }, HI], response_format: { type: "json_object" } });
    expect(body.system).toMatchObject([{ text: "S" }, { text: expect.stringContaining("JSON object") }]);
  });
});

describe("reasoning", () => {
  const budget = (changes: Record<string, unknown>, max = 10_000) =>
    sent({ temperature: 0.5, ...changes }, { outputTokensMax: max });

  it("becomes a budget below the bound on output, without sampling fields", () => {
    const body = budget({ reasoning_effort: "high" });
    expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 8000 });
    expect(body).not.toHaveProperty("temperature");
    expect(budget({ reasoning: { max_tokens: 50_000 } }).thinking).toEqual({ type: "enabled", budget_tokens: 9_999 });
    expect(budget({ reasoning: { effort: "low", exclude: true } }).thinking).toEqual({
      type: "enabled",
      budget_tokens: 2000,
      display: "omitted",
    });
    expect(budget({ reasoning: { enabled: true } }, 1500).thinking).toEqual({ type: "enabled", budget_tokens: 1024 });
  });

  it("gives way where thinking is not wanted or cannot be", () => {
    expect(budget({})).not.toHaveProperty("thinking");
    expect(budget({ reasoning_effort: "none" })).not.toHaveProperty("thinking");
    expect(budget({ reasoning_effort: "high" }, 1024)).toMatchObject({ temperature: 0.5 });
    expect(budget({ reasoning_effort: "high" }, 1024)).not.toHaveProperty("thinking");
    expect(budget({ reasoning_effort: "high", tools: [WEATHER], tool_choice: "required" })).not.toHaveProperty(
      "thinking",
    );
    expect(
      budget({ reasoning_effort: "high", messages: [HI, { role: "assistant", content: "So" }] }),
    ).not.toHaveProperty("thinking");
  });

  it("needs the thoughts of the calls it continues", () => {
    const turn = (details: unknown[]) => [
      HI,
      {
        role: "assistant",
        tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "" } }],
        reasoning_details: details,
      },
      { role: "tool", tool_call_id: "a", content: "1" },
    ];
    expect(budget({ reasoning_effort: "low", messages: turn([]) })).not.toHaveProperty("thinking");
    const signed = [{ type: "reasoning.text", text: "t", signature: "s", format: "messages", index: 0 }];
    expect(budget({ reasoning_effort: "low", messages: turn(signed) })).toHaveProperty("thinking");
  });

  it("becomes a word where the model takes words", () => {
    const word = (changes: Record<string, unknown>, reasoning: "effort" | "effort-always" = "effort") =>
      sent(changes, { wire: { reasoning } });
    expect(word({ reasoning_effort: "minimal" })).toMatchObject({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "low" },
    });
    expect(word({ reasoning: { max_tokens: 4000, exclude: true } })).toMatchObject({
      thinking: { type: "adaptive", display: "omitted" },
    });
    expect(word({ reasoning_effort: "none" }).thinking).toEqual({ type: "disabled" });
    expect(word({ reasoning_effort: "none" }, "effort-always")).toMatchObject({ output_config: { effort: "low" } });
    expect(word({ reasoning_effort: "none" }, "effort-always")).not.toHaveProperty("thinking");
    expect(sent({ reasoning_effort: "high" }, { wire: { reasoning: "none" } })).not.toHaveProperty("thinking");
  });

  it("is told in the model's own way where the caller's own is another's", () => {
    const word = (changes: Record<string, unknown>, reasoning: "effort" | "effort-always" = "effort") =>
      sent(changes, { wire: { reasoning } });
    const enabled = { type: "enabled", budget_tokens: 2_048 };
    expect(word({ thinking: enabled }).thinking).toEqual({ type: "adaptive", display: "summarized" });
    expect(word({ thinking: { ...enabled, display: "omitted" } }).thinking).toMatchObject({ display: "omitted" });
    expect(word({ thinking: { type: "disabled" } }, "effort-always")).not.toHaveProperty("thinking");
    const adaptive = sent({ thinking: { type: "adaptive" } }, { wire: { reasoning: "budget" } });
    expect(adaptive.thinking).toMatchObject({ type: "enabled", budget_tokens: expect.any(Number) });
    // An unknown value is a matter between client and vendor.
    expect(word({ thinking: { type: "between_tools" } }).thinking).toEqual({ type: "between_tools" });
  });

  it("lets the caller's own thinking through, within the bound", () => {
    expect(budget({ thinking: { type: "enabled", budget_tokens: 64_000 } }, 4096).thinking).toEqual({
      type: "enabled",
      budget_tokens: 4095,
    });
    expect(sent({ thinking: { type: "adaptive" }, output_config: { effort: "max" } })).toMatchObject({
      thinking: { type: "adaptive" },
      output_config: { effort: "max" },
    });
  });
});
