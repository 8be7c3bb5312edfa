// Compares the model requests of the clouds' SDKs with the gateway's, and how each side authenticates: with a signature, or with a fetched
// token.
import { createHash, createHmac, generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Recorder, startRecorder } from "./recorder.ts";
import { type Apart, KEY, same, toldOf } from "./told.ts";
import { startVendors, type VendorRow, type VendorsGateway } from "./vendors-gateway.ts";

const REGION = "us-east-1";
const SECRET = "a-secret-of-ours";
const AWS = { BEDROCK_REGION: REGION, AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: SECRET };

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ACCOUNT = {
  type: "service_account",
  client_email: "ours@project-1.example",
  private_key_id: "k1",
  private_key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
};
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GOOGLE = {
  VERTEX_PROJECT: "project-1",
  VERTEX_CREDENTIALS: JSON.stringify({ ...ACCOUNT, token_uri: "{recorder}/token" }),
};
const TOKEN_PATH = /\/token$/;

/** Both name the version of the vendor's API that they were written for. */
const version = {
  ours: ["anthropic_version"],
  theirs: ["anthropic_version"],
  why: "the SDK's is of its first major, 2026-10-21; the cloud's own pages have the one that we send, and what a version takes and gives stays",
};

const messages = [{ role: "user" as const, content: "hello" }];
const blocks = [{ role: "user" as const, content: [{ type: "text" as const, text: "hello" }] }];

interface CloudRow extends VendorRow {
  readonly sdk: string;
  readonly model: string;
  readonly ask: () => Promise<unknown>;
  readonly apart?: Apart;
}

/** AWS's client uses HTTP/2 by default; its prepared and signed requests go over fetch instead. */
const byFetch = {
  async handle(request: {
    method: string;
    hostname: string;
    path: string;
    headers: Record<string, string>;
    body: string;
  }) {
    const { method, hostname, path, headers, body } = request;
    await fetch(`https://${hostname}${path}`, { method, headers, body });
    throw new Error("its answer is none of Converse's");
  },
};

const CLOUDS: readonly CloudRow[] = [
  {
    sdk: "@aws-sdk/client-bedrock-runtime",
    vendor: "bedrock",
    settings: AWS,
    model: "amazon/nova-pro-v1",
    async ask() {
      const { BedrockRuntimeClient, ConverseCommand } = await import("@aws-sdk/client-bedrock-runtime");
      const credentials = { accessKeyId: KEY, secretAccessKey: SECRET };
      const client = new BedrockRuntimeClient({
        region: REGION,
        credentials,
        maxAttempts: 1,
        requestHandler: byFetch as never,
      });
      const order = { modelId: "amazon.nova-pro-v1:0", inferenceConfig: { maxTokens: 50 } };
      return client.send(new ConverseCommand({ ...order, messages: [{ role: "user", content: [{ text: "hello" }] }] }));
    },
  },
  {
    sdk: "@anthropic-ai/bedrock-sdk",
    vendor: "bedrock-anthropic",
    settings: AWS,
    model: "anthropic/claude-opus-5",
    async ask() {
      const { AnthropicBedrock } = await import("@anthropic-ai/bedrock-sdk");
      const client = new AnthropicBedrock({ awsAccessKey: KEY, awsSecretKey: SECRET, awsRegion: REGION });
      return client.messages.create({ model: "global.anthropic.claude-opus-5", max_tokens: 50, messages: blocks });
    },
    apart: version,
  },
  {
    sdk: "@google/genai, for Vertex",
    vendor: "vertex",
    settings: GOOGLE,
    model: "google/gemini-3.5-flash",
    async ask() {
      const { GoogleGenAI } = await import("@google/genai");
      const client = new GoogleGenAI({
        vertexai: true,
        project: "project-1",
        location: "global",
        googleAuthOptions: { credentials: ACCOUNT },
      });
      return client.models.generateContent({
        model: "gemini-3.5-flash",
        contents: [{ role: "user", parts: [{ text: "hello" }] }],
        config: { maxOutputTokens: 50 },
      });
    },
    apart: {
      at: ["v1", "v1beta1"].map(
        (one) =>
          `aiplatform.googleapis.com/${one}/projects/project-1/locations/global/publishers/google/models/gemini-3.5-flash:generateContent`,
      ) as [string, string],
      why: "both versions are served; the cloud's reference has the one that we ask",
    },
  },
  {
    sdk: "@anthropic-ai/vertex-sdk",
    vendor: "vertex-anthropic",
    settings: GOOGLE,
    model: "anthropic/claude-opus-5",
    async ask() {
      const [{ AnthropicVertex }, { GoogleAuth }] = await Promise.all([
        import("@anthropic-ai/vertex-sdk"),
        import("google-auth-library"),
      ]);
      const googleAuth = new GoogleAuth({ credentials: ACCOUNT, scopes: SCOPE });
      const client = new AnthropicVertex({ region: "global", projectId: "project-1", googleAuth });
      return client.messages.create({ model: "claude-opus-5", max_tokens: 50, messages: blocks });
    },
    apart: version,
  },
];

let recorder: Recorder;
const started = Promise.withResolvers<VendorsGateway>();
beforeAll(async () => {
  recorder = await startRecorder();
  await startVendors(CLOUDS, recorder.url).then(started.resolve, started.reject);
});
afterAll(async () => {
  await (await started.promise).gateway.stop();
  await recorder.close();
});

async function ours({ vendor, model }: CloudRow, ofItsOwn?: RegExp) {
  const { post } = await started.promise;
  const order = { model, messages, max_tokens: 50, provider: { only: [vendor] } };
  return recorder.first(() => post("/api/llm/v1/chat/completions", order), { toItsEnd: true, ofItsOwn });
}

it("asks for a token as google-auth-library does", async () => {
  const row = CLOUDS.find(({ vendor }) => vendor === "vertex-anthropic") as CloudRow;
  const claimsOf = (body: unknown) => {
    const form = new URLSearchParams(String(body));
    const [head, claims] = String(form.get("assertion"))
      .split(".")
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>);
    const { iat, exp, aud, ...rest } = claims ?? {};
    return { grant: form.get("grant_type"), head, rest, lifeS: Number(exp) - Number(iat), aud };
  };
  const theirs = claimsOf((await recorder.first(row.ask, { toItsEnd: true })).body);
  const mine = claimsOf((await ours(row)).body);
  // Ours is the one that the key file names.
  expect([mine.aud, theirs.aud]).toEqual([`${recorder.url}/token`, "https://oauth2.googleapis.com/token"]);
  // Google's documentation puts the key's name in the header; the library omits it.
  const named = { ...theirs.head, typ: "JWT", kid: ACCOUNT.private_key_id };
  expect({ ...mine, aud: null }).toEqual({ ...theirs, head: named, aud: null });
});

it.each(CLOUDS)("$sdk sends what we send: $model at $vendor", async (row) => {
  const { hostOf } = await started.promise;
  const theirs = toldOf(await recorder.first(row.ask, { ofItsOwn: TOKEN_PATH, toItsEnd: true }));
  const mine = await ours(row, TOKEN_PATH);
  same(toldOf({ ...mine, host: hostOf(row) }), theirs, row.apart);
});

/** The hash function for AWS's signer. */
class Sha256 {
  readonly #hash;
  constructor(secret?: Uint8Array | string) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", secret);
  }
  update(data: Uint8Array | string) {
    this.#hash.update(data);
  }
  async digest() {
    return new Uint8Array(this.#hash.digest());
  }
}

it("signs a request as AWS's own signer signs it", async () => {
  const { SignatureV4 } = await import("@smithy/signature-v4");
  const row = CLOUDS.find(({ vendor }) => vendor === "bedrock") as CloudRow;
  const { method, path, headers, body } = await ours(row);
  const credentials = { accessKeyId: KEY, secretAccessKey: SECRET };
  const signer = new SignatureV4({
    credentials,
    region: REGION,
    service: "bedrock",
    sha256: Sha256 as never,
    applyChecksum: false,
  });
  const date = String(headers["x-amz-date"]).replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5");
  const host = String(headers.host);
  const sent = {
    method,
    protocol: "http:",
    hostname: host,
    path,
    query: {},
    headers: { host },
    body: JSON.stringify(body),
  };
  const signed = await signer.sign(sent, { signingDate: new Date(date) });
  expect(headers.authorization).toBe(signed.headers.authorization);
});
