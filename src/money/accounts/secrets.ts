// Creates key secrets, their hashes, and ids.
import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const KEY_BEGINS = "tg_sk_";
const LIVE = KEY_BEGINS;
const SANDBOX = "tg_sk_test_";
/** 62^43 is the first power of 62 above 2^256. */
const SECRET_BYTES = 32;
const SECRET_DIGITS = 43;
const ID_BYTES = 15;
const ID_DIGITS = 21;
const RUN_ID_BYTES = 16;
const RUN_ID_DIGITS = 22;
/** 62^6 is the first power of 62 above 2^32. */
const CHECK_DIGITS = 6;
/** Keys created before there were check digits have none, and stay valid. */
const SHAPE = /^(tg_sk_(?:test_)?[0-9A-Za-z]{43})([0-9A-Za-z]{6})?$/;

export interface KeySecret {
  /** Shown once, stored nowhere. */
  readonly secret: string;
  /** What is stored: SHA-256, hexadecimal. */
  readonly secretHash: string;
  /** Enough of the secret to tell keys apart, too little to guess the rest. */
  readonly hint: string;
}

/** Creates a secret from 32 random bytes and check digits; its prefix shows whether it is a sandbox account's. */
export function mintKey(sandbox: boolean): KeySecret {
  const prefix = sandbox ? SANDBOX : LIVE;
  const random = base62(randomBytes(SECRET_BYTES), SECRET_DIGITS);
  const digits = random + checkDigits(prefix + random);
  const secret = prefix + digits;
  return { secret, secretHash: keyHash(secret), hint: `${prefix}${digits.slice(0, 4)}...${digits.slice(-4)}` };
}

/** A plain hash is enough for a secret of 256 random bits; a slow one would only slow us down. */
export function keyHash(secret: string): string {
  return hash("sha256", secret, "hex");
}

export function looksLikeKey(text: string): boolean {
  return SHAPE.test(text);
}

/** Whether a text in the form of a key is mistyped or made up, as far as its check digits show. */
export function isMistyped(key: string): boolean {
  const [, secret = "", check] = SHAPE.exec(key) ?? [];
  return check !== undefined && check !== checkDigits(secret);
}

function checkDigits(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return base62(bytes, CHECK_DIGITS);
}

/** An id that cannot be guessed, such as `acct_` and 21 characters of 120 random bits. */
export function mintId(prefix: "acct_" | "key_" | "tx_" | "grp_"): string {
  return prefix + base62(randomBytes(ID_BYTES), ID_DIGITS);
}

export function mintRunId(): string {
  return `run_${base62(randomBytes(RUN_ID_BYTES), RUN_ID_DIGITS)}`;
}

function base62(bytes: Buffer, digits: number): string {
  let rest = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (let place = 0; place < digits; place += 1) {
    text = BASE62[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}
