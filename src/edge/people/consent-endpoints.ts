// The page on which a person sets what a client may spend: a client in the same browser, or a device that shows a code.

import { z } from "zod";
import type { KeyLimits } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import type { Answer, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { readFields } from "../../core/field-issues.ts";
import { nanoFromCents, parseUsd } from "../../core/money.ts";
import { browserEndpoint, fieldsOf, seeOther, tooOften, toSignIn } from "../oauth/forms.ts";
import type { OAuthServer } from "../oauth/server.ts";
import { cookieOf, type Session } from "../oauth/sessions.ts";
import type { OAuthParts } from "./oauth.ts";
import { type Choice, type ConsentForm, consentPage, messagePage, signedForm, userCodePage } from "./person-pages.ts";

const DAY_MS = 86_400_000;
const CEILING_MAX = nanoFromCents(900_000_000);

const formSchema = z.object({
  label: z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters"),
  dollars: z.string().regex(/^\d{1,7}(\.\d{1,2})?$/, "must be a sum in dollars, such as 5 or 0.50"),
  period: z.enum(["day", "week", "month"], "must be day, week or month"),
  what: z.string(),
  days: z.enum(["1", "30", "90", "365"], "must be 1, 30, 90 or 365"),
});

/** What the person agreed to, or an error message about the form for the person. */
function readGranted(
  fields: Readonly<Record<string, string>>,
  choices: readonly Choice[],
  clock: Clock,
): { readonly label: string; readonly limits: KeyLimits } | string {
  const read = readFields(formSchema, fields);
  if (!("data" in read)) return read.map(({ path, message }) => `${path} ${message}`).join("; ");
  const { label, dollars, period, what, days } = read.data;
  const choice = choices.find(({ id }) => id === what);
  if (choice === undefined) return "what must be one of those listed";
  const ceilingNano = parseUsd(dollars);
  if (ceilingNano === null || ceilingNano > CEILING_MAX) return "dollars must be at most 9000000";
  return {
    label,
    limits: {
      ceilingNano,
      ceilingPeriod: period,
      services: choice.services,
      models: choice.models,
      expiresAtMs: clock.epochMs() + Number(days) * DAY_MS,
    },
  };
}

/** Device codes that an account may try per minute; there are 20^8 codes. */
const CODES_PER_MINUTE = 20;

/** The subject of the form: an authorization in a browser, or a device's code. */
interface Asked extends ConsentForm {
  readonly agree: (accountId: string, keyId: string) => Promise<Answer>;
  readonly deny: () => Promise<Answer>;
}

interface ConsentParts extends OAuthParts {
  readonly server: () => Promise<OAuthServer>;
}

async function askedHere(parts: ConsentParts, request: GatewayRequest): Promise<Asked | null> {
  const { uid = "" } = request.params;
  // The browser that started it has a matching cookie; the link opens nothing in another browser.
  if (cookieOf(request, "_interaction") !== uid) return null;
  const oauth = await parts.server();
  const asking = await oauth.asking(uid);
  if (asking === null) return null;
  return Object.assign(asking, {
    action: `/oauth/consent/${uid}`,
    userCode: null,
    agree: async (accountId: string, keyId: string) => seeOther(await oauth.agree(uid, accountId, keyId)),
    deny: async () => seeOther(await oauth.deny(uid)),
  });
}

async function askedByDevice(parts: ConsentParts, typed: string): Promise<Asked | null> {
  const userCode = typed.toUpperCase().replace(/\W/g, "").slice(0, 20);
  const oauth = await parts.server();
  const asking = await oauth.askingDevice(userCode);
  if (asking === null) return null;
  const told = (title: string) => messagePage(title, "Go back to your device.");
  return Object.assign(asking, {
    action: "/oauth/device",
    userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}`,
    async agree(accountId: string, keyId: string) {
      await oauth.agreeDevice(userCode, accountId, keyId);
      return told("The device may go on");
    },
    async deny() {
      await oauth.denyDevice(userCode);
      return told("The device was refused");
    },
  });
}

function gone(): Answer {
  return messagePage("This request is over", "Go back to the program that sent you, and begin again.", 404);
}

/** Creates the key row first: it must exist before a client learns that its grant is valid. */
async function decide(
  parts: ConsentParts,
  asked: Asked,
  { fields, session }: { fields: Readonly<Record<string, string>>; session: Session },
): Promise<Answer> {
  const { grants, choices, clock } = parts;
  if (fields.decision !== "allow") return asked.deny();
  const granted = readGranted(fields, choices(), clock);
  const { accountId, csrf } = session;
  if (typeof granted === "string") return consentPage(asked, choices(), csrf, granted);
  const keyId = await grants.make(accountId, granted.label, granted.limits);
  if (keyId === null) return consentPage(asked, choices(), csrf, "this account has too many keys: revoke some first");
  try {
    return await asked.agree(accountId, keyId);
  } catch (error) {
    await grants.revoke(accountId, keyId);
    throw error;
  }
}

async function device(parts: ConsentParts, request: GatewayRequest): Promise<Answer> {
  const { take, sessions } = parts;
  const session = await sessions.of(request);
  if (session === null) return toSignIn(request);
  const typed = request.query.get("user_code");
  if (typed === null) return userCodePage();
  if (!(await take(`code ${session.accountId}`, CODES_PER_MINUTE))) throw tooOften(CODES_PER_MINUTE);
  const asked = await askedByDevice(parts, typed);
  if (asked !== null) return consentPage(asked, parts.choices(), session.csrf);
  return userCodePage("No device waits with this code. Codes are good for ten minutes.");
}

/** `/oauth/consent/{uid}` and `/oauth/device`. `server` is loaded for the first request that needs it. */
export function consentEndpoints(parts: ConsentParts): readonly EndpointSpec[] {
  const { sessions, take } = parts;
  const decided = async (request: GatewayRequest, session: Session, asked: Asked | null) =>
    asked === null ? gone() : decide(parts, asked, { fields: fieldsOf(request.body), session });
  return [
    browserEndpoint("GET", "/oauth/consent/{uid}", async (request) => {
      const asked = await askedHere(parts, request);
      if (asked === null) return gone();
      const session = await sessions.of(request);
      return session === null ? toSignIn(request) : consentPage(asked, parts.choices(), session.csrf);
    }),
    browserEndpoint(
      "POST",
      "/oauth/consent/{uid}",
      signedForm(parts, async (request, session) => decided(request, session, await askedHere(parts, request))),
    ),
    browserEndpoint("GET", "/oauth/device", (request) => device(parts, request)),
    browserEndpoint(
      "POST",
      "/oauth/device",
      signedForm(parts, async (request, session) => {
        if (!(await take(`code ${session.accountId}`, CODES_PER_MINUTE))) throw tooOften(CODES_PER_MINUTE);
        return decided(request, session, await askedByDevice(parts, fieldsOf(request.body).user_code ?? ""));
      }),
    ),
  ];
}
