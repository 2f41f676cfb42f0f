import { expect, test } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newVolume } from "../../support/worker/volumes.ts";

const { key } = await newOrg("professional");

const answer = '{"error":"There is no such volume.","code":"NotFound"}';
const absent = `vol_${"0".repeat(32)}`;
const ids = [
  "x",
  absent,
  "vol_",
  `${absent}0`,
  absent.toUpperCase(),
  "..%2f..%2fetc%2fpasswd",
  "%2e%2e%2f%2e%2e",
  "vol_%00",
  `${absent}%00`,
  `${absent}%0a`,
  "vol_%ff",
  "%252e%252e",
  "x".repeat(4097),
  `vol_${"0".repeat(4093)}`,
  "' OR 1=1 --",
];

test.each(["GET", "DELETE"])(
  "a %s of a volume id that is nobody's, or another org's, is 404 with the same bytes",
  async (method) => {
    const { volumeId } = await newVolume((await newOrg()).key);
    for (const id of [volumeId, ...ids]) {
      const response = await call(`/volumes/${id}`, { method, bearer: key });
      expect([id, response.status, await response.text()]).toEqual([id, 404, answer]);
    }
  },
);
