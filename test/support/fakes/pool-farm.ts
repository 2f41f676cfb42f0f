import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { FakePool } from "./pool.ts";
import { FakeVmHost } from "./vm-host.ts";
import { LASTING } from "./serving.ts";
import { HOST_TOKEN } from "../secrets.ts";

// Its own process: POST makes a fake pool, POST /vm a fake VM host, and answers its URL. Ends with the test run.
const farm = createServer(LASTING, (request, response) => {
  const host = request.url === "/vm" ? new FakeVmHost(HOST_TOKEN) : new FakePool(HOST_TOKEN);
  void host.listen().then((url) => response.end(url));
});
farm.listen(0, "127.0.0.1");
await once(farm, "listening");
process.send?.(`http://127.0.0.1:${(farm.address() as AddressInfo).port}`);
process.on("disconnect", () => process.exit(0));
