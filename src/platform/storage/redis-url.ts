// Parses REDIS_URL: one server, a group with Sentinel, or a Cluster; each with or without TLS.

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/** The location of Redis and the credentials. */
export interface RedisTarget {
  readonly kind: "single" | "sentinel" | "cluster";
  /** The server; the sentinels; or any nodes of the cluster. */
  readonly nodes: readonly [RedisNode, ...RedisNode[]];
  /** The sentinels' name for the group; empty for the other kinds. */
  readonly group: string;
  readonly db: number;
  readonly username: string | null;
  readonly password: string | null;
  readonly tls: boolean;
}

const SHAPE = /^redis(s?)(\+cluster|\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/;
const PORTS = { single: 6379, cluster: 6379, sentinel: 26_379 } as const;
const FORMS = "redis://host:port/db, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/group";

/** Parses a Redis URL. Throws a message for the operator, without the password. */
export function parseRedisUrl(url: string): RedisTarget {
  const [, tls, form, credentials, hosts = "", path = ""] = SHAPE.exec(url) ?? [];
  if (hosts === "") throw new Error(`REDIS_URL must look like ${FORMS}; rediss takes the place of redis for TLS`);
  const kind = form === "+cluster" ? "cluster" : form === "+sentinel" ? "sentinel" : "single";
  const [first, ...others] = hosts.split(",").map((host) => parseNode(host, PORTS[kind]));
  if (first === undefined) throw new Error("REDIS_URL names no host");
  if (kind === "single" && others.length > 0) {
    throw new Error("REDIS_URL names several hosts: begin it with redis+cluster or redis+sentinel");
  }
  const [group = "", db = ""] = kind === "sentinel" ? path.split("/") : ["", path];
  if (kind === "sentinel" && group === "") throw new Error("REDIS_URL must end in /group, the sentinels' name for it");
  if (!/^\d{0,5}$/.test(db)) throw new Error("the database in REDIS_URL must be a number");
  if (kind === "cluster" && Number(db) !== 0) throw new Error("a Redis Cluster has no database but 0");
  return { kind, nodes: [first, ...others], group, db: Number(db), ...parseCredentials(credentials), tls: tls === "s" };
}

function parseNode(text: string, fallbackPort: number): RedisNode {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? fallbackPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) throw new Error("REDIS_URL has a host that is no host:port");
  return { host, port: number };
}

/** `password`, `:password` or `user:password`, each percent-encoded. */
function parseCredentials(text: string | undefined): Pick<RedisTarget, "username" | "password"> {
  if (text === undefined || text === "") return { username: null, password: null };
  const at = text.indexOf(":");
  const username = at > 0 ? decodeURIComponent(text.slice(0, at)) : null;
  return { username, password: decodeURIComponent(text.slice(at + 1)) };
}
