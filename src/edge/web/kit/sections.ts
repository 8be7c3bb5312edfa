// A section is a page with its actions. This builds its endpoints: shown to signed-in people, changed by forms with their session's token.
import { compressedFor } from "../../../actions/run/ready-answer.ts";
import type { Answer, EndpointShape, EndpointSpec, GatewayRequest } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { inSlices } from "../../../core/slices.ts";
import { fieldsOf, seeOther } from "../../oauth/forms.ts";
import { Html, html, textOf } from "../html.ts";
import { type Ask, unlessRefused } from "./ask.ts";
import { postForm } from "./forms.ts";
import { type Places, pageAnswer, type Shell } from "./page.ts";
import { problem, told } from "./shown.ts";

/** Longer than any of our forms. */
const FORM_BYTES_MAX = 256 * 1024;
/** A page that failed to render reloads after this time. */
const AGAIN_SECONDS = 5;

export interface Visit {
  readonly request: GatewayRequest;
  /** Empty for a view. */
  readonly fields: Readonly<Record<string, string>>;
  readonly ask: Ask;
  readonly csrf: string;
}

export interface Shown {
  readonly title: string;
  readonly body: Html;
  readonly scripts?: readonly string[];
  /** Redirects the browser there instead. */
  readonly goTo?: string;
  /** Such as 404; 200 if absent. */
  readonly status?: number;
}

/** An action of a form. A page as its result is shown instead, such as a secret that is shown once. */
export interface Act {
  /** The message after it was done. */
  readonly told: string;
  /** The question to confirm before an action that is irreversible or stops calls; throws `Refused` where the input is invalid. */
  readonly sure?: (visit: Visit) => string;
  run(visit: Visit): Promise<unknown>;
}

export interface Section {
  readonly path: string;
  /** The path of its entry in the sidebar, where that is another. */
  readonly place?: string;
  show(visit: Visit): Promise<Shown>;
  readonly acts?: Readonly<Record<string, Act>>;
}

/** Who may enter, and how others are sent to the sign-in. */
export interface Door {
  readonly places: Places;
  readonly find: string;
  readonly signOut: string;
  /** Null: not signed in. */
  enter(request: GatewayRequest): Promise<Pick<Visit, "ask" | "csrf"> | null>;
  toSignIn(request: GatewayRequest): Answer;
  /** A notice above every page, such as a problem to fix first. */
  notice?(ask: Ask): Promise<Html | string>;
  /** Whether a form came from one of our pages, with its session's token. */
  isOurs(request: GatewayRequest, csrf: string, sent: string | undefined): boolean;
}

type Entered = Visit & { readonly section: Section; readonly door: Door };

function shellOf({ section, door, csrf }: Entered, { title, scripts }: Pick<Shown, "title" | "scripts">): Shell {
  return {
    title,
    places: door.places,
    find: door.find,
    here: section.place ?? section.path,
    isBelow: section.place !== undefined,
    signOut: { action: door.signOut, csrf },
    ...(scripts === undefined ? {} : { scripts }),
  };
}

async function answerOf(shell: Shell, body: Html, status = 200): Promise<Answer> {
  return pageAnswer(shell, new Html(await inSlices(textOf(body))), status);
}

async function shown(entered: Entered, said: Html | string, statusAtLeast = 200): Promise<Answer> {
  const above = html`${(await entered.door.notice?.(entered.ask)) ?? ""}${said}`;
  const made = await unlessRefused(entered.section.show(entered), ({ message, status }) => ({
    title: "Not available",
    status,
    body: html`${problem(message)}`,
  }));
  if (made.goTo !== undefined) return seeOther(made.goTo);
  return answerOf(shellOf(entered, made), html`${above}${made.body}`, Math.max(statusAtLeast, made.status ?? 200));
}

/** The confirmation page, which repeats the submitted fields, so that a single click confirms. */
function question(entered: Entered, words: string): Answer {
  const { csrf: _, act = "", ...rest } = entered.fields;
  const form = { action: entered.request.path, csrf: entered.csrf, act, hidden: { ...rest, sure: "yes" } };
  const cancel = html`<a class="button plain" href="${entered.request.path}">Cancel</a>`;
  const body = html`<p class="told warn" role="alert">${words}</p>${postForm(form, [], "Yes, continue", { more: cancel })}`;
  return pageAnswer(shellOf(entered, { title: "Are you sure?" }), body);
}

async function acted(entered: Entered): Promise<Answer> {
  const { section, fields, request } = entered;
  const name = fields.act ?? "";
  const act = Object.hasOwn(section.acts ?? {}, name) ? section.acts?.[name] : undefined;
  if (act === undefined) return shown(entered, problem("This form is from an earlier release. Submit it again."), 400);
  const sure = fields.sure === "yes" ? undefined : act.sure?.(entered);
  if (sure !== undefined) return question(entered, sure);
  const done = await act.run(entered);
  if (done instanceof Html) return answerOf(shellOf(entered, { title: act.told }), done);
  const query = new URLSearchParams([...request.query].filter(([one]) => one !== "done"));
  query.set("done", name);
  return seeOther(`${request.path}?${query}`);
}

function foreign(door: Door): Answer {
  const body = html`<p>Nothing was changed. This form came from another site, or from before you signed in. Reload the page and submit it again.</p>`;
  return pageAnswer({ title: "Nothing was changed", places: door.places }, body, 403);
}

/** Reports a store that is down. A view reloads by itself; for a form it is unknown what was done. */
async function orAway(door: Door, { method, path }: GatewayRequest, answer: () => Promise<Answer>): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const shell = { title: "The ledger cannot be read at the moment", places: door.places };
    if (method === "POST") {
      const words = html`<p>We do not know whether this was done: <a href="${path}">look</a> before you submit it again.</p>`;
      return pageAnswer(shell, html`${problem(error.message)}${words}`, 503);
    }
    const again = html`<p class="soft">The page tries again every ${AGAIN_SECONDS} seconds.</p>`;
    return pageAnswer({ ...shell, again: { seconds: AGAIN_SECONDS } }, html`${problem(error.message)}${again}`, 503);
  }
}

/** The message of the action just done: one of fixed texts, so that a URL cannot inject another. */
function doneWords({ acts = {} }: Section, request: GatewayRequest): string | null {
  const done = request.query.get("done") ?? "";
  return Object.hasOwn(acts, done) ? (acts[done]?.told ?? null) : null;
}

/** A section's `GET` and, where it has actions, `POST`. */
export function sectionEndpoints(section: Section, door: Door): readonly EndpointSpec[] {
  const open = { path: section.path, auth: "none", cookies: true } as const;
  const look: EndpointShape = { ...open, method: "GET", bodyBytesMax: 0 };
  const change: EndpointShape = { ...open, method: "POST", form: true, bodyBytesMax: FORM_BYTES_MAX };
  const entering = (next: (entered: Entered) => Promise<Answer>) => {
    return ({ request }: { readonly request: GatewayRequest }) =>
      orAway(door, request, async () => {
        const who = await door.enter(request);
        if (who === null) return door.toSignIn(request);
        const fields = fieldsOf(request.body);
        return next({ ...who, request, fields, section, door });
      });
  };
  const get = Object.assign(
    {
      // Not the answers to forms: some show a secret.
      answer: entering(async (entered) =>
        compressedFor(entered.request, await shown(entered, told(doneWords(section, entered.request)))),
      ),
    },
    look,
  );
  if (section.acts === undefined) return [get];
  const post = entering(async (entered) =>
    door.isOurs(entered.request, entered.csrf, entered.fields.csrf)
      ? unlessRefused(acted(entered), ({ message, status }) => shown(entered, problem(message), status))
      : foreign(door),
  );
  return [get, Object.assign({ answer: post }, change)];
}
