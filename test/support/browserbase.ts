// Browserbase on loopback, by its specification of 2026-07-18: stores its sessions and refuses what the vendor refuses.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { startVendor, type VendorRequest, type VendorServer } from "./vendor-server.ts";

export interface FakeBrowserbase extends VendorServer {
  readonly sessions: Map<string, Record<string, unknown>>;
  /** The fault of the next matching request. */
  fault: { readonly method: string; readonly does: "drop after" | "drop before" | "hang" | number } | null;
  alive(): string[];
}

const CREATE = z.strictObject({
  projectId: z.string().optional(),
  timeout: z.int().min(60).max(21_600).optional(),
  keepAlive: z.boolean().optional(),
  proxies: z
    .union([
      z.boolean(),
      z.array(
        z.strictObject({
          type: z.literal("browserbase"),
          geolocation: z.strictObject({ country: z.string().length(2), city: z.string().optional() }).optional(),
          domainPattern: z.string().optional(),
        }),
      ),
    ])
    .optional(),
  browserSettings: z.strictObject({ recordSession: z.boolean(), logSession: z.boolean() }).partial().optional(),
  userMetadata: z.record(z.string(), z.unknown()).optional(),
});
const UPDATE = z.strictObject({ status: z.literal("REQUEST_RELEASE") });

export async function startBrowserbase(): Promise<FakeBrowserbase> {
  const vendor = await startVendor();
  const sessions: FakeBrowserbase["sessions"] = new Map();

  function answer({ method, url, headers, body }: VendorRequest): { status: number; body: unknown } {
    const refused = (status: number, message: string) => ({
      status,
      body: { statusCode: status, error: "x", message },
    });
    if (headers["x-bb-api-key"] !== "bb-key") return refused(401, "Unauthorized");
    const { pathname, searchParams } = new URL(url, "http://vendor");
    if (pathname === "/v1/sessions" && method === "GET") {
      const status = searchParams.get("status");
      return { status: 200, body: [...sessions.values()].filter((one) => status === null || one.status === status) };
    }
    if (pathname === "/v1/sessions" && method === "POST") {
      const read = CREATE.safeParse(body);
      if (!read.success) return refused(400, read.error.message);
      const id = randomUUID();
      const now = new Date().toISOString();
      const made = {
        ...{ id, createdAt: now, updatedAt: now, startedAt: now, projectId: "p", status: "RUNNING", proxyBytes: 0 },
        ...{ keepAlive: read.data.keepAlive ?? false, region: "us-west-2", userMetadata: read.data.userMetadata ?? {} },
        expiresAt: new Date(Date.now() + (read.data.timeout ?? 300) * 1_000).toISOString(),
      };
      sessions.set(id, made);
      const connect = {
        connectUrl: `wss://connect.invalid/?signingKey=s&id=${id}`,
        seleniumRemoteUrl: "x",
        signingKey: "s",
      };
      return { status: 201, body: { ...made, ...connect } };
    }
    const session = sessions.get(pathname.split("/")[3] ?? "");
    if (session === undefined) return refused(404, "Session not found");
    if (method === "GET") return { status: 200, body: session };
    if (method !== "POST" || !UPDATE.safeParse(body).success) return refused(400, "status must be REQUEST_RELEASE");
    session.status = "COMPLETED";
    return { status: 200, body: session };
  }

  const fake: FakeBrowserbase = {
    ...vendor,
    sessions,
    fault: null,
    alive: () => [...sessions.values()].filter(({ status }) => status === "RUNNING").map(({ id }) => String(id)),
  };
  vendor.answers((response, request) => {
    const does = fake.fault?.method === request.method ? fake.fault.does : null;
    if (does !== null) fake.fault = null;
    if (does === "drop before") return void response.socket?.destroy();
    const { status, body } = typeof does === "number" ? { status: does, body: {} } : answer(request);
    if (does === "drop after") return void response.socket?.destroy();
    if (does === "hang") return;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  return fake;
}
