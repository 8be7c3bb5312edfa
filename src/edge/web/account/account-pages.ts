// An account's pages, for the person signed in to it: each shows what its endpoints return and changes what they change.
import type { EndpointSpec, GatewayRequest } from "../../../core/endpoint.ts";
import { isForeign, toSignIn } from "../../oauth/forms.ts";
import { isCsrf, type Session, type Sessions } from "../../oauth/sessions.ts";
import { actionsFor, callWith, findSection, has, type Look } from "../find.ts";
import { type Ask, bodyOr } from "../kit/ask.ts";
import { liveEndpoint } from "../kit/live.ts";
import type { Places } from "../kit/page.ts";
import { type Door, sectionEndpoints } from "../kit/sections.ts";
import { trySection } from "../try/try-pages.ts";
import type { KeysShown } from "./answers.ts";
import { budgetsSection } from "./budgets.ts";
import { eventsSection } from "./events.ts";
import { filesSection } from "./files.ts";
import { JOBS_LIVE, jobsSection, liveJobs } from "./jobs.ts";
import { keysSection } from "./keys.ts";
import { overviewSection } from "./overview.ts";
import { runSection, runsSection } from "./run-pages.ts";
import { startSection } from "./start.ts";
import { transactionSection, transactionsSection } from "./transactions.ts";

const PLACES: Places = {
  Use: {
    Overview: "/account",
    "First calls": "/account/start",
    Playground: "/try",
    Catalog: "/catalog",
    Jobs: "/account/jobs",
    Files: "/account/files",
  },
  Money: { Runs: "/account/runs", Transactions: "/account/transactions", Budgets: "/account/budgets" },
  Settings: { Keys: "/account/keys", Events: "/account/events" },
};

const FIND = "/account/find";

const keyNamed: Look = async (ask, words) => {
  const { agents } = await bodyOr(ask<KeysShown>("GET", "/api/v1/agents?limit=1000"), {
    agents: [],
    next_cursor: null,
  });
  return agents
    .filter(({ label, id, hint }) => has(`${label} ${id} ${hint}`, words))
    .map(({ label, id, hint }) => ({
      kind: "Key",
      name: label,
      href: `/account/keys?q=${encodeURIComponent(id)}`,
      note: hint,
    }));
};

const modelNamed: Look = async (ask, words) => {
  const { data } = await bodyOr(ask<{ data: readonly { id: string }[] }>("GET", "/api/llm/v1/models"), { data: [] });
  return data
    .filter(({ id }) => has(id, words))
    .map(({ id }) => ({ kind: "Model", name: id, href: `/catalog?q=${encodeURIComponent(id)}` }));
};

const actionFor: Look = async (ask, words) =>
  (await actionsFor(ask, words)).map(({ service, action, description }) => {
    const name = `${service}/${action}`;
    return { kind: "Action", name, href: `/catalog/actions/${name}`, note: description };
  });

export interface AccountPagesParts {
  readonly sessions: Sessions;
  readonly base: () => string;
  readonly epochMs: () => number;
  readonly draining: () => boolean;
  /** Calls endpoints on behalf of the signed-in person; null: the session's key may no longer call. */
  readonly askAs: (request: GatewayRequest, session: Session) => Promise<Ask | null>;
}

/** Admits people signed in with an account's primary key. */
function accountDoor({ sessions, base, askAs }: AccountPagesParts): Door {
  return {
    places: PLACES,
    find: FIND,
    signOut: "/sign-out",
    toSignIn,
    async enter(request) {
      const session = await sessions.of(request);
      const ask = session === null ? null : await askAs(request, session);
      return session === null || ask === null ? null : { ask, csrf: session.csrf };
    },
    isOurs: (request, csrf, sent) => !isForeign(request, base()) && isCsrf({ csrf }, sent),
  };
}

export function accountPages(parts: AccountPagesParts): readonly EndpointSpec[] {
  const door = accountDoor(parts);
  const lead =
    "What happened in your account in the last 30 days. A webhook sends each event to your address, signed, and retries until it is delivered.";
  const sections = [
    overviewSection(parts.epochMs),
    transactionsSection,
    transactionSection,
    runsSection,
    runSection,
    keysSection(parts.base, parts.epochMs),
    budgetsSection,
    eventsSection({ path: "/account/events", api: "/api/v1", lead }),
    jobsSection,
    filesSection,
    startSection(parts.base),
    trySection(parts.base),
    findSection(FIND, PLACES, [
      ...[callWith("/api/v1/transactions", "/account/transactions"), keyNamed, modelNamed, actionFor],
    ]),
  ];
  return [
    ...sections.flatMap((section) => sectionEndpoints(section, door)),
    liveEndpoint({ path: JOBS_LIVE, door, draining: parts.draining, part: liveJobs }),
  ];
}
