// Browserbase: cloud browsers, paid by the minute in advance. The caller drives one at its connectUrl; that traffic does not pass through
// us. The wire format follows the vendor's specification of 2026-07-18, which has no call to extend a session: we create each one with the
// maximum duration, and end it when the paid time is over. The price is $0.12 an hour (from notes of 2026-07 on the vendor); proxy traffic
// is $12 per gigabyte, as its pages stated for the most expensive plan in 2026-07 (unsure: no bill has confirmed it). Without a key but
// with a wallet, we use its pay-per-call access, which has another wire format (its x402 guide of 2026-07) and whose sessions end by
// themselves when the paid time is over.
import { action, defineAdapter, keyHeader, like, type PrepaidSpec, type ScriptContext, z } from "#adapter";

const MINUTES_MAX = 360;
const CENTS_A_MINUTE = 0.2;
const PROXY_CENTS_A_GIGABYTE = 1_200;

const session = z.object({
  id: z.string().min(1),
  proxyBytes: z.number().min(0).optional(),
  status: z.enum(["PENDING", "RUNNING", "ERROR", "TIMED_OUT", "COMPLETED"]),
});
const created = session.extend({ connectUrl: z.string().startsWith("ws") });
const found = z.array(session.extend({ userMetadata: z.looseObject({ tollgate: z.string().optional() }).nullish() }));

const estimatedMinutes = z.int().min(1).max(MINUTES_MAX);
const session_id = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[A-Za-z0-9_-]+$/, "is no session's id")
  .describe("The sessionId of browserbase/create_session");
const requires = [{ kind: "session", param: "session_id" }];
const common = { category: "browser", upstreamCents: 0, price: { mode: "fixed", cents: 0 } } as const;

/** The status of a released session; the vendor may still be shutting it down. */
const OVER = { status: "COMPLETED", alive: false } as const;

/** A session listed as running may have ended meanwhile. */
const isAlive = (status: string) => status === "RUNNING" || status === "PENDING";

async function look({ ask }: Pick<ScriptContext, "ask">, id: string) {
  const { json } = await ask({ method: "GET", path: "/v1/sessions/{id}", send: "none" }, { values: { id } });
  return session.parse(json);
}

async function release({ ask }: Pick<ScriptContext, "ask">, id: string) {
  const now = await look({ ask }, id);
  if (!isAlive(now.status)) return now;
  const request = { method: "POST", path: "/v1/sessions/{id}", fixed: { status: "REQUEST_RELEASE" } } as const;
  return session.parse((await ask(request, { values: { id } })).json);
}

const prepaid: PrepaidSpec = {
  kind: "session",
  minutesMax: MINUTES_MAX,
  close: release,
  async closeLabelled({ ask }, label) {
    const { json } = await ask({ method: "GET", path: "/v1/sessions" }, { values: { status: "RUNNING" } });
    for (const { id, userMetadata } of found.parse(json))
      if (userMetadata?.tollgate === label) await release({ ask }, id);
  },
  async takenCents({ ask }, id) {
    return (((await look({ ask }, id)).proxyBytes ?? 0) / 1e9) * PROXY_CENTS_A_GIGABYTE;
  },
};

const centsFor = (params: { readonly estimatedMinutes: number }) => params.estimatedMinutes * CENTS_A_MINUTE;
const price = {
  mode: "ranged",
  cents: MINUTES_MAX * CENTS_A_MINUTE,
  minCents: CENTS_A_MINUTE,
  unit: "minute",
} as const;

const beginning = { ...price, otherPrice: { estimatedMinutes: 60 } };
const id = "3a7c9e51-0b2d-4f68-9a1c-5e7d3b9f2c40";
const example = {
  id,
  createdAt: "2026-11-20T10:11:12Z",
  updatedAt: "2026-11-20T10:11:12Z",
  startedAt: "2026-11-20T10:11:12Z",
  expiresAt: "2026-11-20T16:11:12Z",
  projectId: "c2f1e0d9-8b7a-4655-9443-322110ffeedd",
  status: "RUNNING",
  proxyBytes: 0,
  keepAlive: true,
  region: "us-west-2",
};

const longer = { ...price, otherPrice: { session_id: id, estimatedMinutes: 60 } };

const create = {
  category: "browser",
  description:
    "Starts a browser in the cloud for so many minutes, paid at once, and returns the connectUrl at which Playwright, Puppeteer or Selenium drive it.",
  keywords:
    "headless chrome; remote browser; playwright; puppeteer; cdp websocket; browser session; log in to a website; fill a form; click a button; automate a browser; use a website like a person",
  effect: "write",
  content: ["/connectUrl"],
  issues: [{ kind: "session", at: "/sessionId", days: 2 }],
} as const;
const extend = {
  category: "browser",
  keywords: "more browser time; prolong a browser session",
  // With a key, this only asks the vendor whether the session still runs; the paid time grows in our own record, exactly once.
  effect: "write",
  params: z.strictObject({
    session_id,
    estimatedMinutes: estimatedMinutes.default(1).describe("How many minutes more"),
  }),
  requires,
} as const;
const tell = {
  ...common,
  description: "Says whether a browser of yours still runs, and how many of its paid minutes are left. Free.",
  keywords: "is the browser alive; minutes left",
  effect: "read",
  params: z.strictObject({ session_id }),
  requires,
} as const;
const end = {
  ...common,
  description: "Ends a browser of yours before its time. Free; minutes that are left are not given back.",
  keywords: "close the browser; end a browser session",
  effect: "write",
  params: z.strictObject({ session_id }),
  requires,
} as const;
const paidMinutes = estimatedMinutes.default(1).describe("How many minutes are paid; it ends when they are over");

/** Pay-per-call access: a session in its answers. The answer to an extension is undocumented. */
const atDoor = z.object({
  status: z.string().optional(),
  expiresAt: z.string().optional(),
  usage: z.object({ minutesRemaining: z.number() }).optional(),
});
const boughtAtDoor = atDoor.extend({
  sessionId: z.string().min(1),
  connectUrl: z.string().startsWith("ws"),
  paidMinutes: z.number().optional(),
});
const oneAtDoor = "/browser/session/{session_id}";
const doorExample = { sessionId: id, expiresAt: example.expiresAt };
const door = {
  create_session: action(create, {
    price: { ...beginning, quoteCents: (params) => centsFor(params) },
    upstreamCents: (params) => centsFor(params),
    params: z.strictObject({
      estimatedMinutes: paidMinutes,
      keepAlive: z
        .literal(true)
        .default(true)
        .describe("It goes on for as long as is paid, also when its client disconnects"),
    }),
    async run({ ask, params }) {
      const { json } = await ask(
        { method: "POST", path: "/browser/session/create", names: { keepAlive: null } },
        { values: params },
      );
      return boughtAtDoor.parse(json);
    },
    example: {
      params: { estimatedMinutes: 5 },
      answer: { ...doorExample, connectUrl: `wss://connect.browserbase.com/?sessionId=${id}`, paidMinutes: 5 },
    },
  }),
  extend_session: action(extend, {
    price: { ...longer, quoteCents: (params) => centsFor(params) },
    upstreamCents: (params) => centsFor(params),
    description: "Pays more minutes for a browser of yours that still runs.",
    async run({ ask, params: { session_id: sessionId, estimatedMinutes: additionalMinutes } }) {
      const values = { session_id: sessionId, additionalMinutes };
      const { json } = await ask({ method: "POST", path: `${oneAtDoor}/extend` }, { values });
      // It has been paid, whatever the answer says.
      return { sessionId, expiresAt: atDoor.catch({}).parse(json).expiresAt };
    },
    example: { params: { session_id: id, estimatedMinutes: 15 }, answer: doorExample },
  }),
  session_status: action(tell, {
    async run({ ask, params }) {
      const request = { method: "GET", path: `${oneAtDoor}/status`, send: "none" } as const;
      const { status: code, json } = await ask(request, { values: params, accepts: [404] });
      // Ownership is checked before, so a missing session has ended.
      if (code === 404) return { sessionId: params.session_id, ...OVER, paidMinutes: 0 };
      const { status = "unknown", usage, expiresAt } = atDoor.parse(json);
      const left = { paidMinutes: usage?.minutesRemaining, expiresAt };
      return { sessionId: params.session_id, status, alive: status === "active", ...left };
    },
    example: {
      params: { session_id: id },
      answer: { ...doorExample, status: "active", usage: { minutesPaid: 5, minutesUsed: 1, minutesRemaining: 4 } },
    },
  }),
  release_session: action(end, {
    async run({ ask, params }) {
      await ask({ method: "DELETE", path: oneAtDoor, send: "none" }, { values: params, accepts: [204, 404] });
      return { sessionId: params.session_id, released: true };
    },
    example: { params: { session_id: id }, answer: doorExample },
  }),
};

export default defineAdapter({
  name: "Browserbase",
  docs: "https://docs.browserbase.com/reference/api/create-a-session",
  beliefs: { create_session: "what a gigabyte through its proxies costs us, which its pages said and no bill" },
  origin: "https://api.browserbase.com",
  auth: keyHeader("x-bb-api-key"),
  keylessDoor: { mpp: "https://mpp.browserbase.com", x402: "https://x402.browserbase.com", actions: door },
  prepaid,
  actions: {
    create_session: action(create, {
      price: { ...beginning, quoteCents: (params) => centsFor(params) },
      upstreamCents: (params) => centsFor(params),
      asked:
        "a browser in the cloud; remote chrome; headless browser for playwright, puppeteer, selenium; automate clicks on a site; log in to a page and fill a form; drive a browser; browser automation",
      params: z.strictObject({
        estimatedMinutes: paidMinutes,
        keepAlive: z
          .boolean()
          .default(true)
          .describe("It goes on when its client disconnects, for as long as is paid; false ends it then"),
        proxies: z
          .strictObject({ country: like(/^[A-Z]{2}$/, "must be two capital letters") })
          .optional()
          .describe("Its pages see an address of this country"),
      }),
      mayCostMore:
        "The vendor counts a proxy's traffic by the gigabyte; it is our cost, which ends the session where its account's is at its bound.",
      prepaid: { does: "begins", minutes: "estimatedMinutes", takesMoreWith: "proxies" },
      async run({ ask, params, label, key, end }) {
        const { json } = await ask(
          {
            method: "POST",
            path: "/v1/sessions",
            // Only the owner of a shared account can see its recordings, and they are not the owner's business.
            fixed: { timeout: MINUTES_MAX * 60, browserSettings: { recordSession: false, logSession: false } },
          },
          {
            values: {
              keepAlive: params.keepAlive,
              userMetadata: { tollgate: label },
              ...(params.proxies === undefined
                ? null
                : { proxies: [{ type: "browserbase", geolocation: { country: params.proxies.country } }] }),
            },
          },
        );
        const { id: sessionId, status, connectUrl } = created.parse(json);
        if (!isAlive(status)) end("provider_server_error", { message: `the session is ${status}` });
        // The URL contains a key of the session; if it contained the account's key, anyone who gets the URL would have it.
        if (connectUrl.includes(key)) end("provider_malformed", { message: "its address bears our key" });
        return { sessionId, connectUrl };
      },
      rules: [{ status: 429, means: "provider_busy" }],
      example: {
        params: { estimatedMinutes: 5 },
        answer: {
          ...example,
          connectUrl: `wss://connect.browserbase.com/?signingKey=eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMjU2R0NNIn0&sessionId=${id}`,
          seleniumRemoteUrl: "https://connect.browserbase.com/webdriver",
          signingKey: "eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMjU2R0NNIn0",
        },
      },
    }),
    extend_session: action(extend, {
      price: { ...longer, quoteCents: (params) => centsFor(params) },
      upstreamCents: (params) => centsFor(params),
      asked: "keep my browser open longer; more minutes for the browser; the browser session is about to run out",
      description: "Pays more minutes for a browser of yours that still runs, up to six hours in all.",
      prepaid: { does: "extends", id: "session_id", minutes: "estimatedMinutes" },
      async run({ ask, params, end }) {
        const { id: sessionId, status } = await look({ ask }, params.session_id);
        if (!isAlive(status)) end("caller_invalid", { message: `the session has ended: ${status}` });
        return { sessionId };
      },
      example: { params: { session_id: id, estimatedMinutes: 15 }, answer: example },
    }),
    session_status: action(tell, {
      asked: "is my browser still running; how many minutes does my browser have left",
      prepaid: { does: "tells", id: "session_id", over: OVER },
      async run({ ask, params }) {
        const { id: sessionId, status } = await look({ ask }, params.session_id);
        return { sessionId, status, alive: isAlive(status) };
      },
      example: { params: { session_id: id }, answer: example },
    }),
    release_session: action(end, {
      asked: "close the remote browser; stop the chrome session; I am done with the browser",
      prepaid: { does: "ends", id: "session_id" },
      async run(context) {
        const { id: sessionId, status } = await release(context, context.params.session_id);
        return { sessionId, status, released: true };
      },
      example: { params: { session_id: id }, answers: [example, { ...example, status: "COMPLETED" }] },
    }),
  },
});
