// Sandbox stand-in for 2Captcha: querying an unknown task is an error with status 200.
import { defineStandIn, refuse } from "#sandbox";

const unknown = refuse(200, {
  errorId: 16,
  errorCode: "ERROR_NO_SUCH_CAPCHA_ID",
  errorDescription: "There is no such task.",
});

export default defineStandIn({
  actions: {
    "get-task-result"(call) {
      call.use("task", { unknown });
      return call.isAtWork("task") ? { errorId: 0, status: "processing" } : call.answer;
    },
  },
});
