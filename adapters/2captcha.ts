// 2Captcha: captchas solved by people and programs; a task is created, then polled until it is ready. Unsure: whether it still solves
// hCaptcha, which its page no longer mentions.
import { action, defineAdapter, keyInBody, neededWhen, z } from "#adapter";

/** This type costs callers up to 5 cents; all others have the usual price. */
const FUN = "FunCaptchaTaskProxyless";
const FUN_CENTS = 6;
const USUAL_CENTS = 0.3;
const TYPES = [
  "RecaptchaV2TaskProxyless",
  "RecaptchaV2EnterpriseTaskProxyless",
  "RecaptchaV3TaskProxyless",
  "HCaptchaTaskProxyless",
  "TurnstileTaskProxyless",
  "GeeTestTaskProxyless",
  "ImageToTextTask",
  FUN,
] as const;

const PICTURE = "ImageToTextTask";
const ON_PAGES = TYPES.filter((type) => type !== PICTURE);

const words = z.string().min(1);
const task = z
  .looseObject({
    type: z.enum(TYPES).describe("The kind of captcha"),
    websiteURL: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("The page that shows the captcha"),
    websiteKey: words.optional().describe("The captcha's site key on that page"),
    websitePublicKey: words.optional().describe("The public key of a FunCaptcha on that page"),
    body: z.base64().min(1).optional().describe("The picture, in base64, of an ImageToTextTask"),
    minScore: z.number().min(0.1).max(0.9).optional().describe("The least score of a RecaptchaV3 answer"),
    pageAction: words.optional().describe("The action of a RecaptchaV3 or Turnstile captcha"),
  })
  .check(
    neededWhen("body", "type", { const: PICTURE }),
    neededWhen("websiteURL", "type", { enum: ON_PAGES }),
    neededWhen("websiteKey", "type", {
      enum: ON_PAGES.filter((type) => type !== "GeeTestTaskProxyless" && type !== FUN),
    }),
    neededWhen("websitePublicKey", "type", { const: FUN }),
  )
  .describe("The captcha to solve; fields of its own kind pass through");

const OUR_KEY = [
  "ERROR_KEY_DOES_NOT_EXIST",
  "ERROR_WRONG_USER_KEY",
  "ERROR_IP_NOT_ALLOWED",
  "IP_BANNED",
  "ERROR_IP_BANNED",
  "ERROR_IP_BLOCKED",
  "ERROR_ACCOUNT_SUSPENDED",
];
const taskId = 79_123_456_789;

const poll = {
  action: "get-task-result",
  param: "taskId",
  numeric: true,
  at: "/status",
  done: ["ready"],
  failed: [],
} as const;

export default defineAdapter({
  name: "2Captcha",
  docs: "https://2captcha.com/api-docs",
  beliefs: { "create-task": "what FunCaptcha costs us, and whether hCaptcha is still solved" },
  origin: "https://api.2captcha.com",
  auth: keyInBody("clientKey"),
  // The status is always 200; errorId is 0 on success.
  rules: [
    { at: "/errorCode", is: OUR_KEY, means: "provider_auth_failed" },
    { at: "/errorCode", is: "ERROR_ZERO_BALANCE", means: "provider_billing" },
    { at: "/errorCode", is: "ERROR_NO_SLOT_AVAILABLE", means: "provider_overloaded" },
    { at: "/errorCode", is: ["ERROR_CAPTCHA_UNSOLVABLE", "ERROR_BAD_DUPLICATES"], means: "miss" },
    { at: "/errorId", matches: /^[1-9]/, sample: "1", means: "caller_invalid", messageAt: "/errorDescription" },
    { at: "/errorId", not: 0, means: "provider_malformed" },
  ],
  actions: {
    "create-task": action({
      asked:
        "solve a captcha for me; get past i am not a robot; click the traffic lights; type the letters in this picture; puzzle that proves you are human; bypass recaptcha; slider puzzle; human verification challenge",
      description:
        "Gives a captcha to be solved: reCAPTCHA, hCaptcha, Turnstile, GeeTest, FunCaptcha (6 cents) or a picture. Returns taskId.",
      category: "scraping",
      keywords:
        "captcha; recaptcha; hcaptcha; turnstile; solve; captcha token; letters in a picture; prove I am not a robot; captcha picture",
      effect: "write",
      params: z.strictObject({
        task,
        languagePool: z
          .enum(["en", "rn"])
          .optional()
          .describe("Who reads a picture: people who read English, or Russian"),
      }),
      price: {
        mode: "ranged",
        cents: FUN_CENTS,
        minCents: USUAL_CENTS,
        quoteCents: ({ task: { type } }) => (type === FUN ? FUN_CENTS : USUAL_CENTS),
        otherPrice: {
          task: {
            type: FUN,
            websiteURL: "https://example.com",
            websitePublicKey: "69A21A01-CC7B-B9C6-0F9A-E7FA06677FFC",
          },
        },
      },
      upstreamCents: ({ task: { type } }) => (type === FUN ? 5 : 0.299),
      request: { method: "POST", path: "/createTask" },
      issues: [{ kind: "task", at: "/taskId", poll }],
      example: {
        params: {
          task: { type: "TurnstileTaskProxyless", websiteURL: "https://example.com", websiteKey: "0x4AAAAAAAB" },
        },
        answer: { errorId: 0, taskId },
      },
    }),
    "get-task-result": action({
      asked: "is my captcha solved; token of the captcha; answer of the puzzle",
      description:
        "Says whether a captcha is solved, and the solution. Ask again after five seconds while it is processing.",
      category: "scraping",
      keywords: "captcha; solution; answer to a captcha; token; poll",
      effect: "read",
      params: z.strictObject({ taskId: z.int().positive().describe("The taskId of 2captcha/create-task") }),
      price: { mode: "fixed", cents: 0 },
      upstreamCents: 0,
      request: { method: "POST", path: "/getTaskResult" },
      content: ["/status"],
      requires: [{ kind: "task", param: "taskId" }],
      example: {
        params: { taskId },
        answer: { errorId: 0, status: "ready", solution: { token: "0.zrSnRHO7h0HwSjSCU8oyzbjEtD8p" }, cost: "0.00299" },
      },
    }),
  },
});
