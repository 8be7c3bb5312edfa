// Any server that speaks OpenAI's wire. Set CUSTOM_BASE_URL to turn it on, and CUSTOM_MODEL for what tiers ask of it. CUSTOM_LAB_BASE_URL
// is one more of them, as `custom-lab`, and so on with any name.
import { defineAdapter, localServer } from "#adapter";

export default defineAdapter({
  ...localServer({ name: "Custom server", docs: "docs/guides/add-a-provider.md", origin: "http://localhost:8000/v1" }),
  several: true,
});
