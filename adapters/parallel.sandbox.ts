// Sandbox stand-in for Parallel: a task keeps the processor that it was given.
import { defineStandIn, put, textAt } from "#sandbox";

export default defineStandIn({
  actions: {
    task(call) {
      call.keep("task", textAt(call.answer, "/run_id"), { processor: call.sent("processor") });
      return call.answer;
    },
    "task-status"(call) {
      const { processor } = call.use("task");
      // The result is fetched after this request.
      if (call.at > 0) return call.answer;
      const answer = put(call.answer, { "/processor": processor });
      return call.isAtWork("task") ? put(answer, { "/status": "running" }) : answer;
    },
  },
});
