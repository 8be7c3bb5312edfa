// Calls to 2Captcha: our key is in the body, and all errors have status 200.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const captcha = await wire("2captcha");
const turnstile = { type: "TurnstileTaskProxyless", websiteURL: "https://a.example/", websiteKey: "0x4AAA" };

describe("create-task", () => {
  it("sends the task as it is, with our key in the body alone", () => {
    const task = { ...turnstile, data: "passes through" };
    const sent = captcha.send("create-task", { task });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.2captcha.com/createTask" });
    expect(sent.body).toEqual({ clientKey: "key-of-ours", task });
    expect(JSON.stringify(sent.headers)).not.toContain("key-of-ours");
  });

  it("lets nobody bring a key of his own", () => {
    expect(captcha.refuses("create-task", { task: turnstile, clientKey: "theirs" })).toEqual(["clientKey"]);
  });

  it("costs 0.3 cents, and asking for the result nothing", () => {
    expect(captcha.quote("create-task", { task: turnstile })).toBe(0.3);
    expect(captcha.upstreamCents("create-task", { task: turnstile })).toBeLessThan(0.3);
    expect(captcha.quote("get-task-result", { taskId: 1 })).toBe(0);
  });

  it.each([
    [{}, "task"],
    [{ task: { ...turnstile, type: "FunCaptchaTaskProxyless" } }, "task.websitePublicKey"],
    [{ task: { ...turnstile, type: "AmazonTaskProxyless" } }, "task.type"],
    [{ task: { type: "HCaptchaTaskProxyless", websiteKey: "k" } }, "task.websiteURL"],
    [{ task: { type: "RecaptchaV2TaskProxyless", websiteURL: "https://a.example/" } }, "task.websiteKey"],
    [{ task: { type: "ImageToTextTask" } }, "task.body"],
    [{ task: turnstile, callbackUrl: "https://c.example/" }, "callbackUrl"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(captcha.refuses("create-task", params)).toEqual([field]);
  });

  it("costs 6 cents of the kind that costs us up to 5", () => {
    const fun = { type: "FunCaptchaTaskProxyless", websiteURL: "https://a.example/", websitePublicKey: "69A21A01" };
    expect(captcha.quote("create-task", { task: fun })).toBe(6);
    expect(captcha.upstreamCents("create-task", { task: fun })).toBe(5);
    expect(captcha.send("create-task", { task: fun }).body).toEqual({ clientKey: "key-of-ours", task: fun });
  });

  it("takes pictures and GeeTest, which have no site key", () => {
    expect(captcha.refuses("create-task", { task: { type: "ImageToTextTask", body: "aGk=" } })).toEqual([]);
    const geetest = { type: "GeeTestTaskProxyless", websiteURL: "https://a.example/", gt: "g", challenge: "c" };
    expect(captcha.refuses("create-task", { task: geetest })).toEqual([]);
  });
});

describe("get-task-result", () => {
  it("asks for a task of the caller's own", () => {
    expect(captcha.send("get-task-result", { taskId: 42 }).body).toEqual({ clientKey: "key-of-ours", taskId: 42 });
    expect(captcha.actions["create-task"]?.issues).toMatchObject([{ kind: "task", at: "/taskId" }]);
    expect(captcha.actions["get-task-result"]?.requires).toEqual([{ kind: "task", param: "taskId" }]);
  });

  it.each([["42"], [0], [1.5]])("refuses %j for a taskId", (taskId) => {
    expect(captcha.refuses("get-task-result", { taskId })).toEqual(["taskId"]);
  });
});

describe("what its answers mean", () => {
  const failed = (errorCode: string) => ({ body: { errorId: 1, errorCode, errorDescription: "words" } });

  it.each([
    ["ERROR_KEY_DOES_NOT_EXIST", "provider_auth_failed"],
    ["ERROR_IP_NOT_ALLOWED", "provider_auth_failed"],
    ["ERROR_ZERO_BALANCE", "provider_billing"],
    ["ERROR_NO_SLOT_AVAILABLE", "provider_overloaded"],
    ["ERROR_CAPTCHA_UNSOLVABLE", "miss"],
    ["ERROR_WRONG_CAPTCHA_ID", "caller_invalid"],
    ["ERROR_RECAPTCHA_INVALID_SITEKEY", "caller_invalid"],
  ])("%s is %s", (code, verdict) => {
    expect(captcha.means("get-task-result", failed(code)).verdict).toBe(verdict);
  });

  it.each([
    [{ errorId: 0, status: "processing" }, "success"],
    [{ errorId: 0, status: "ready", solution: { token: "t" } }, "success"],
    [{}, "provider_malformed"],
    ["<html>maintenance</html>", "provider_malformed"],
  ])("%j is %s", (body, verdict) => {
    expect(captcha.means("get-task-result", { body }).verdict).toBe(verdict);
  });
});
