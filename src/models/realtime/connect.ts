// Opens a session at the first vendor that accepts it: one that refuses, or dies before its first event, is replaced unseen.
import type { SoldUnitModel, UnitOffer } from "../../catalog/catalog.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AttemptFailure, Candidate } from "../../core/route.ts";
import type { VendorSocket } from "../../upstream/vendor-socket.ts";
import type { ChatDeps } from "../chat/deps.ts";
import type { SoldBy } from "./plans.ts";

export interface Connection extends SoldBy {
  readonly vendor: VendorSocket;
  /** The vendor cannot hold this session after all: tries the next one. */
  reject(failure: AttemptFailure): void;
}

export interface ConnectParts {
  readonly deps: Pick<ChatDeps, "upstream" | "settings">;
  readonly models: readonly SoldUnitModel[];
  readonly requestId: string;
  readonly msMax: number;
  /** The first event has arrived, and `message` gets it next. */
  connected(connection: Connection): void;
  message(bytes: Buffer): void;
  /** The session's vendor has gone. */
  ended(failure: AttemptFailure): void;
  /** No vendor is left. */
  failed(error: GatewayError): void;
}

interface Way extends SoldBy {
  readonly candidate: Candidate;
}

function wayOf(model: SoldUnitModel, offer: UnitOffer): Way {
  const candidate = {
    provider: offer.adapter.id,
    model: model.slug,
    healthKey: offer.healthKey,
    firstTokenMsMax: 0,
    lastFirstTokenMsMax: 0,
    readOnMsMax: 0,
    pointlessAfter: () => false,
    open: () => {
      throw new Error("a session is no single call");
    },
  };
  return { model, offer, candidate };
}

/** Returns a function that gives up. */
export function connect(parts: ConnectParts): () => void {
  const { upstream, settings } = parts.deps;
  const { health } = upstream;
  const ways = [...health.order(parts.models.flatMap((model) => model.offers.map((offer) => wayOf(model, offer))))];
  let open: VendorSocket | null = null;
  let isOver = false;

  function next(failure: AttemptFailure | null): void {
    const way = ways.shift();
    if (isOver) return;
    if (way === undefined) {
      isOver = true;
      return parts.failed(new GatewayError("upstream_error", { detail: failure?.message ?? "none is left" }));
    }
    const { candidate, model, offer } = way;
    let isConnected = false;
    const reject = (why: AttemptFailure): void => {
      health.bad(candidate, why);
      vendor.close();
      next(why);
    };
    health.trying(candidate);
    const vendor = upstream.vendorSocket(offer, {
      requestId: parts.requestId,
      firstMsMax: ways.length === 0 ? settings.lastFirstTokenMsMax : settings.firstTokenMsMax,
      silentMsMax: parts.msMax,
      message(bytes) {
        if (!isConnected) {
          isConnected = true;
          health.good(candidate);
          parts.connected({ vendor, model, offer, reject });
        }
        parts.message(bytes);
      },
      ended(why) {
        if (isConnected && open === vendor) parts.ended(why);
        else reject(why);
      },
    });
    open = vendor;
  }

  next(null);
  return () => {
    isOver = true;
    open?.close();
  };
}
