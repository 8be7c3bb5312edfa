// Sandbox stand-in for Nyne: a search still in progress has found nothing yet.
import { defineStandIn, put } from "#sandbox";

export default defineStandIn({
  actions: {
    result(call) {
      call.use("request");
      if (!call.isAtWork("request")) return call.answer;
      return put(call.answer, { "/data/status": "processing", "/data/completed": false, "/data/result": {} });
    },
  },
});
