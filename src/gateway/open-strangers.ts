// Callers without a key: where the settings name an address, they pay there for each call (x402).

import { NETWORKS } from "../catalog/networks.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { EndpointSpec } from "../endpoint.ts";
import type { Leases } from "../kernel/ledger-funds.ts";
import { nano } from "../money.ts";
import type { Observer } from "../observe/observer.ts";
import { descriptorOf } from "../run/descriptor.ts";
import { LEASE_MS, type Stores } from "../stores.ts";
import { openHouse } from "../x402/books.ts";
import { rpcChain } from "../x402/chain.ts";
import { createDoor, type Door } from "../x402/door.ts";
import { httpFacilitator } from "../x402/facilitator.ts";
import { paymentEndpoints } from "../x402/payment-endpoints.ts";
import { createReconciler, type Reconciler } from "../x402/settle-receipt.ts";
import { topUpEndpoint } from "../x402/top-up.ts";
import type { OpenActions } from "./open-actions.ts";

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
  readonly onBroken: (error: unknown, id: string) => void;
}

export interface Strangers {
  readonly door: Door;
  /** By which an account fills itself. */
  readonly topUp: EndpointSpec;
  /** Finds out what became of payments that were tried. */
  readonly reconciler: Reconciler;
  /** What the operator sees of payments that are in doubt. */
  readonly admin: readonly EndpointSpec[];
}

/** Null: they need a key. */
export async function openStrangers(parts: StrangersParts): Promise<Strangers | null> {
  const { config, stores, observer, actionCatalog, publicUrl, leases, owner, onBroken } = parts;
  const { x402PayTo: payTo, x402FacilitatorUrl: facilitatorUrl, x402RpcUrl: rpcUrl, unpaidCostNano: each } = config;
  if (payTo === null || facilitatorUrl === null) return null;
  const { ledger, records } = stores;
  await openHouse(ledger);
  const settling = {
    ledger,
    records,
    clock: systemClock,
    owner,
    leaseMs: LEASE_MS,
    facilitator: httpFacilitator(facilitatorUrl),
    chain: rpcUrl === null ? null : rpcChain(rpcUrl),
    observer,
  };
  const selling = {
    ...settling,
    leases,
    unpaid: each > 0 ? { each, all: nano(each * ADDRESSES_AT_BOUND) } : null,
    terms: { payTo, network: NETWORKS[config.x402Network] },
    publicUrl,
    describe: (asked: string) => describe(actionCatalog, asked),
  };
  const reconciler = createReconciler(settling, (error) => onBroken(error, "x402"));
  observer.onScrape({ payments: () => reconciler.seen() });
  const admin = paymentEndpoints({ records, reconciler });
  return { door: createDoor(selling), topUp: topUpEndpoint(selling), reconciler, admin };
}

/** What is sold, and what its body and its answer look like, as the extension `bazaar` tells it. */
function describe({ actionCatalog }: OpenActions, asked: string) {
  const action = actionCatalog.find(asked, { sandbox: false });
  if (action === null) return { description: asked, bazaar: null };
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
