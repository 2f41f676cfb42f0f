import { expect, test } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { logs, newBuildHost, newTemplate, readyTemplate } from "../../support/worker/templates.ts";

const stream = (key: string, id: string, headers: Record<string, string> = {}) =>
  call(`/templates/${id}/logs`, {
    bearer: key,
    headers: { accept: "text/event-stream", ...headers },
  });

/** The events of a stream that ended, without its comments. */
const events = async (response: Response): Promise<string[]> =>
  (await response.text()).split("\n\n").filter((text) => text !== "" && !text.startsWith(":"));

test("a stream follows the build to its end, every line once", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "hang" });
  const { key } = await newOrg("professional");
  const { templateId } = await newTemplate(key);
  const response = await stream(key, templateId);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const following = events(response);
  await host.steer({ build: "ok" });
  const followed = await following;
  const { entries } = await logs(key, templateId);
  const lines = entries.map((entry, at) => `id: ${at + 1}\ndata: ${JSON.stringify(entry)}`);
  expect(followed).toEqual([...lines, 'event: end\ndata: {"state":"ready"}']);
  expect(lines.length).toBeGreaterThan(2);
});

test("a client that comes back gets what follows its last event", async () => {
  await newBuildHost();
  const { key } = await newOrg("professional");
  const { templateId } = await readyTemplate(key);
  const all = await events(await stream(key, templateId));
  const rest = await events(await stream(key, templateId, { "last-event-id": "2" }));
  expect(rest).toEqual(all.slice(2));
});

test.each(["-1", "x", "1e3", ""])(
  "an offset that is none, %s, is the beginning",
  async (offset) => {
    await newBuildHost();
    const { key } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    const response = await call(`/templates/${templateId}/logs?offset=${offset}`, { bearer: key });
    expect(await response.json()).toEqual(await logs(key, templateId));
  },
);

test("a stream of nobody's is 404", async () => {
  const { key } = await newOrg();
  expect((await stream(key, "tpl_AAAAAAAAAAAAAAAAAAAA")).status).toBe(404);
});
