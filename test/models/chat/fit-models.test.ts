// The trace's reasons why routes of a model cannot serve a call.
import { expect, it } from "vitest";
import { type FittedCall, fitModels } from "../../../src/models/chat/fit-models.ts";
import type { Unfit } from "../../../src/models/chat/plan-headers.ts";

it("each route that cannot serve the call has its own reason", () => {
  const takesImages = { imageTokensMax: 100 };
  const offer = (id: string, parts: object | undefined) => ({
    adapter: { id, spec: {} },
    upstreamModel: "m",
    spec: { parts, contextTokens: 1_000 },
  });
  const offers = [offer("blind", undefined), offer("strict", takesImages), offer("fit", takesImages)];
  const model = { slug: "maker/m", parts: takesImages, contextTokens: 1_000, outputTokensMax: 100, offers };
  const unfit: Unfit[] = [];
  const call = {
    unfit,
    deps: {
      settings: { unaryMs: 1, unaryMsPerToken: 1, gapMsMax: 1 },
      upstream: {
        chatCandidate: (one: (typeof offers)[number]) =>
          one.adapter.id === "strict" ? "n above 1 has no place in its wire" : { offer: one, unsent: () => [] },
      },
    },
    read: {
      shape: { parts: { image: 1, audio: 0, file: 0, anything: 0 } },
      output: { asked: 10, fallback: null, cap: null },
      asked: { body: {} },
      answers: () => ({}),
      dropped: [],
      unknownPart: null,
    },
  } as unknown as FittedCall;
  fitModels([{ model, firstTokenMsMax: 1, place: 0 }] as never, call);
  expect(unfit).toEqual([
    { provider: "blind", model: "m", reason: "content of this kind is not taken" },
    { provider: "strict", model: "m", reason: "n above 1 has no place in its wire" },
  ]);
});
