// The MCP server of one request: its tools, resources and prompts. Keeps no state between requests.
import type {
  AuthInfo,
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  McpServerFactory,
  Server as ProtocolServer,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { VERSION } from "../../core/version.ts";
import type { Records } from "../../platform/records/records.ts";
import { answerCall, canAsk, paymentIn, questionBefore } from "./answer-call.ts";
import type { CallInside, InnerCaller } from "./inner-http.ts";
import { leftoversOf } from "./leftovers.ts";
import { createToolList } from "./pinned-tools.ts";
import { wrongArguments } from "./results.ts";
import { RUN_ACTION } from "./tools.ts";

/** The used parts of the protocol's library, which the first request loads. */
export type ProtocolLibrary = Pick<
  typeof import("@modelcontextprotocol/server"),
  "Server" | "ProtocolError" | "ProtocolErrorCode" | "ResourceNotFoundError"
>;

export interface McpDeps {
  readonly callInside: CallInside;
  readonly records: Records;
  readonly clock: Clock;
}

export interface McpCaller extends InnerCaller {
  /** The owner of the leftovers; null: the request has no key. */
  readonly payer: string | null;
  readonly query: URLSearchParams;
}

const INSTRUCTIONS =
  "Pays per call for web search, scraping, people, records, media, files and language models. Find an action with search_actions, " +
  "read its params with describe_action, run it with run_action. Prices are in cents; a failed call costs nothing.";

const RESOURCES = [
  { uri: "tollgate://llms.txt", name: "Guide", mimeType: "text/markdown", path: "/llms.txt" },
  { uri: "tollgate://catalog", name: "Catalog of actions", mimeType: "application/json", path: "/api/run" },
  { uri: "tollgate://prices", name: "Prices of models", mimeType: "application/json", path: "/api/llm/v1/pricing" },
] as const;

/** Where a request declares its client's capabilities, which the library has validated. */
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

const PROMPT = {
  name: "find_and_call",
  title: "Find and call an action",
  description: "Does a task with the cheapest action that can",
  arguments: [{ name: "task", description: "What should be done", required: true }],
};

/** Returns a function that creates the server for a request, from what its endpoint knows of the caller. */
export function serverFactory(
  library: ProtocolLibrary,
  callerOf: (given: AuthInfo | undefined) => McpCaller,
  deps: McpDeps,
): McpServerFactory {
  const toolList = createToolList(deps);
  return ({ authInfo, era }) => {
    const caller = callerOf(authInfo);
    const server = new library.Server(
      { name: "tollgate", title: "Tollgate", version: VERSION },
      { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
    );
    answerTools(server, caller, { ...deps, toolList, library, era });
    answerResources(server, caller, deps.callInside, library);
    server.setRequestHandler("prompts/list", () => ({ prompts: [PROMPT] }));
    server.setRequestHandler("prompts/get", ({ params }) => {
      if (params.name !== PROMPT.name) {
        const { ProtocolError, ProtocolErrorCode } = library;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt ${params.name.slice(0, 80)}.`);
      }
      const text = `Do this with Tollgate: ${params.arguments?.task ?? ""}\n\nFind actions with search_actions, take the cheapest that does it, read describe_action, bound the cost with max_cost_cents, run it with run_action, and say what it cost.`;
      return { messages: [{ role: "user", content: { type: "text", text } }] };
    });
    return server;
  };
}

interface ToolDeps extends McpDeps {
  /** The protocol generation of the request. */
  readonly era: "legacy" | "modern";
  readonly toolList: ReturnType<typeof createToolList>;
  readonly library: ProtocolLibrary;
}

function answerTools(server: ProtocolServer, caller: McpCaller, deps: ToolDeps): void {
  const { toolList, era } = deps;
  server.setRequestHandler("tools/list", async () => {
    const tools = await toolList.all(caller.query, caller);
    if ("unknown" in tools) {
      const { ProtocolError, ProtocolErrorCode } = deps.library;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `tools: there is no action ${tools.unknown}.`);
    }
    const listed = tools.map(({ name, title, description, inputSchema, annotations }) => {
      return { name, title, description, inputSchema: inputSchema as { type: "object" }, annotations };
    });
    return { tools: listed };
  });
  server.setRequestHandler(
    "tools/call",
    async ({ params }, { mcpReq }): Promise<CallToolResult | InputRequiredResult> => {
      const tool = await toolList.named(params.name, caller.query, caller);
      if (tool === null)
        return wrongArguments(`There is no tool ${params.name.slice(0, 80)}; tools/list has them all.`);
      const args = params.arguments ?? {};
      // Clients of earlier revisions declare their capabilities once, when they connect, and we store nothing.
      const { inputResponses: responses, envelope } = mcpReq;
      const said = era === "modern" ? (envelope as Record<string, unknown> | undefined)?.[CAPABILITIES] : undefined;
      if (canAsk(said as ClientCapabilities | undefined)) {
        const bought = tool.name === RUN_ACTION ? await toolList.ofAction(args.action, caller) : tool;
        const question =
          bought === null ? null : questionBefore(bought, args, { responses, state: mcpReq.requestState() });
        if (question !== null) return question;
      }
      const token = mcpReq._meta?.progressToken;
      const signal = AbortSignal.any([caller.signal, mcpReq.signal]);
      const leftovers = leftoversOf(caller.payer, deps.records);
      const onProgress =
        token === undefined
          ? null
          : (progress: number, total: number | null, message: string) => {
              const told = { progressToken: token, progress, message };
              const about = total === null ? told : { ...told, total };
              return mcpReq.notify({ method: "notifications/progress", params: about });
            };
      const { authorization, address, sandbox, bounds } = caller;
      const inner = { authorization, address, sandbox, bounds, payment: paymentIn(mcpReq._meta), signal };
      return answerCall({ tool, args, caller: inner, leftovers, onProgress }, deps);
    },
  );
}

function answerResources(
  server: ProtocolServer,
  caller: McpCaller,
  callInside: CallInside,
  library: ProtocolLibrary,
): void {
  const resources = RESOURCES.map(({ uri, name, mimeType }) => ({ uri, name, mimeType }));
  server.setRequestHandler("resources/list", () => ({ resources }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  server.setRequestHandler("resources/read", async ({ params }) => {
    const known = RESOURCES.find(({ uri }) => uri === params.uri);
    if (known === undefined) throw new library.ResourceNotFoundError(params.uri);
    const { uri, mimeType, path } = known;
    const { bytes } = await callInside({ method: "GET", path }, caller);
    return { contents: [{ uri, mimeType, text: bytes.toString("utf8") }] };
  });
}
