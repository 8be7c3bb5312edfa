// Daytona's wire format: checks requests against its specification, and how answers are interpreted.
import { describe, expect, it } from "vitest";
import daytona from "../../adapters/daytona.ts";
import { BoxGone } from "../../src/catalog/session.ts";
import { VendorFailure } from "../../src/upstream/vendor-failure.ts";
import { openBoxBench } from "../support/box-bench.ts";
import { forFile } from "../support/for-file.ts";

const at = forFile(await openBoxBench("daytona", daytona));

let boxes = 0;
const create = () => at.create(`tg-${String(++boxes).padStart(24, "0")}`, { WHO: "ada" });
const thrownBy = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );
const kindOf = async (asked: Promise<unknown>) => {
  const error = await thrownBy(asked);
  return error instanceof VendorFailure ? error.failure.kind : error;
};

it("sends what its specification (0.190.0) has, and no cpu beside a snapshot", async () => {
  const box = await create();
  const [made, polled] = at.vendor.requests;
  expect(made).toMatchObject({ method: "POST", path: "/sandbox", headers: { authorization: expect.any(String) } });
  expect(made?.json).toEqual({
    name: "tg-000000000000000000000001",
    snapshot: "daytona-medium",
    env: { WHO: "ada" },
    labels: { "code-toolbox-language": "python" },
    public: false,
    autoStopInterval: 10,
    autoDeleteInterval: 0,
  });
  expect(polled).toMatchObject({ method: "GET", path: `/sandbox/${box.id}` });
  await at.run(box, "ls");
  const executed = at.vendor.requests.at(-1);
  expect(executed).toMatchObject({ method: "POST", origin: "toolbox", path: `/${box.id}/process/execute` });
  expect(executed?.json).toEqual({ command: expect.stringMatching(/^sh -c "/), timeout: 65 });
  await at.run(box, "1 as number", { language: "typescript" });
  const coded = at.vendor.requests.at(-1);
  expect(coded).toMatchObject({ path: `/${box.id}/process/code-run` });
  expect(coded?.json).toEqual({ code: "1 as number", language: "typescript", timeout: 60 });
  await at.scripted(async (context) => at.sessions.extend?.(context, box, 30));
  expect(at.vendor.requests.at(-1)).toMatchObject({ method: "POST", path: `/sandbox/${box.id}/last-activity` });
});

it("tells a command's two sides apart, its exit code, and the end of its time", async () => {
  const box = await create();
  at.vendor.prints("both", { stdout: "a\n", stderr: "b\n", exit_code: 2 });
  expect(await at.run(box, "both")).toEqual({ stdout: "a\n", stderr: "b\n", exit_code: 2 });
  at.vendor.next(/process/, { status: 408, body: { message: "timeout" } });
  expect(await at.run(box, "ls")).toMatchObject({ exit_code: 124, timed_out: true });
  at.vendor.next(/process/, { status: 200, body: { exitCode: 7, result: "no such interpreter" } });
  expect(await at.run(box, "ls")).toMatchObject({ stdout: "no such interpreter", exit_code: 7 });
});

describe("a machine that is gone", () => {
  it.each([404, 400, 502])(
    "is told as such where the toolbox says %i and the control plane has it no more",
    async (status) => {
      const box = await create();
      await at.scripted((context) => at.sessions.close(context, box));
      at.vendor.next(/process/, { status, body: { message: "sandbox not found" } });
      expect(await thrownBy(at.run(box, "ls"))).toBeInstanceOf(BoxGone);
      expect(await at.scripted((context) => at.sessions.isOpen(context, box))).toBe(false);
    },
  );

  it("is told as such where it has stopped, and not where the toolbox alone is in trouble", async () => {
    const box = await create();
    at.vendor.next(/process/, { status: 500, body: { message: "oops" } });
    expect(await kindOf(at.run(box, "ls"))).toBe("provider_server_error");
    at.vendor.next(/process/, { status: 400, body: { message: "not running" } });
    at.vendor.next(/\/sandbox\//, { status: 200, body: { id: String(box.id), state: "stopped" } });
    expect(await thrownBy(at.run(box, "ls"))).toBeInstanceOf(BoxGone);
  });
});

it("is closed by its id or by its label, as often as it is asked", async () => {
  const box = await create();
  const other = await create();
  for (let time = 0; time < 2; time++) await at.scripted((context) => at.sessions.close(context, box));
  const label = at.vendor.machines.find(String(other.id))?.name ?? "";
  for (let time = 0; time < 2; time++) await at.scripted((context) => at.sessions.closeLabelled(context, label));
  expect(at.vendor.machines.find(String(other.id))).toBeNull();
  at.vendor.next(/\/sandbox\//, { status: 503, body: {} });
  expect(await kindOf(at.scripted((context) => at.sessions.close(context, box)))).toBe("provider_server_error");
});

it("a machine that comes up broken is no machine", async () => {
  at.vendor.next(/\/sandbox$/, { status: 200, body: { id: "x", state: "build_failed" } });
  expect(await kindOf(create())).toBe("provider_server_error");
  at.vendor.next(/\/sandbox$/, { status: 200, body: { state: "started" } });
  expect(await thrownBy(create())).not.toBeNull();
});
