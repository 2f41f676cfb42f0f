import { TemplateList } from "@svc/contract/vm/template.ts";
import { expect, test, vi } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newBuildHost, readyTemplate } from "../../support/worker/templates.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";

test("the list of templates has the built-in ones first, then the org's, newest first, as their records are", async () => {
  await newBuildHost();
  const { key } = await newOrg("professional");
  const { key: other } = await newOrg("professional");
  const first = await readyTemplate(key);
  const second = await vi.waitFor(() => readyTemplate(key), 90_000);
  const { templates } = TemplateList.parse(
    await (await call("/templates", { bearer: key })).json(),
  );
  expect(templates.slice(0, 5)).toMatchObject(
    ["base", "default", "workstation", "office", "code"].map((templateId) => {
      return { templateId, builtin: true, state: templateId === "base" ? "ready" : "failed" };
    }),
  );
  expect(templates.slice(5)).toEqual([second, first]);
  const [base] = templates;
  expect(await (await call("/templates/base", { bearer: key })).json()).toEqual(base);
  const others = TemplateList.parse(await (await call("/templates", { bearer: other })).json());
  expect(others.templates).toHaveLength(5);
});

const ready = (name: string) => ({ name, state: "ready" as const });

test.each<[string, Parameters<typeof newVmHost>[0], string, string, string?]>([
  [
    "images are ready, and desktops are served",
    { capabilities: ["desktop"], images: [ready("base"), ready("desktop")] },
    "ready",
    "ready",
  ],
  [
    "the image of office waits for its first use",
    {
      capabilities: ["desktop"],
      images: [ready("base"), ready("desktop"), { name: "office", state: "missing", onUse: true }],
    },
    "ready",
    "ready",
  ],
  [
    "the image of desktops is being built",
    { images: [ready("base"), { name: "desktop", state: "building" }] },
    "ready",
    "building",
  ],
  [
    "an image is being built",
    { images: [{ name: "base", state: "building" }] },
    "building",
    "failed",
  ],
  [
    "an image cannot be built",
    { images: [{ name: "base", state: "missing", hint: "Install mmdebstrap." }] },
    "failed",
    "failed",
    "Install mmdebstrap.",
  ],
  [
    "a host takes no machines",
    { draining: true },
    "failed",
    "failed",
    "No registered VM host has its image.",
  ],
])(
  "where %s, base and default are in the list as that",
  async (_name, beat, base, desktop, why) => {
    await newVmHost(beat);
    const { key } = await newOrg("professional");
    const { templates } = TemplateList.parse(
      await (await call("/templates", { bearer: key })).json(),
    );
    expect(templates.slice(0, 2).map(({ state }) => state)).toEqual([base, desktop]);
    expect(templates[0]?.error?.message).toBe(why);
    // They wait for their first use, or their image is nowhere.
    const waits = beat?.images?.some(({ onUse }) => onUse) ?? false;
    expect(templates[3]?.state).toBe(waits ? "building" : "failed");
    for (const template of templates) expect("error" in template).toBe(template.state === "failed");
  },
);
