import { expect, test } from "vitest";
import { NO_DESKTOP, runningDesktop } from "../../support/worker/desktops.ts";
import { call } from "../../support/worker/gateway.ts";

test("a DELETE ends the desktop, and again is the same; pause and resume are 404 then", async () => {
  const { host, key, path, act } = await runningDesktop();
  for (let n = 0; n < 2; n += 1) {
    const response = await call(path, { method: "DELETE", bearer: key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true });
  }
  expect(await host.held()).toEqual([]);
  for (const what of ["pause", "resume"]) {
    const response = await act(what);
    expect([response.status, await response.text()]).toEqual([404, NO_DESKTOP]);
  }
});
