// Answers a request without a connection, with what the vendor has answered elsewhere.
import type { Dispatcher } from "undici";
import { jsonText } from "../core/raw-json.ts";

export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
}

export function keptAnswer({ status, body }: KeptAnswer): Pick<Dispatcher, "dispatch"> {
  return {
    dispatch(_, handler) {
      let isOver = false;
      const controller: Dispatcher.DispatchController = {
        aborted: false,
        paused: false,
        reason: null,
        pause() {},
        resume() {},
        abort() {
          isOver = true;
        },
      };
      handler.onRequestStart?.(controller, {});
      // Nothing comes before the attempt is open.
      setImmediate(() => {
        if (isOver) return;
        handler.onRequestSent?.();
        handler.onResponseStart?.(controller, status, { "content-type": "application/json" });
        if (!isOver) handler.onResponseData?.(controller, Buffer.from(jsonText(body)));
        if (!isOver) handler.onResponseEnd?.(controller, {});
      });
      return true;
    },
  };
}
