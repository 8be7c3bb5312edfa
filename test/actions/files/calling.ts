// A caller of the file actions, as an external program.
import type { TestAccount, TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

export interface Answered {
  readonly status: number;
  readonly json: {
    readonly ok?: boolean;
    readonly error?: string;
    readonly message?: string;
    readonly charged_cents?: number;
    readonly data?: Record<string, unknown>;
  };
}

export interface FilesCaller {
  call(action: string, params: unknown): Promise<Answered>;
  /** Announces a file; returns its id and links. */
  announce(params: Record<string, unknown>): Promise<{ file_id: string; put_url: string; get_url: string }>;
  /** Announces a file and uploads it. */
  store(params: Record<string, unknown>, bytes: string): Promise<{ file_id: string; put_url: string; get_url: string }>;
}

export function callerOf(gateway: TestGateway, { key }: TestAccount): FilesCaller {
  async function call(action: string, params: unknown): Promise<Answered> {
    const response = await postAs(key, `${gateway.url}/api/run/files/${action}`, params);
    return { status: response.status, json: (await response.json()) as Answered["json"] };
  }
  async function announce(params: Record<string, unknown>) {
    const { json } = await call("upload", params);
    if (json.data === undefined || json.ok !== true) throw new Error(JSON.stringify(json));
    return json.data as { file_id: string; put_url: string; get_url: string };
  }
  return {
    call,
    announce,
    async store(params, bytes) {
      const announced = await announce({ size_bytes: Buffer.byteLength(bytes), ...params });
      const response = await fetch(announced.put_url, { method: "PUT", body: bytes });
      if (!response.ok) throw new Error(await response.text());
      return announced;
    },
  };
}
