// Vendors' caches identify a prompt by the beginning of its request: two consecutive turns must share everything up to the end of their
// common messages.
import { describe, expect, it } from "vitest";
import { bearer } from "../../../src/catalog/adapter.ts";
import type { Adapter, Offer } from "../../../src/catalog/catalog.ts";
import type { ChatWire, DialectName } from "../../../src/catalog/chat-wire.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { CallerRequest } from "../../../src/core/neutral.ts";
import { chatAnswers } from "../../../src/models/formats/chat-completions/answers.ts";
import { chatRequest } from "../../../src/models/formats/chat-completions/request.ts";
import { messagesRequest } from "../../../src/models/formats/messages/request.ts";
import { DIALECTS } from "../../../src/models/formats/vendor-dialects.ts";
import { createUpstream } from "../../../src/upstream/upstream.ts";
import { forFile } from "../../support/for-file.ts";
import { startVendor } from "../../support/vendor-server.ts";

const vendor = forFile(await startVendor());
const upstream = forFile(createUpstream(systemClock, { dialects: DIALECTS }));

const SHARED_END = "the last shared words";
const TOOL = { name: "weather", description: "Tells the weather.", parameters: { type: "object", properties: {} } };
/** As on a cloud: the model in the path, and a version field in the body. */
const CLOUD: ChatWire = {
  paths: { whole: "/models/{model}:whole", stream: "/models/{model}:stream", without: ["model"] },
  extraFields: { cloud_version: "2026-01-01" },
};

/** The body that the vendor receives. */
async function sentFor(dialect: DialectName, wire: ChatWire, asked: CallerRequest): Promise<string> {
  const adapter = {
    id: "vendor",
    spec: { name: "Vendor", docs: "", origin: "", auth: bearer },
    origin: vendor.url,
    origins: {},
    settings: {},
    keys: ["key"],
    configured: true,
  } as unknown as Adapter;
  const offer: Offer = {
    adapter,
    upstreamModel: "m",
    spec: { contextTokens: 1, prices: [] },
    weight: 1,
    cost: {} as never,
    healthKey: "vendor:m",
    chat: { dialect, models: {} },
    wire,
  };
  const candidate = upstream.chatCandidate(offer, {
    asked,
    answers: chatAnswers({ id: "c", createdS: 0, model: "vendor/m" }),
    requestId: "req_1",
    completionId: "c",
    createdS: 0,
    stream: true,
    servedSlug: "vendor/m",
    contextTokens: 1,
    outputTokensMax: 100,
    clocks: { firstTokenMsMax: 20_000, lastFirstTokenMsMax: 20_000, gapMsMax: 20_000 },
  });
  if (typeof candidate === "string") throw new Error(candidate);
  vendor.answers({ status: 400, body: {} });
  await new Promise<void>((resolve, reject) => {
    candidate.open(
      { content: () => reject(new Error("content")), done: () => resolve(), failed: () => resolve() },
      20_000,
    );
  });
  return vendor.asked[0]?.text ?? "";
}

type Turn = Readonly<{ role: string; content: string }>;
const SHARED: readonly Turn[] = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Good day." },
  { role: "user", content: SHARED_END },
];
const NEXT: readonly Turn[] = [...SHARED, { role: "assistant", content: "New." }, { role: "user", content: "Newer." }];

/** The growing list comes first, as in many clients. */
const CALLERS: Readonly<Record<string, (turns: readonly Turn[]) => CallerRequest>> = {
  "chat-completions": (turns) =>
    chatRequest({
      messages: [{ role: "system", content: "Be brief." }, ...turns],
      temperature: 0.5,
      tools: [{ type: "function", function: TOOL }],
      user: "u",
    } as unknown as Parameters<typeof chatRequest>[0]),
  messages: (turns) =>
    messagesRequest({
      messages: turns,
      system: "Be brief.",
      tools: [{ name: "weather", description: "Tells the weather.", input_schema: TOOL.parameters }],
      max_tokens: 100,
    } as unknown as Parameters<typeof messagesRequest>[0]),
};

describe.each(Object.keys(DIALECTS) as DialectName[])("what goes to a vendor that speaks %s", (dialect) => {
  it.each(
    Object.entries(CALLERS).flatMap(
      ([wire, asked]) =>
        [
          [wire, "itself", {}, asked],
          [wire, "in a cloud", CLOUD, asked],
        ] as const,
    ),
  )("of a caller of %s, %s, has its growing part last", async (_wire, _where, wire, asked) => {
    const [first, second] = [await sentFor(dialect, wire, asked(SHARED)), await sentFor(dialect, wire, asked(NEXT))];
    const same = [...first].findIndex((letter, at) => letter !== second[at]);
    const common = first.slice(0, same);
    const fields = Object.keys(JSON.parse(first));
    expect(fields.at(-1)).toBe(DIALECTS[dialect].grows);
    expect(common).toContain(SHARED_END);
    expect(common).toContain("Tells the weather.");
    for (const field of fields) expect(common).toContain(`"${field}":`);
  });
});
