// Any server with OpenAI's wire format. Set CUSTOM_BASE_URL to enable it, and CUSTOM_MODEL for the model that tiers use.
// CUSTOM_LAB_BASE_URL adds another one as `custom-lab`, and so on with any name.
import { defineAdapter, localServer } from "#adapter";

export default defineAdapter({
  ...localServer({ name: "Custom server", docs: "docs/guides/add-a-provider.md", origin: "http://localhost:8000/v1" }),
  several: true,
});
