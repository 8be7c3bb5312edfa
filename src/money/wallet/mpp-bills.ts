// Bills of the Machine Payments Protocol (`WWW-Authenticate: Payment`): a transfer on Tempo that we sign and the merchant submits.
import { createHash } from "node:crypto";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { z } from "zod";
import type { PaymentWanted } from "../../catalog/auth.ts";
import type { TempoNetwork } from "../../catalog/networks.ts";
import { readChallenges } from "./auth-params.ts";
import { type Bill, type Bills, jsonIn, readBills, topicOf } from "./bill.ts";
import { type Hex, hexOf, isAddress } from "./hex.ts";

/** `TransferWithMemo(address,address,uint256,bytes32)` of TIP-20. */
const TRANSFERRED: Hex = "0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0";
/** The memo prefix and version that mark a payment by this protocol. */
const MEMO_TAG = Buffer.from("ef1ed71201", "hex");
/** The chain refuses a transfer valid for more than 30 seconds. */
const GOOD_SECONDS = 25;
const REQUEST_CHARACTERS_MAX = 8_192;
/** Headers in which a challenge may ask for the payment. */
const CREDENTIAL_HEADERS = ["authorization", "payment-authorization"];

const address = z.custom<Hex>(isAddress, "is no address");
const requestSchema = z.object({
  amount: z.string().regex(/^[0-9]{1,30}$/),
  currency: address,
  recipient: address,
  methodDetails: z
    .object({
      chainId: z.number().optional(),
      feePayer: z.boolean().optional(),
      splits: z.array(z.unknown()).max(0).optional(),
      supportedModes: z.array(z.string()).optional(),
    })
    .optional(),
});

const challengeSchema = z.object({
  id: z.string().min(1).max(1_024),
  realm: z.string().min(1).max(1_024),
  method: z.string(),
  intent: z.string(),
  request: z.string().max(REQUEST_CHARACTERS_MAX),
  description: z.string().optional(),
  digest: z.string().optional(),
  expires: z.iso.datetime({ offset: true }).optional(),
  opaque: z.string().optional(),
  header: z.string().optional(),
});
type Challenge = z.infer<typeof challengeSchema>;

/** The memo: a fingerprint of the realm, ten zero bytes (we do not identify ourselves to merchants), and the challenge. */
function memoOf({ realm, id }: Challenge): Hex {
  const print = (text: string, bytes: number) => keccak_256(Buffer.from(text)).subarray(0, bytes);
  return hexOf(Buffer.concat([MEMO_TAG, print(realm, 10), Buffer.alloc(10), print(id, 7)]));
}

function isOfBody(digest: string | undefined, body: PaymentWanted["request"]["body"]): boolean {
  if (digest === undefined) return true;
  if (body !== null && typeof body !== "string" && !Buffer.isBuffer(body)) return false;
  return (
    digest ===
    `sha-256=${createHash("sha256")
      .update(body ?? "")
      .digest("base64")}`
  );
}

function billOf(challenge: Challenge, network: TempoNetwork, wanted: PaymentWanted): Bill | string {
  if (challenge.method !== "tempo") return `asks to be paid by ${JSON.stringify(challenge.method.slice(0, 40))}`;
  if (challenge.intent !== "charge") return "asks for another thing than a single charge";
  const header = (challenge.header ?? "authorization").toLowerCase();
  if (!CREDENTIAL_HEADERS.includes(header)) return "wants its payment in a header that is not for payments";
  const read = requestSchema.safeParse(jsonIn(challenge.request));
  if (!read.success) return `asks in a form that is not understood (${read.error.issues[0]?.path.join(".")})`;
  const { amount, currency, recipient, methodDetails = {} } = read.data;
  const { chainId = network.chainId, feePayer = false, supportedModes = ["pull"] } = methodDetails;
  if (chainId !== network.chainId) return "asks to be paid on another network";
  if (!network.coins.includes(currency.toLowerCase())) return "asks for another coin";
  if (!supportedModes.includes("pull")) return "wants the payment to be sent before it is shown";
  if (!isOfBody(challenge.digest, wanted.request.body)) return "asks for the payment of another request";
  const expiresMs = challenge.expires === undefined ? null : Date.parse(challenge.expires);
  const memo = memoOf(challenge);
  return {
    rail: "mpp",
    network: `eip155:${chainId}`,
    asset: currency,
    payTo: recipient,
    units: BigInt(amount),
    expiresMs,
    isSponsored: feePayer,
    ready(from, nowMs) {
      const nowS = Math.floor(nowMs / 1_000);
      const validBefore = Math.min(nowS + GOOD_SECONDS, Math.floor((expiresMs ?? Number.POSITIVE_INFINITY) / 1_000));
      const transfer = {
        chainId,
        token: currency,
        to: recipient,
        value: amount,
        memo,
        validBefore,
        sponsored: feePayer,
      };
      return {
        signing: { kind: "transfer", transfer },
        topics: [TRANSFERRED, topicOf(from), topicOf(recipient), memo],
        validBefore,
        headers(signed) {
          const source = `did:pkh:eip155:${chainId}:${from}`;
          const credential = { challenge, payload: { signature: signed, type: "transaction" }, source };
          return { [header]: `Payment ${Buffer.from(JSON.stringify(credential)).toString("base64url")}` };
        },
      };
    },
  };
}

/** Reads the bills of a 402 in this protocol. */
export function mppBills(wanted: PaymentWanted, network: TempoNetwork): Bills {
  const lines = [wanted.headers["www-authenticate"] ?? []].flat();
  const challenges = lines.flatMap((line) => readChallenges(line) ?? []).filter(({ scheme }) => scheme === "payment");
  const asked = challenges.map(({ params }) => Object.fromEntries(params));
  return readBills(asked, challengeSchema, (challenge) => billOf(challenge, network, wanted));
}
