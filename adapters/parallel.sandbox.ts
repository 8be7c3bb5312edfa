// Parallel as the sandbox plays it: a task goes on with the processor that it was given.
import { defineStandIn, put, textAt } from "#sandbox";

export default defineStandIn({
  actions: {
    task(call) {
      call.keep("task", textAt(call.answer, "/run_id"), { processor: call.sent("processor") });
      return call.answer;
    },
    "task-status"(call) {
      const { processor } = call.use("task");
      // After it the result is asked for.
      if (call.at > 0) return call.answer;
      const answer = put(call.answer, { "/processor": processor });
      return call.isAtWork("task") ? put(answer, { "/status": "running" }) : answer;
    },
  },
});
