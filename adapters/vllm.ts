// vLLM: models on the operator's own machines. Set VLLM_BASE_URL to enable it, and VLLM_MODEL for the model that tiers use.
import { defineAdapter, localServer } from "#adapter";

export default defineAdapter(
  localServer({
    name: "vLLM",
    docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    origin: "http://localhost:8000/v1",
  }),
);
