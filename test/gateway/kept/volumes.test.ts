import { describe, expect, test } from "vitest";
import { capFull, keeper, statuses, told } from "../../support/worker/kept.ts";
import { newVolume } from "../../support/worker/volumes.ts";

describe("volumes of an org", () => {
  test("are as many as its plan allows; one beyond is 403, and a DELETE makes room", async () => {
    const { key, post, remove, kept } = await keeper({ volumes: 2 });
    const { volumeId } = await newVolume(key);
    await newVolume(key);
    const refusal = { error: expect.any(String), ...capFull("volume", 2) };
    expect(await told(await post("/volumes"))).toEqual([403, refusal]);
    expect((await kept()).volumes).toEqual({ used: 2, cap: 2 });
    await remove(`/volumes/${volumeId}`);
    expect((await post("/volumes")).status).toBe(201);
  });

  test("are never more, of however many that are created at once", async () => {
    const { post } = await keeper({ volumes: 3 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => post("/volumes")));
    expect(statuses(answers)).toEqual([201, 201, 201, 403, 403, 403, 403, 403]);
  });

  test("may be none, and may be any number; other orgs' do not count", async () => {
    const { post, kept, override } = await keeper({ volumes: 0 });
    expect(await told(await post("/volumes"))).toMatchObject([403, capFull("volume", 0)]);
    await override({ volumes: null });
    expect((await post("/volumes")).status).toBe(201);
    expect((await kept()).volumes).toEqual({ used: 1, cap: null });
    expect((await (await keeper({ volumes: 1 })).post("/volumes")).status).toBe(201);
  });
});
