// A plan over HTTP: the payer is found, the kernel executes the plan, and what came of it is noted and written.
import type { FramedOpenPlan, GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { execute } from "../kernel/execute.ts";
import { keyPays, type Paying } from "../kernel/key-pays.ts";
import type { WindowState } from "../limits/request-windows.ts";
import type { Caller, OpenPlan, Plan } from "../plan.ts";
import { type Answering, addHeaders } from "./answering.ts";
import type { ServeDeps } from "./deps.ts";
import { finish } from "./finish.ts";
import { note } from "./note.ts";
import { ReplyReader } from "./reply-reader.ts";

/** Has the plan executed with what the caller pays with, and writes what came of it. */
export async function pay(
  framed: FramedOpenPlan,
  request: GatewayRequest,
  caller: Caller | null,
  answering: Answering,
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const { plan } = framed;
  const { reply, window, record } = answering;
  addHeaders(reply, framed.headers);
  const onWindow = (state: WindowState) => void window.learn(state);
  const paying = await payingFor(plan, { request, caller, onWindow }, deps);
  if (paying instanceof GatewayError) return paying;
  record.operation = plan.operation;
  record.asked = plan.asked;
  record.tags = plan.tags ?? record.tags;
  record.streamed = plan.streamed;
  const reader = new ReplyReader(framed, reply, window);
  const ended = await execute(
    plan,
    {
      // The same random characters name the request and its transaction, so that one leads to the other.
      id: request.id.replace(/^req_/, "tx_"),
      payer: paying.payer,
      funds: paying.funds,
      parent: null,
      signal: null,
      deadlineMs: null,
      reader,
    },
    deps,
  );
  reader.stop();
  note(ended, record);
  window.tell();
  if (ended.isReplay) reply.header("idempotent-replayed", "true");
  try {
    return finish(ended, framed, reader, answering);
  } catch (error) {
    if (!reader.begun) throw error;
    // A whole answer can no longer be told apart from half a one by its content, so the connection tells it.
    deps.onBroken(error, request.id);
    record.code = "internal_error";
    reply.cut();
    return null;
  }
}

/** What a plan is paid with; or why its caller may not pay, which for one without a key may be the challenge that says how. */
export function payingFor(
  plan: Plan | OpenPlan,
  {
    request,
    caller,
    onWindow,
  }: {
    readonly request: GatewayRequest;
    readonly caller: Caller | null;
    readonly onWindow: (state: WindowState) => void;
  },
  deps: ServeDeps,
): Paying | GatewayError | Promise<Paying | GatewayError> {
  if (caller !== null) return keyPays(plan, caller, { requestId: request.id, onWindow }, deps);
  if (deps.stranger !== null) return deps.stranger.pay(plan, request);
  return new GatewayError("invalid_token", { detail: { detail: "This call needs a key." } });
}
