// The process that calls a vendor without HTTP: when it starts and ends, and the effects of its crashes and its floods.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Sidecar, type SidecarOptions } from "../../src/upstream/sidecar/sidecar.ts";
import { failureOfKind, VendorFailure } from "../../src/upstream/vendor-failure.ts";
import { folderForFile } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { isRunning } from "../support/is-running.ts";
import { manualClock } from "../support/manual-clock.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("a vendor's sidecar");

const file = new URL("../fixtures/sidecars/odd.helper.ts", import.meta.url).href;
const folder = folderForFile("tollgate-sidecar-");

function open(options: Partial<SidecarOptions> = {}): Sidecar {
  const sidecar = new Sidecar({ file, key: "key-of-ours", clock: systemClock, ...options });
  onTestFinished(() => sidecar.close());
  return sidecar;
}
const ask = (sidecar: Sidecar, path = "/echo", body = "null") => sidecar.ask(path, body).answer;
const failureOf = (answer: Promise<unknown>) =>
  answer.then(
    () => null,
    (error: unknown) => (error instanceof VendorFailure ? error.failure : error),
  );

describe("a sidecar", () => {
  it("is started by the first request, has the key and no variable of ours, and answers many at once", async () => {
    const sidecar = open();
    expect(sidecar.pid).toBeUndefined();
    const answers = await Promise.all([1, 2, 3].map((body) => ask(sidecar, "/echo", String(body))));
    expect(answers.map(({ json }) => json)).toEqual(
      [1, 2, 3].map((body) => ({ key: "key-of-ours", variables: 0, body })),
    );
    expect((await ask(sidecar, "/print")).json).toMatchObject({ body: null });
  });

  it("fails a request that goes wrong, and no other", async () => {
    const sidecar = open();
    const [wrong, good] = await Promise.all([ask(sidecar, "/throw"), ask(sidecar)]);
    expect([wrong.status, wrong.json, good.status]).toEqual([502, { error: "nothing came of it" }, 200]);
  });

  it("that cannot be opened fails each request and lives", async () => {
    const [missing, bad] = [open({ file: "file:///nowhere/x.helper.ts" }), open({ key: "bad" })];
    expect((await ask(missing)).status).toBe(502);
    expect((await ask(bad)).json).toEqual({ error: "this key opens nothing" });
    expect((await ask(bad)).status).toBe(502);
  });

  it("that dies fails what it had, is left alone for a moment, and is started again", async () => {
    const sidecar = open();
    await ask(sidecar);
    const { pid } = sidecar;
    const died = await failureOf(ask(sidecar, "/die"));
    expect(died).toMatchObject({ kind: "provider_connection_failed", mayHaveRun: true });
    expect(await failureOf(ask(sidecar))).toMatchObject({ kind: "provider_connection_failed", mayHaveRun: false });
    expect((await eventually(() => ask(sidecar).catch(() => undefined), "the next process")).status).toBe(200);
    expect(sidecar.pid).not.toBe(pid);
  });

  it("that floods us is ended", async () => {
    const sidecar = open();
    expect(await failureOf(ask(sidecar, "/huge"))).toMatchObject({ kind: "provider_connection_failed" });
  });

  it.each(["no JSON", "null", "[]", '{"id":"1","status":200}', '{"id":1}'])("that says %j is ended", async (line) => {
    const sidecar = open();
    expect(await failureOf(ask(sidecar, "/garble", JSON.stringify(line)))).toMatchObject({
      kind: "provider_connection_failed",
    });
  });

  it("that says more after what makes no sense waits longer each time", async () => {
    const clock = manualClock(0);
    const sidecar = open({ clock });
    for (const waitMs of [500, 1_000]) {
      await failureOf(ask(sidecar, "/garble", JSON.stringify('no JSON\n{"id":1,"status":200}')));
      clock.advance(waitMs - 1);
      expect(await failureOf(ask(sidecar))).toMatchObject({ mayHaveRun: false });
      clock.advance(1);
    }
    expect((await ask(sidecar)).status).toBe(200);
  });

  it("that reads no more is asked no more: what nobody waits for any more fills no memory", async () => {
    const sidecar = open();
    await ask(sidecar);
    onTestFinished(() => void (sidecar.pid === undefined || process.kill(sidecar.pid, "SIGKILL")));
    const late = new VendorFailure(failureOfKind("provider_timeout", "late"));
    const blocked = sidecar.ask("/block", "null");
    const failures = [failureOf(blocked.answer)];
    const body = JSON.stringify("x".repeat(1_000_000));
    let asked = 0;
    for (let kind = ""; kind !== "provider_busy" && asked < 200; asked++) {
      const { answer, cancel } = sidecar.ask("/echo", body);
      cancel(late);
      kind = ((await failureOf(answer)) as { kind: string }).kind;
    }
    expect(asked).toBeLessThan(25);
    blocked.cancel(late);
    expect(await Promise.all(failures)).toEqual([late.failure]);
  });

  it("takes no more than so many requests at once", async () => {
    const sidecar = open();
    const late = new VendorFailure(failureOfKind("provider_timeout", "late"));
    const waiting = Array.from({ length: 128 }, (_, at) =>
      sidecar.ask("/wait", JSON.stringify(join(folder, `w${at}`))),
    );
    const failures = waiting.map(({ answer }) => failureOf(answer));
    expect(await failureOf(ask(sidecar))).toMatchObject({ kind: "provider_busy", mayHaveRun: false });
    for (const { cancel } of waiting) cancel(late);
    expect((await Promise.all(failures)).every((failure) => failure === late.failure)).toBe(true);
    expect((await ask(sidecar)).status).toBe(200);
    await eventually(() => (readFileSync(join(folder, "w127"), "utf8") === "ended" ? true : undefined), "its end");
  });

  it("leaves room for others, however many requests one has under way", async () => {
    const sidecar = open();
    const late = new VendorFailure(failureOfKind("provider_timeout", "late"));
    const eve = sidecar.of("acct:eve");
    const waiting = Array.from({ length: 32 }, (_, at) => eve.ask("/wait", JSON.stringify(join(folder, `e${at}`))));
    const failures = waiting.map(({ answer }) => failureOf(answer));
    expect(await failureOf(eve.ask("/echo", "null").answer)).toMatchObject({
      kind: "provider_busy",
      mayHaveRun: false,
    });
    expect((await sidecar.of("acct:ada").ask("/echo", "null").answer).status).toBe(200);
    for (const { cancel } of waiting) cancel(late);
    await Promise.all(failures);
    expect((await eve.ask("/echo", "null").answer).status).toBe(200);
  });

  it("is ended when nobody has asked for a while, and started again by who does", async () => {
    const sidecar = open({ idleMs: 1 });
    await ask(sidecar);
    await eventually(() => (sidecar.pid === undefined ? true : undefined), "its end");
    expect((await ask(sidecar)).status).toBe(200);
  });

  it("ends with its parent, however that ends", async () => {
    const program = `
      const { Sidecar } = await import(${JSON.stringify(new URL("../../src/upstream/sidecar/sidecar.ts", import.meta.url).href)});
      const clock = { elapsedMs: () => performance.now(), epochMs: () => Date.now() };
      const sidecar = new Sidecar({ file: ${JSON.stringify(file)}, key: "k", clock });
      await sidecar.ask("/echo", "null").answer;
      console.log(sidecar.pid);
      setInterval(() => {}, 1_000);`;
    const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program];
    const parent = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "inherit"],
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
    });
    const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (text) => resolve(Number(text))));
    expect(isRunning(pid)).toBe(true);
    parent.kill("SIGKILL");
    await eventually(() => (isRunning(pid) ? undefined : true), "the end of the sidecar");
  });
});
