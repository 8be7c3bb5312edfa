// Callers without a key: where the settings name an address, they pay there for each call (x402), or with play money where that may be tried.

import { descriptorOf } from "../actions/run/descriptor.ts";
import { NETWORKS, type Network, PLAY_NETWORK, PLAY_PAY_TO } from "../catalog/networks.ts";
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { nano, ZERO } from "../core/money.ts";
import type { StrangerDoor } from "../edge/serve/deps.ts";
import { HOUSE, openHouse, PLAY_HOUSE } from "../edge/x402/books.ts";
import { rpcChain } from "../edge/x402/chain.ts";
import type { Resource } from "../edge/x402/challenge.ts";
import { createDoor, type Door, type DoorParts } from "../edge/x402/door.ts";
import { httpFacilitator, NO_FACILITATOR } from "../edge/x402/facilitator.ts";
import { GasWallet } from "../edge/x402/gas-wallet.ts";
import { type NodeRpc, nodeRpc } from "../edge/x402/node-rpc.ts";
import { ownFacilitator } from "../edge/x402/own-facilitator.ts";
import { paymentEndpoints } from "../edge/x402/payment-endpoints.ts";
import { createPlayChain } from "../edge/x402/play-chain.ts";
import { proveIncome } from "../edge/x402/prove.ts";
import { createReconciler } from "../edge/x402/settle-receipt.ts";
import { topUpEndpoint } from "../edge/x402/top-up.ts";
import type { Leases } from "../kernel/ledger-funds.ts";
import type { Proof } from "../money/accounts/admin-endpoints.ts";
import type { Wallet } from "../money/wallet/wallet.ts";
import type { Config } from "../platform/config.ts";
import type { Observer } from "../platform/observe/observer.ts";
import { fetchThrough } from "../upstream/tunnel.ts";
import type { OpenActions } from "./open-actions.ts";
import { LEASE_MS, type Stores } from "./stores.ts";

/** All addresses together may cost so many times what each may. */
const ADDRESSES_AT_BOUND = 10;

export interface StrangersParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly observer: Observer;
  readonly actionCatalog: OpenActions;
  readonly publicUrl: () => string;
  readonly leases: Leases;
  readonly owner: string;
  /** The process with the keys. Undefined: this process makes no payment. */
  readonly wallet: Wallet | undefined;
  readonly onBroken: (error: unknown, id: string) => void;
}

export interface Strangers {
  readonly door: StrangerDoor;
  /** By which an account fills itself; null: only play money is taken. */
  readonly topUp: EndpointSpec | null;
  /** What the operator sees of payments that are in doubt. */
  readonly admin: readonly EndpointSpec[];
  /** Holds the books against the chain; null: there is none, or no node to ask. */
  readonly prove: Proof | null;
  /** Begins to find out what became of payments that were tried. */
  start(): void;
  stop(): Promise<void>;
}

/** Null: they need a key. */
export async function openStrangers(parts: StrangersParts): Promise<Strangers | null> {
  const { stores, observer, onBroken } = parts;
  const { records } = stores;
  const live = await openLive(parts);
  const play = await openPlay(parts);
  if (live === null && play === null) return null;
  const told = (error: unknown) => onBroken(error, "x402");
  const reconcilers = [live, play].flatMap((selling) => (selling === null ? [] : [createReconciler(selling, told)]));
  const [reconciler] = live === null ? [] : reconcilers;
  if (reconciler !== undefined) observer.onScrape({ payments: () => reconciler.seen() });
  return {
    door: eitherDoor(live && createDoor(live), play && createDoor(play)),
    topUp: live && topUpEndpoint(live),
    admin: reconciler === undefined ? [] : paymentEndpoints({ records, reconciler }),
    prove: live === null ? null : proofOf(parts),
    start() {
      for (const one of reconcilers) one.start();
    },
    async stop() {
      for (const one of reconcilers) await one.stop();
    },
  };
}

function proofOf({ config, stores: { ledger, records } }: StrangersParts): Proof | null {
  const { x402RpcUrl: url, x402Network } = config;
  if (url === null) return null;
  const node = nodeRpc(url, fetchThrough(config.proxies));
  return () => proveIncome({ ledger, records, node, asset: NETWORKS[x402Network].asset });
}

/** Of those who ask for the sandbox none is ever asked for money, whether or not there is play money to be had. */
function eitherDoor(live: Door | null, play: Door | null): StrangerDoor {
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

/** What either door needs beside where the money goes. */
function sellingParts({ stores, actionCatalog, publicUrl, leases, owner }: StrangersParts, sandbox: boolean) {
  const { ledger, records } = stores;
  return {
    ledger,
    records,
    leases,
    owner,
    publicUrl,
    clock: systemClock,
    leaseMs: LEASE_MS,
    describe: descriptions(actionCatalog, sandbox),
  };
}

async function openLive(parts: StrangersParts): Promise<DoorParts | null> {
  const { config, stores, observer } = parts;
  const { x402PayTo: payTo, x402RpcUrl: rpcUrl, unpaidCostNano: each } = config;
  if (payTo === null) return null;
  const network = NETWORKS[config.x402Network];
  const node = rpcUrl === null ? null : nodeRpc(rpcUrl, fetchThrough(config.proxies));
  const facilitator = facilitatorOf(parts, network, node);
  await openHouse(stores.ledger, HOUSE);
  return {
    ...sellingParts(parts, false),
    house: HOUSE,
    settlementNano: config.x402SettlementNano,
    facilitator,
    chain: node && rpcChain(node),
    observer,
    unpaid: each > 0 ? { each, all: nano(each * ADDRESSES_AT_BOUND) } : null,
    terms: { payTo, network },
  };
}

/** A server that is asked, or this process with a wallet of its own. The settings name one of the two. */
function facilitatorOf({ config, stores, owner, wallet }: StrangersParts, network: Network, node: NodeRpc | null) {
  const { x402FacilitatorUrl: url, x402GasWeiMax: feeWeiMax } = config;
  if (url !== null) return httpFacilitator(url, { fetchOut: fetchThrough(config.proxies) });
  if (node === null) throw new Error("no facilitator is set");
  const signer = wallet?.gas ?? null;
  // Of several processes the parent has no keys, and makes no payment: its children do.
  if (signer === null) return NO_FACILITATOR;
  const { records } = stores;
  const clock = systemClock;
  const gas = new GasWallet({ signer, chainId: network.chainId, node, records, clock, owner, feeWeiMax });
  return ownFacilitator({ network, node, wallet: gas, clock });
}

/** The same with play money, which costs us nothing and is counted nowhere. */
async function openPlay(parts: StrangersParts): Promise<DoorParts | null> {
  const { config, stores } = parts;
  if (!config.x402Sandbox) return null;
  await openHouse(stores.ledger, PLAY_HOUSE);
  const chain = createPlayChain({ records: stores.records, clock: systemClock });
  return {
    ...sellingParts(parts, true),
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

/** What is sold, as a challenge tells it: made once for each action, since challenges are free and come in any number. */
function descriptions({ actionCatalog }: OpenActions, sandbox: boolean): (asked: string) => Described {
  const made = new WeakMap<object, Described>();
  return (asked) => {
    const action = actionCatalog.find(asked, { sandbox });
    if (action === null) return { description: asked, bazaar: null };
    const before = made.get(action);
    if (before !== undefined) return before;
    const described = describe(action);
    made.set(action, described);
    return described;
  };
}

/** What its body and its answer look like, as the extension `bazaar` tells it. */
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
