// Serves any wire: its calls as plans, its token counts as free answers, and errors in its own format. Knows no wire by name.
import type { Endpoint, Frame, FramedOpenPlan, FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer, Plan } from "../../core/plan.ts";
import type { ActionsAsk } from "../formats/action-tools.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import type { ModelWire, WireEmbeddings, WireHost } from "../formats/wire.ts";
import { countTokens } from "./count-tokens.ts";
import type { ChatDeps } from "./deps.ts";
import type { FreeCounts } from "./free-counts.ts";
import { modelPlan } from "./model-plan.ts";
import { unitPlan } from "./unit-plan.ts";
import { embeddings } from "./units/embeddings.ts";

const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Common to all endpoints that charge. */
export const PAID = { method: "POST", auth: "key", bodyBytesMax: BODY_BYTES_MAX } as const;

export type ActsPlan = (call: PlanCall, read: ModelRequest, ask: ActionsAsk) => Promise<FramedOpenPlan>;

export interface WireDeps {
  readonly chat: ChatDeps;
  readonly acts: ActsPlan;
  readonly host: WireHost;
  readonly counts: FreeCounts;
}

/** Adds a final step to the plan that needs the payer. */
function preparedFor(framed: FramedOpenPlan, prepareFor: NonNullable<ModelRequest["prepareFor"]>): FramedOpenPlan {
  const { plan } = framed;
  const forPayer = async (payer: Payer): Promise<Plan | GatewayError> => {
    const owned = "forPayer" in plan ? await plan.forPayer(payer) : plan;
    return owned instanceof GatewayError ? owned : { ...owned, prepare: prepareFor(payer) };
  };
  return { ...framed, plan: { ...plan, forPayer } };
}

function planOf(call: PlanCall, read: ModelRequest, deps: WireDeps): FramedOpenPlan | Promise<FramedOpenPlan> {
  const { actions, prepareFor } = read;
  const prepared = (framed: FramedOpenPlan) => (prepareFor === undefined ? framed : preparedFor(framed, prepareFor));
  if (actions !== undefined) return deps.acts(call, read, actions).then(prepared);
  return prepared(modelPlan(call, read, deps.chat));
}

function embeddingsIn(spec: WireEmbeddings, call: PlanCall, deps: ChatDeps): FramedPlan {
  const sent = spec.read(call);
  const sentBytes = Buffer.byteLength(JSON.stringify(sent));
  const made = unitPlan(embeddings, { sent, sentBytes, files: [], fingerprinted: sent }, call, deps);
  const { frame } = made;
  const last: Frame["last"] = (...said) => JSON.stringify(spec.answer(JSON.parse(String(frame.last(...said)))));
  const { keepAlive } = frame;
  return { ...made, frame: { keepAlive, last, head: frame.head.bind(frame), broken: frame.broken.bind(frame) } };
}

export function wireEndpoints(wire: ModelWire, deps: WireDeps): readonly Endpoint[] {
  const { chat, host, counts } = deps;
  const { errors } = wire;
  return [
    ...wire.calls.map(({ read, overSocket, ...paths }): Endpoint => {
      const plan = (call: PlanCall) => {
        const done = read(call, host);
        return done instanceof Promise ? done.then((one) => planOf(call, one, deps)) : planOf(call, done, deps);
      };
      const asked = overSocket === undefined ? {} : { overSocket: overSocket(host) };
      return { ...PAID, ...paths, ...asked, cached: true, errors, plan };
    }),
    ...(wire.embeddings ?? []).map((spec): Endpoint => {
      const { path, alias } = spec;
      const paths = alias === undefined ? { path } : { path, alias };
      return { ...PAID, ...paths, cached: true, errors, plan: (call) => embeddingsIn(spec, call, chat) };
    }),
    ...(wire.counts ?? []).map((count): Endpoint => {
      const { path, alias, bodyBytesMax } = count;
      const paths = alias === undefined ? { path } : { path, alias };
      const answer = countTokens(count, chat, counts);
      return { ...PAID, ...paths, bodyBytesMax, longWithCredit: true, errors, answer };
    }),
    ...(wire.free?.(host) ?? []).map((spec): Endpoint => ({ ...spec, errors })),
  ];
}
