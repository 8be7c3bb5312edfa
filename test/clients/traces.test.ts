// Traces as parsed by OpenTelemetry's collector, with its own Go package. Skipped by name if Go or the package is unavailable.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callChat } from "../support/chat-call.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { freePort } from "../support/free-port.ts";
import { eventually, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { readTraces, type Span } from "../support/otel-collector.ts";
import { removeFolder } from "../support/remove-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-traces-"));
const PROGRAM = join(folder, "traces");
/** The first build takes seconds if the other Go clients were built before, because they share Go's standard library. */
const BUILD_MS_MAX = 170_000;
const built = spawnSync("go", ["build", "-gcflags=all=-N -l", "-o", PROGRAM, "."], {
  cwd: join(import.meta.dirname, "go-traces"),
  stdio: "ignore",
  timeout: BUILD_MS_MAX,
});

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

describe.skipIf(built.status !== 0)("OpenTelemetry's collector", () => {
  const spans: Span[] = [];
  let resource: Record<string, unknown> = {};
  let gateway: TestGateway;
  let collector: ChildProcess;

  beforeAll(async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(PROGRAM, [address], { stdio: ["ignore", "pipe", "inherit"] });
    endWithTests(child);
    collector = child;
    const lines = createInterface({ input: child.stdout });
    await once(lines, "line");
    lines.on("line", (line) => {
      const read = readTraces(line);
      resource = read.resource;
      spans.push(...read.spans);
    });
    gateway = await startTestGateway({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${address}`,
      OTEL_SERVICE_NAME: "gate-1",
      OTEL_BSP_SCHEDULE_DELAY: "1",
      OTEL_CAPTURE_CONTENT: "1",
    });
  });

  afterAll(async () => {
    await gateway.stop();
    collector.kill("SIGTERM");
    if (collector.exitCode === null) await once(collector, "exit");
    removeFolder(folder);
  });

  const spanOf = (is: (span: Span) => boolean, what: string) => eventually(() => spans.find(is), what);

  it("reads a call, its attempts below it, its first token and its content, under the caller's span", async () => {
    const { key } = await gateway.account();
    const messages = [{ role: "user", content: "[[say: größer als 3 \\u2264 4]]" }];
    const { requestId } = await callChat(
      { models: ["sandbox/503", "sandbox/ok"], messages, stream: true },
      { url: gateway.url, key, headers: { traceparent: `00-${TRACE}-${PARENT}-01` } },
    );
    const isIts = ({ attributes, kind }: Span) => attributes["tollgate.request_id"] === requestId && kind === SERVER;
    const span = await spanOf(isIts, "the call's span");
    const { charged_nano_usd: charged } = await gateway.record(requestId);
    expect(resource).toMatchObject({ "service.name": "gate-1" });
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, events: [{ name: "first token" }] });
    expect(span.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.response.model": "sandbox/ok",
      "tollgate.charged_nano_usd": charged,
      "gen_ai.response.finish_reasons": ["stop"],
    });
    const said = JSON.parse(String(span.attributes["gen_ai.output.messages"]));
    expect(said).toMatchObject([{ role: "assistant", parts: [{ type: "text", content: "größer als 3 \\u2264 4" }] }]);
    const isBelow = (one: Span) => one.parentSpanId === span.spanId && one.kind === CLIENT;
    const last = await spanOf((one) => isBelow(one) && one.name === "sandbox sandbox/ok", "the attempt that served");
    expect(last.traceId).toBe(TRACE);
    const failed = spans.find((one) => isBelow(one) && one.name === "sandbox sandbox/503");
    expect(failed?.status).toMatchObject({ code: 2, message: "provider_overloaded" });
  });

  it("reads a job with a link to the call that launched it", async () => {
    const { key } = await gateway.account();
    const response = await fetch(`${gateway.url}/api/run/core/onescrape-deep`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ urls: ["https://example.com/"] }),
    });
    const requestId = response.headers.get("x-request-id");
    const launch = await spanOf(({ attributes }) => attributes["tollgate.request_id"] === requestId, "the launch");
    const job = await spanOf(({ name }) => name === "job core/onescrape-deep", "the job's span");
    expect(job).toMatchObject({ kind: INTERNAL, links: [{ traceId: launch.traceId, spanId: launch.spanId }] });
  });
});
