import { env } from "cloudflare:workers";
import { ReplayUrl } from "@svc/contract/browser/replay.ts";
import { mintObjectToken } from "@svc/contract/tokens.ts";
import { expect, test } from "vitest";
import { replayKey } from "../../../control-plane/replays.ts";
import { call } from "../../support/worker/gateway.ts";
import { ownSession } from "../../support/worker/replays.ts";

/** The URL of the page that plays a replay, as its customer gets it. */
async function playable() {
  const { id, orgId, report, replay } = await ownSession();
  const key = replayKey(orgId, id);
  await env.OBJECTS.put(key, new Uint8Array(1));
  await report({ state: "ready" });
  const { playerUrl, url } = ReplayUrl.parse(await (await replay()).json());
  return { key, player: new URL(playerUrl).pathname, object: new URL(url).pathname };
}

test("the page of a replay needs no key, and may load its own script and this replay alone", async () => {
  const { player } = await playable();
  const page = await call(player);
  expect(page.status).toBe(200);
  expect(page.headers.get("cache-control")).toBe("no-store");
  const policy = page.headers.get("content-security-policy") ?? "";
  const [, source] = /connect-src (\S+);/.exec(policy) ?? [];
  expect(policy).toMatch(/^default-src 'none'; script-src \S+\/replay\/player\.js; /);
  expect(await page.text()).toContain(`data-replay="${source}"`);
  expect((await call(new URL(source ?? "").pathname)).status).toBe(200);
});

test("the token of the file plays nothing, that of the page reads nothing, and a replay that is deleted is gone", async () => {
  const { key, player, object } = await playable();
  expect((await call(object.replace("/objects/", "/replay/"))).status).toBe(404);
  expect((await call(player.replace("/replay/", "/objects/"))).status).toBe(404);
  await env.OBJECTS.delete(key);
  expect((await call(player)).status).toBe(404);
});

test.each(["text/html,*/*;q=0.8", "*/*"])(
  "a URL that has ended, is forged or names nothing is one and the same 404 for who accepts %s",
  async (accept) => {
    const { key } = await playable();
    const good = { act: "play", key } as const;
    const sign = (claims: { key: string }, expiresAt: number) =>
      mintObjectToken(env.SVC_SIGNING_SECRET, { ...good, ...claims, expiresAt });
    const later = Date.now() + 60_000;
    const tokens = [
      await sign({ key }, Date.now() - 1),
      (await sign({ key }, later)).slice(0, -1),
      await sign({ key: "replays/org_x/none.ndjson.gz" }, later),
      "<b>",
    ];
    const said = new Set<string>();
    for (const token of tokens) {
      const path = `/replay/${encodeURIComponent(token)}`;
      const answer = await call(path, { headers: { accept } });
      const { headers } = answer;
      expect([answer.status, headers.get("cache-control")]).toEqual([404, "no-store"]);
      said.add(`${headers.get("content-type")} ${await answer.text()}`);
    }
    expect(said.size).toBe(1);
    expect([...said][0]).toMatch(
      accept === "*/*"
        ? /^application\/json.*ObjectNotFound/
        : /^text\/html; charset=utf-8 <!doctype html>[^]*link is not valid any more/,
    );
  },
);
