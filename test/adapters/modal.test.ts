// Machines for one task: their price, what callers can do with them, and the process that talks to their vendor.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Sidecar } from "../../src/upstream/sidecar/sidecar.ts";
import { failureOfKind, VendorFailure } from "../../src/upstream/vendor-failure.ts";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import type { TestAccount } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const SANDBOX = "sb-1234567890";

describe("a machine that nobody waits for any more", () => {
  const order = JSON.stringify({ image: "slow/image", timeout: 300 });
  const late = new VendorFailure(failureOfKind("provider_timeout", "late"));

  it.each(["cancelled", "closed"] as const)("is ended once it is made: its call was %s", async (how) => {
    const folder = overlay();
    const file = pathToFileURL(join(folder, "adapters/modal.helper.ts")).href;
    const sidecar = new Sidecar({ file, key: "ak-ours\nas-ours", clock: systemClock });
    // Its process runs from here on: closing gives it a few seconds only.
    await sidecar.ask("/sandbox/none", "{}").answer;
    const { answer, cancel } = sidecar.ask("/sandbox/create", order);
    const failed = answer.catch((error: unknown) => error);
    if (how === "cancelled") {
      cancel(late);
      expect(await failed).toBe(late);
    }
    await sidecar.close();
    expect(sidecar.pid).toBeUndefined();
    const made = JSON.parse(readFileSync(join(folder, "node_modules/modal/state.json"), "utf8")) as object;
    expect(Object.values(made)).toMatchObject([{ returncode: 137 }]);
    removeFolder(folder);
  });
});

/** An overlay with the shipped adapter, its helper and its stand-in, and a fake of the vendor's package. */
function overlay(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-modal-"));
  mkdirSync(join(folder, "adapters"));
  const files = ["modal.ts", "modal.helper.ts", "modal.sandbox.ts"];
  for (const file of files) cpSync(join("adapters", file), join(folder, "adapters", file));
  cpSync("test/fixtures/modal-package", join(folder, "node_modules/modal"), { recursive: true });
  return folder;
}

describe("through a gateway", () => {
  const folder = overlay();
  let gateway: AcmeGateway;
  let [ada, eve]: TestAccount[] = [];
  beforeAll(async () => {
    const keys = { MODAL_TOKEN_ID: "ak-ours", MODAL_TOKEN_SECRET: "as-ours" };
    gateway = await startAcmeGateway({ ...keys, OVERLAY_DIR: folder });
    [ada, eve] = [await gateway.live({ creditCents: 10_000 }), await gateway.live()];
  });
  afterAll(async () => {
    await gateway.stop();
    removeFolder(folder);
  });

  async function run(account: TestAccount | undefined, name: string, params: object = {}) {
    if (account === undefined) throw new Error("no account");
    const { status, json } = await gateway.run(account, `modal/${name}`, params);
    return { status, error: json.error, data: json.data as Record<string, unknown>, cents: json.charged_cents };
  }
  const machines = () => {
    const file = join(folder, "node_modules/modal/state.json");
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, Record<string, unknown>>) : {};
  };
  let sandbox_id = "";

  it("is made, runs commands, is looked at and ended; then it runs none, for nothing", async () => {
    const made = await run(ada, "create", { gpu: "A100", timeout: 60, command: ["sleep", "9"] });
    expect(made).toMatchObject({ status: 200, data: { sandbox_id: expect.stringMatching(/^sb-/) } });
    sandbox_id = String(made.data.sandbox_id);
    expect(machines()[sandbox_id]).toMatchObject({
      gpu: "A100-40GB",
      command: ["sleep", "9"],
      tag: "python:3.13-slim",
    });
    const command = "echo out; echo err >&2; exit 3";
    const ran = await run(ada, "exec", { sandbox_id, command });
    expect(ran.data).toEqual({ stdout: "out\n", stderr: "err\n", returncode: 3 });
    expect((await run(ada, "exec", { sandbox_id, command: ["printf", "%s", "a b"] })).data.stdout).toBe("a b");
    expect((await run(ada, "status", { sandbox_id })).data).toEqual({ sandbox_id, status: "running" });
    expect((await run(ada, "terminate", { sandbox_id })).data).toEqual({ sandbox_id, status: "terminated" });
    expect((await run(ada, "status", { sandbox_id })).data).toMatchObject({ status: "failed", returncode: 137 });
    expect(await run(ada, "exec", { sandbox_id, command })).toMatchObject({
      status: 409,
      error: "upstream_rejected",
      cents: 0,
    });
  });

  it("is nobody else's", async () => {
    for (const name of ["exec", "status", "terminate"]) {
      const params = name === "exec" ? { sandbox_id, command: "id" } : { sandbox_id };
      expect(await run(eve, name, params)).toMatchObject({ status: 404, cents: 0 });
    }
  });

  it("a command that never ends is ended, and one that prints without end is cut; both are charged", async () => {
    sandbox_id = String((await run(ada, "create")).data.sandbox_id);
    const [endless, long, odd] = await Promise.all([
      run(ada, "exec", { sandbox_id, command: "echo begun; exec sleep 60", timeout: 1 }),
      run(ada, "exec", { sandbox_id, command: "head -c 1000000000 /dev/zero | tr '\\0' x", timeout: 2 }),
      run(ada, "exec", { sandbox_id, command: "printf '\\377\\376ok'" }),
    ]);
    expect(endless).toMatchObject({
      status: 200,
      cents: 1,
      data: { stdout: "begun\n", returncode: 124, timed_out: true },
    });
    expect(long).toMatchObject({ status: 200, cents: 1, data: { truncated: true } });
    expect(String(long.data.stdout)).toHaveLength(262_144);
    expect(odd.data.stdout).toBe("\ufffd\ufffdok");
  });

  it("a process that dies fails what it was asked, for nothing, and is there again", async () => {
    const before = ada === undefined ? 0 : await gateway.balanceCents(ada);
    const dying = await run(ada, "exec", { sandbox_id, command: ["crash"] });
    expect(dying).toMatchObject({ status: 500, error: "upstream_error", cents: 0 });
    expect(ada === undefined ? 0 : await gateway.balanceCents(ada)).toBe(before);
    await expect
      .poll(async () => (await run(ada, "status", { sandbox_id })).status, { interval: 200, timeout: 30_000 })
      .toBe(200);
  });

  it("what the vendor refuses is told, free", async () => {
    const refused = await run(ada, "create", { image: "nobody/has-this" });
    expect(refused).toMatchObject({ status: 400, error: "upstream_rejected", cents: 0 });
  });

  it("is played by the sandbox", async () => {
    const play = await gateway.account();
    const made = await run(play, "create");
    const params = { sandbox_id: made.data.sandbox_id, command: "echo hello" };
    expect((await run(play, "exec", params)).data).toMatchObject({ returncode: 0 });
    const own = { sandbox_id: made.data.sandbox_id };
    expect((await run(play, "status", own)).data).toMatchObject({ status: "running" });
    expect((await run(play, "terminate", own)).status).toBe(200);
    expect((await run(play, "status", own)).data).toMatchObject({ status: "failed" });
    expect(await run(play, "exec", params)).toMatchObject({ status: 409, cents: 0 });
    expect((await run(play, "status", { sandbox_id: SANDBOX })).status).toBe(404);
  });

  it("leaves the books in order, and no command and no key in the log", async () => {
    expect(await gateway.doctor()).toEqual([]);
    const log = gateway.lines().join();
    for (const secret of ["as-ours", "sleep 60", "/dev/zero", "echo out"]) expect(log).not.toContain(secret);
  });
});
