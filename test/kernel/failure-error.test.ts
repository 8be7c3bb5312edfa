// The error that a caller gets when several routes have failed, each in its own way.
import { expect, it } from "vitest";
import { callChat } from "../support/chat-call.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

/** The last message is the assistant's, for models that reject that. */
const MESSAGES = [
  { role: "user", content: "go on" },
  { role: "assistant", content: "Once" },
];

const TOLD: readonly (readonly [first: string, second: string, status: number, code: string])[] = [
  // A provider in trouble might have answered: another's rejection of the prompt says nothing about it.
  ["503", "400-context", 502, "upstream_error"],
  ["400-context", "503", 502, "upstream_error"],
  ["503", "400-prefill", 502, "upstream_error"],
  ["400-prefill", "429-after-60", 502, "upstream_error"],
  // Where no provider was in trouble, the models' rejection is the reason.
  ["400-prefill", "400-prefill", 400, "upstream_rejected"],
  ["400-context", "400-context", 400, "context_length_exceeded"],
  ["400-context", "401", 400, "context_length_exceeded"],
  // A rejection of the request itself ends the call, whichever routes failed before.
  ["503", "400", 400, "upstream_rejected"],
  ["503", "400-policy", 400, "content_policy_violation"],
  // Where every provider was busy, the caller must wait too.
  ["429-after-60", "429-after-30", 429, "upstream_error"],
  ["429-after-60", "503", 502, "upstream_error"],
  ["401", "402", 503, "upstream_not_configured"],
  ["401", "503", 502, "upstream_error"],
];

it.each(TOLD)("%s, then %s: %i %s", async (first, second, status, code) => {
  // A pace makes a separate route, whose health no other case has affected.
  const pace = TOLD.findIndex((row) => row[0] === first && row[1] === second) + 1;
  const models = [`sandbox/${first}-at-${pace}`, `sandbox-gemini/${second}-at-${pace}`];
  const seen = await callChat({ models, messages: MESSAGES }, { url: gateway.url, key: account.key });
  expect([seen.status, seen.error?.code]).toEqual([status, code]);
  expect(seen.error?.metadata?.attempts).toHaveLength(2);
  if (status === 429) expect(Number(seen.headers.get("retry-after"))).toBe(30);
});
