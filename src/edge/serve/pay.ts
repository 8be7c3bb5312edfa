// A plan over HTTP: the payer is found, the kernel executes the plan, and what came of it is noted and written.
import type { Endpoint, FramedOpenPlan, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import { type Caller, type Ended, idAfter, type OpenPlan, type Plan } from "../../core/plan.ts";
import { execute } from "../../kernel/execute.ts";
import { keyPays, type Paying } from "../../kernel/key-pays.ts";
import type { WindowState } from "../../platform/limits/request-windows.ts";
import { type Answering, addHeaders } from "./answering.ts";
import type { ServeDeps } from "./deps.ts";
import { finish } from "./finish.ts";
import { note } from "./note.ts";
import { ReplyReader } from "./reply-reader.ts";
import { whileGood } from "./still-good.ts";

const NO_BODY = Buffer.alloc(0);

/** Has the plan executed with what the caller pays with, and writes what came of it. */
export async function pay(
  planned: Planned | Promise<Planned>,
  asking: Asking,
  answering: Answering,
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const framed = planned instanceof Promise ? await planned : planned;
  if (framed instanceof GatewayError) return framed;
  const { plan } = framed;
  const { request, caller } = asking;
  const { reply, window, record } = answering;
  if (framed.asked !== undefined) answering.heard?.ask(framed.asked);
  // What is sent on is the plan's: the caller's bytes are not kept for as long as the call runs.
  request.body = NO_BODY;
  const barred = new AbortController();
  let stop = () => {};
  try {
    addHeaders(reply, framed.headers);
    const finding = payingFor(plan, { request, caller, onWindow: (state) => void window.learn(state) }, deps);
    const paying = finding instanceof Promise ? await finding : finding;
    if (paying instanceof GatewayError) return paying;
    begin(record, plan);
    // What was paid for runs to its end; the progress of a job is told for nothing, and for as long as that runs.
    const lasts = plan.streamed && plan.operation === "run" && plan.quote.nano === ZERO;
    if (lasts && caller !== null) stop = whileGood({ ...asking, caller }, deps, () => barred.abort());
    const reader = new ReplyReader(framed, reply, window);
    const ended = await execute(
      plan,
      {
        // The same random characters name the request and its transaction, so that one leads to the other.
        id: idAfter(request.id, "tx_"),
        payer: paying.payer,
        funds: paying.funds,
        parent: null,
        signal: barred.signal,
        deadlineMs: null,
        reader,
      },
      deps,
    );
    reader.stop();
    return told(ended, framed, reader, { answering, deps });
  } finally {
    stop();
    framed.ended?.();
  }
}

/** A request that wants a plan; `caller` is null where it came without a key. */
interface Asking {
  readonly request: GatewayRequest;
  readonly endpoint: Endpoint;
  readonly caller: Caller | null;
}

type Planned = FramedOpenPlan | GatewayError;

function begin(record: Answering["record"], plan: Plan | OpenPlan): void {
  record.operation = plan.operation;
  record.asked = plan.asked;
  record.tags = plan.tags ?? record.tags;
  record.streamed = plan.streamed;
}

/** Notes what came of a call, and writes it. */
function told(
  ended: Ended,
  framed: FramedOpenPlan,
  reader: ReplyReader,
  { answering, deps }: { readonly answering: Answering; readonly deps: ServeDeps },
): GatewayError | null {
  const { reply, window, record } = answering;
  note(ended, record);
  window.tell();
  if (ended.isReplay) reply.header("idempotent-replayed", "true");
  try {
    return finish(ended, framed, reader, answering);
  } catch (error) {
    if (!reader.begun) throw error;
    // A whole answer can no longer be told apart from half a one by its content, so the connection tells it.
    deps.onBroken(error, record.requestId);
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
