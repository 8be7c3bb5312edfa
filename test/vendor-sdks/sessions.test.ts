// Compares how vendors' own SDKs start a machine or a browser with how the gateway does.
import { afterAll, beforeAll, it } from "vitest";
import { type Recorder, startRecorder } from "./recorder.ts";
import { type Apart, KEY, same, toldOf } from "./told.ts";
import { startVendors, type VendorRow, type VendorsGateway } from "./vendors-gateway.ts";

let recorder: Recorder;
beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(() => recorder.close());

interface SessionRow extends VendorRow {
  readonly sdk: string;
  readonly ask: (recorder: string) => unknown;
  /** The host that an SDK with the recorder's address would use: its transport is its own. */
  readonly asks?: () => Promise<string>;
  readonly apart?: Apart;
}

/** Every session has a unique label, which some vendors use as a name. */
const LABEL = "tg-0123456789abcdef01234567";
const withLabel = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(/"tg-[0-9a-f]{24}"/g, JSON.stringify(LABEL)));

/** A caller's environment variables in its machine; a browser has none. */
const ENVS = { GREETING: "hello" };

const SESSIONS: readonly SessionRow[] = [
  {
    sdk: "@browserbasehq/sdk",
    vendor: "browserbase",
    async ask() {
      const { default: Browserbase } = await import("@browserbasehq/sdk");
      return new Browserbase({ apiKey: KEY }).sessions.create({
        browserSettings: { logSession: false, recordSession: false },
        keepAlive: true,
        timeout: 21_600,
        userMetadata: { tollgate: LABEL },
        // Its types describe other forms of what it sends.
      } as never);
    },
  },
  {
    sdk: "e2b",
    vendor: "e2b",
    async ask(apiUrl) {
      const { Sandbox } = await import("e2b");
      return Sandbox.create("base", {
        apiKey: KEY,
        apiUrl,
        timeoutMs: 600_000,
        envs: ENVS,
        metadata: { label: LABEL },
      });
    },
    async asks() {
      const { ConnectionConfig } = await import("e2b");
      return new URL(new ConnectionConfig({ apiKey: KEY }).apiUrl).host;
    },
  },
  {
    sdk: "@runloop/api-client",
    vendor: "runloop",
    async ask() {
      const { Runloop } = await import("@runloop/api-client");
      return new Runloop({ bearerToken: KEY, fetch: fetch as never }).devboxes.create({
        name: LABEL,
        environment_variables: ENVS,
        metadata: { label: LABEL },
        launch_parameters: {
          resource_size_request: "MEDIUM",
          after_idle: { idle_time_seconds: 600, on_idle: "shutdown" },
        },
      });
    },
  },
  {
    sdk: "@vercel/sandbox",
    vendor: "vercel-sandbox",
    settings: { VERCEL_TOKEN: KEY, VERCEL_TEAM_ID: "team_1", VERCEL_PROJECT_ID: "prj_1" },
    async ask() {
      const { Sandbox } = await import("@vercel/sandbox");
      return Sandbox.create({
        token: KEY,
        teamId: "team_1",
        projectId: "prj_1",
        name: LABEL,
        timeout: 600_000,
        resources: { vcpus: 2 },
        persistent: false,
        env: ENVS,
      });
    },
    apart: { theirs: ["ports"], why: "its default, said" },
  },
  {
    sdk: "@fly/sprites",
    vendor: "sprites",
    settings: { SPRITES_TOKEN: KEY },
    async ask() {
      const { SpritesClient } = await import("@fly/sprites");
      return new SpritesClient(KEY).createSprite(LABEL, { urlSettings: { auth: "sprite" } } as never);
    },
  },
  {
    sdk: "@daytonaio/api-client",
    vendor: "daytona",
    async ask() {
      const { Configuration, SandboxApi } = await import("@daytonaio/api-client");
      const api = new SandboxApi(new Configuration({ accessToken: KEY, basePath: "https://app.daytona.io/api" }));
      return api.createSandbox({
        name: LABEL,
        snapshot: "daytona-medium",
        env: ENVS,
        labels: { "code-toolbox-language": "python" },
        public: false,
        autoStopInterval: 30,
        autoDeleteInterval: 0,
      });
    },
  },
];

const started = Promise.withResolvers<VendorsGateway>();
beforeAll(() => startVendors(SESSIONS, recorder.url).then(started.resolve, started.reject));
afterAll(async () => (await started.promise).gateway.stop());

it.each(SESSIONS)("$sdk begins a session as we do at $vendor", async (row) => {
  const { vendor, ask, asks, apart } = row;
  const { hostOf, post } = await started.promise;
  const came = await recorder.first(() => ask(recorder.url));
  const theirs = toldOf(asks === undefined ? came : { ...came, host: await asks() });
  const envs = vendor === "browserbase" ? {} : { envs: ENVS };
  const ours = await recorder.first(() => post(`/api/run/${vendor}/create_session`, envs), { toItsEnd: true });
  same(toldOf({ ...ours, host: hostOf(row), body: withLabel(ours.body) }), theirs, apart);
});
