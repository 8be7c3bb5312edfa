// 2Captcha as the sandbox plays it: a task that it was never given is an error with a good status.
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
