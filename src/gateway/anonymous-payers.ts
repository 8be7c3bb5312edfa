// Callers without a key, who pay for each call on chain (x402) or with play money. Loaded only where one of the two is enabled.

import { descriptorOf } from "../actions/run/descriptor.ts";
import { NETWORKS, type Network, PLAY_NETWORK, PLAY_PAY_TO } from "../catalog/networks.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { getOrMake } from "../core/maps.ts";
import { nano, ZERO } from "../core/money.ts";
import type { AnonymousAccess } from "../edge/serve/deps.ts";
import { HOUSE, openHouse, PLAY_HOUSE } from "../edge/x402/books.ts";
import { rpcChain } from "../edge/x402/chain.ts";
import type { Resource } from "../edge/x402/challenge.ts";
import { httpFacilitator, NO_FACILITATOR } from "../edge/x402/facilitator.ts";
import { GasWallet } from "../edge/x402/gas-wallet.ts";
import { ownFacilitator } from "../edge/x402/own-facilitator.ts";
import { createPayPerCall, type Door, type PayPerCallParts } from "../edge/x402/pay-per-call.ts";
import { createPlayChain } from "../edge/x402/play-chain.ts";
import { proveIncome } from "../edge/x402/prove.ts";
import { paymentEndpoints } from "../edge/x402/receipts.ts";
import { createReconciler } from "../edge/x402/settle-receipt.ts";
import { topUpEndpoint } from "../edge/x402/top-up.ts";
import type { Proof } from "../money/accounts/admin-endpoints.ts";
import type { KeptLeases } from "../money/ledger/sweep.ts";
import { type NodeRpc, nodeRpc } from "../money/wallet/node-rpc.ts";
import { fetchThrough } from "../upstream/tunnel.ts";
import type { OpenActions } from "./open-actions.ts";
import type { Foundation } from "./open-foundation.ts";
import { LEASE_MS } from "./stores.ts";

/** The limit for all addresses together, as a multiple of one address's limit. */
const ADDRESSES_AT_BOUND = 10;

/** A foundation, plus what selling without a key needs. */
export interface Selling extends Foundation {
  readonly actionCatalog: OpenActions;
  readonly leases: KeptLeases;
}

export type AnonymousPayers = Awaited<ReturnType<typeof openPayPerCall>>;

export async function openPayPerCall(selling: Selling) {
  const { stores, observer, opened, onBroken } = selling;
  const live = await openLive(selling);
  const play = await openPlay(selling);
  const report = (error: unknown) => onBroken(error, "x402");
  const reconcilers = [live, play].flatMap((parts) => (parts === null ? [] : [createReconciler(parts, report)]));
  for (const reconciler of reconcilers) opened.add(() => reconciler.stop());
  const [reconciler] = live === null ? [] : reconcilers;
  if (reconciler !== undefined)
    observer.onScrape(({ paymentsOpen, paymentsOpenOldest }) => {
      const { count, oldestMs } = reconciler.seen();
      paymentsOpen.set(count);
      paymentsOpenOldest.set(oldestMs / 1000);
    });
  return {
    door: eitherDoor(live && createPayPerCall(live), play && createPayPerCall(play)),
    /** How an account tops itself up; null: only play money is accepted. */
    topUp: live && topUpEndpoint(live),
    admin: reconciler === undefined ? [] : paymentEndpoints({ records: stores.records, reconciler }),
    /** Compares the books with the chain. Null if no chain or no node is configured. */
    prove: live === null ? null : proofOf(selling),
    start() {
      for (const one of reconcilers) one.start();
    },
  };
}

function proofOf({ config, stores: { ledger, records } }: Selling): Proof | null {
  const { x402RpcUrl: url, x402Network } = config;
  if (url === null) return null;
  const node = nodeRpc(url, fetchThrough(config.proxies));
  return () => proveIncome({ ledger, records, node, asset: NETWORKS[x402Network].asset });
}

/** A sandbox caller never has to pay real money, even where play money is disabled. */
function eitherDoor(live: Door | null, play: Door | null): AnonymousAccess {
  const isPlay = (headers: ReadonlyMap<string, string>) => headers.get("x-tollgate-sandbox") === "1";
  const doorFor = (headers: ReadonlyMap<string, string>) => (isPlay(headers) ? play : live);
  return {
    takes(headers) {
      if (doorFor(headers) === null) return null;
      return isPlay(headers) ? "play_money" : "money";
    },
    async pay(plan, request) {
      const door = doorFor(request.headers);
      return door === null ? new GatewayError("invalid_token") : door.pay(plan, request);
    },
  };
}

/** What live and sandbox payments both need. */
function sellingParts({ stores, actionCatalog, url, leases }: Selling, sandbox: boolean) {
  const { ledger, records, owner } = stores;
  return {
    ledger,
    records,
    leases,
    owner,
    publicUrl: url.get,
    clock: systemClock,
    leaseMs: LEASE_MS,
    describe: descriptions(actionCatalog, sandbox),
  };
}

async function openLive(selling: Selling): Promise<PayPerCallParts | null> {
  const { config, stores, observer } = selling;
  const { x402PayTo: payTo, x402RpcUrl: rpcUrl, unpaidCostNano: each } = config;
  if (payTo === null) return null;
  const network = NETWORKS[config.x402Network];
  const node = rpcUrl === null ? null : nodeRpc(rpcUrl, fetchThrough(config.proxies));
  const facilitator = facilitatorOf(selling, network, node);
  await openHouse(stores.ledger, HOUSE);
  return {
    ...sellingParts(selling, false),
    house: HOUSE,
    settlementNano: config.x402SettlementNano,
    facilitator,
    chain: node && rpcChain(node),
    observer,
    unpaid: each > 0 ? { each, all: nano(each * ADDRESSES_AT_BOUND) } : null,
    terms: { payTo, network },
  };
}

/** A remote facilitator, or this process with a gas wallet; the settings name one of the two. */
function facilitatorOf({ options, config, stores }: Selling, network: Network, node: NodeRpc | null) {
  const { x402FacilitatorUrl: url, x402GasWeiMax: feeWeiMax } = config;
  if (url !== null) return httpFacilitator(url, { fetchOut: fetchThrough(config.proxies) });
  if (node === null) throw new Error("no facilitator is set");
  const signer = options.wallet?.gas ?? null;
  // The parent of several processes has no keys and makes no payments; its children do.
  if (signer === null) return NO_FACILITATOR;
  const { records, owner } = stores;
  const clock = systemClock;
  const gas = new GasWallet({ signer, chainId: network.chainId, node, records, clock, owner, feeWeiMax });
  return ownFacilitator({ network, node, wallet: gas, clock });
}

/** The same with play money, which costs us nothing and is not counted. */
async function openPlay(selling: Selling): Promise<PayPerCallParts | null> {
  const { config, stores } = selling;
  if (!config.x402Sandbox) return null;
  await openHouse(stores.ledger, PLAY_HOUSE);
  const chain = createPlayChain({ records: stores.records, clock: systemClock });
  return {
    ...sellingParts(selling, true),
    house: PLAY_HOUSE,
    settlementNano: ZERO,
    facilitator: chain,
    chain,
    observer: { settled() {}, unpaid() {} },
    unpaid: null,
    terms: { payTo: PLAY_PAY_TO, network: PLAY_NETWORK },
  };
}

type Described = Pick<Resource, "description" | "bazaar">;

/** Describes actions in payment challenges. Builds each description once, because challenges are free and unlimited. */
function descriptions({ actionCatalog }: OpenActions, sandbox: boolean): (asked: string) => Described {
  const made = new WeakMap<Parameters<typeof describe>[0], Described>();
  return (asked) => {
    const action = actionCatalog.find(asked, { sandbox });
    if (action === null) return { description: asked, bazaar: null };
    return getOrMake(made, action, describe);
  };
}

/** The action's body and answer in the form of the `bazaar` extension. */
function describe(action: Parameters<typeof descriptorOf>[0]): Described {
  const { description, example, params } = descriptorOf(action);
  const text = (constant: string) => ({ type: "string", const: constant });
  const input = { type: "object", required: ["type", "method", "bodyType", "body"] };
  const properties = { type: text("http"), method: text("POST"), bodyType: text("json"), body: params };
  const output = { type: "json", example: { ok: true, data: {}, charged_cents: 0 } };
  return {
    description,
    bazaar: {
      info: { input: { type: "http", method: "POST", bodyType: "json", body: example }, output },
      schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        required: ["input"],
        properties: { input: { ...input, properties }, output: { type: "object" } },
      },
    },
  };
}
