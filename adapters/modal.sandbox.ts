// Sandbox stand-in for Modal: machines run until their time is up or they are ended.
import { defineStandIn, put, refuse, textAt } from "#sandbox";

const ended = refuse(409, { error: "the sandbox has ended" });

export default defineStandIn({
  actions: {
    create(call) {
      const id = textAt(call.answer, "/sandbox_id");
      call.keep("sandbox", id, { status: "running" }, { endsAfterS: call.number("timeout") });
      return call.answer;
    },
    exec(call) {
      call.use("sandbox", { ended });
      return call.answer;
    },
    status(call) {
      const { status } = call.use("sandbox", { evenEnded: true });
      return put(call.answer, { "/status": status });
    },
    terminate(call) {
      call.use("sandbox", { evenEnded: true });
      call.change("sandbox", { status: "failed" });
      call.end("sandbox");
      return call.answer;
    },
  },
});
