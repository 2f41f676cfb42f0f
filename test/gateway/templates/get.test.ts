import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newBuildHost, readyTemplate } from "../../support/worker/templates.ts";

test.each([
  ["GET", ""],
  ["GET", "/logs"],
  ["POST", "/cancel"],
  ["DELETE", ""],
])(
  "%s /templates/:id%s of another org's, or of nobody's, is the same 404",
  async (method, rest) => {
    await newBuildHost();
    const { key } = await newOrg("professional");
    const { key: other } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    const answers = await Promise.all(
      [templateId, "tpl_AAAAAAAAAAAAAAAAAAAA", "nope", `${templateId}x`].map(async (id) => {
        const response = await call(`/templates/${id}${rest}`, { method, bearer: other });
        return [response.status, await response.text()];
      }),
    );
    expect(answers).toEqual(
      Array(4).fill([404, '{"error":"There is no such template.","code":"NotFound"}']),
    );
    // And nothing of it is kept.
    expect(await env.TEMPLATES.getByName(`x ${templateId}`).read()).toBeNull();
  },
);
