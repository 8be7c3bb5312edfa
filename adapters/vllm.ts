// vLLM: models on the operator's own machines. Set VLLM_BASE_URL to turn it on, and VLLM_MODEL for what tiers ask of it.
import { defineAdapter, localServer } from "#adapter";

export default defineAdapter(
  localServer({
    name: "vLLM",
    docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    origin: "http://localhost:8000/v1",
  }),
);
