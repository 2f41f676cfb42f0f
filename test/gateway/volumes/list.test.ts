import { VolumeList } from "@svc/contract/vm/volume.ts";
import { expect, test } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newVolume } from "../../support/worker/volumes.ts";

test("GET /volumes lists all of the org's, newest first, and nobody else's", async () => {
  const mine = await newOrg("free", { volumes: null });
  const other = await newOrg();
  await newVolume(other.key);
  const made: string[] = [];
  // Within one millisecond, too, and more than any page has.
  for (let n = 0; n < 120; n += 1)
    made.push((await newVolume(mine.key, { name: `${n}` })).volumeId);
  const response = await call("/volumes?limit=3&cursor=x", { bearer: mine.key });
  const { volumes } = VolumeList.parse(await response.json());
  expect(volumes.map(({ volumeId }) => volumeId)).toEqual(made.toReversed());
  expect(await (await call("/volumes", { bearer: mine.key })).text()).not.toContain(mine.orgId);
});
