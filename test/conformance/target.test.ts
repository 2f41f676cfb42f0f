import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { cleanEnv } from "./target.ts";

test(
  "a run asks the gateway that BASE_URL names, and starts none",
  { timeout: 300_000 },
  async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ url, headers }, response) => {
      asked.push(`${url} ${headers.authorization}`);
      response.end('{"hosts":[]}');
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    // Asked before the first test: none is run.
    const args = [
      "run",
      "--project",
      "node",
      "test/conformance/vm-conformance.test.ts",
      "-t",
      "no test",
    ];
    const env = {
      ...cleanEnv(),
      BASE_URL: `http://127.0.0.1:${port}`,
      SVC_API_KEY: "key",
      SVC_ADMIN_TOKEN: "token",
    };
    const child = spawn("node_modules/.bin/vitest", args, { stdio: "ignore", env });
    await once(child, "exit");
    server.close();
    expect(asked).toEqual(["/admin/hosts Bearer token"]);
  },
);
