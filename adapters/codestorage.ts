// code.storage: private git repositories, bought once. Each request carries a token that we sign, which names the repository and the
// permissions; so does the URL that a caller clones from. The wire format comes from a client's source and tests, not from the vendor's own
// documentation. Unsure: our cost of a repository; we assume the sale price.
import { action, defineAdapter, jwt, like, type ScriptContext, z } from "#adapter";

/** The token lifetime for our requests. */
const REQUEST_SECONDS = 300;
/** The token lifetime for a caller's clone and push: codestorage/repo-get issues a new URL. */
const CLONE_SECONDS = 3_600;
const YEARS_DAYS = 36_500;
const BRANCH = "main";

const found = z.object({ default_branch: z.string().min(1).default(BRANCH), created_at: z.string().optional() });

type Signing = Pick<ScriptContext, "token" | "settings">;

const shown = ({ token }: Signing, repo: string, scope: string) => {
  return { authorization: `Bearer ${token({ repo, scopes: [scope] }, REQUEST_SECONDS)}` };
};

/** Contains a token for this repository only: it is a secret of the owner. */
const cloneUrl = ({ token, settings }: Signing, repo: string) => {
  const jwt = token({ repo, scopes: ["git:read", "git:write"] }, CLONE_SECONDS);
  return `https://t:${jwt}@${settings.org}.code.storage/${repo}.git`;
};

const id = "notes-5f2a9c1e7b3d4a60";
const common = {
  category: "compute",
  keywords: "git repository; version control; private repo; push code; host source code; code repository",
  mayCostMore: "what it costs us is not known",
} as const;

export default defineAdapter({
  name: "code.storage",
  docs: "https://code.storage/docs",
  beliefs: { "*": "the whole wire but for its token, and what a repository costs us" },
  origin: "https://api.{org}.code.storage",
  settings: { org: { env: ["CODE_STORAGE_NAME"] } },
  keyEnv: ["CODE_STORAGE_PRIVATE_KEY"],
  auth: jwt({ issuer: "org", claims: { sub: "@pierre/storage" } }),
  actions: {
    "repo-create": action(common, {
      asked:
        "a git repository; private repo for code; place to push commits; host source code; version control; github alternative; new project repository",
      description:
        "Buys a private git repository, once and for good. Returns its id and a clone_url to clone from and push to for an hour.",
      effect: "write",
      params: z.strictObject({
        name: like(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must be small letters, digits and dashes between them", 60)
          .optional()
          .describe("What its id begins with"),
      }),
      price: { mode: "fixed", cents: 100 },
      upstreamCents: 100,
      async run(context) {
        const { ask, params, label } = context;
        // All callers' repositories share one namespace, so ids must not collide.
        const own = label.replace("tg-", "");
        const repo = params.name === undefined ? own : `${params.name}-${own.slice(0, 16)}`;
        await ask({
          method: "POST",
          path: "/api/v1/repos",
          fixed: { default_branch: BRANCH },
          headers: shown(context, repo, "repo:write"),
        });
        return { id: repo, clone_url: cloneUrl(context, repo), default_branch: BRANCH };
      },
      issues: [{ kind: "repo", at: "/id", days: YEARS_DAYS }],
      example: { params: { name: "notes" }, answer: { repo_id: id } },
    }),
    "repo-get": action(common, {
      asked: "clone address of my repo; get my git repository again; link to push to",
      description:
        "Tells of a private git repository of yours, with a new clone_url to clone from and push to for an hour.",
      effect: "read",
      params: z.strictObject({
        id: like(/^[a-z0-9-]+$/, "is no repository's id", 100).describe("The id of codestorage/repo-create"),
      }),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 1,
      async run(context) {
        const { ask, params } = context;
        const headers = shown(context, params.id, "git:read");
        const { json } = await ask({ method: "GET", path: "/api/v1/repo", headers });
        return { id: params.id, clone_url: cloneUrl(context, params.id), ...found.parse(json) };
      },
      requires: [{ kind: "repo", param: "id" }],
      example: { params: { id }, answer: { default_branch: BRANCH, created_at: "2026-11-20T10:11:12Z" } },
    }),
  },
});
