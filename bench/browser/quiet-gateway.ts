import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type HeartbeatReply, PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";

// A gateway that only listens: it takes heartbeats, ends nothing, and shows the last one's counts. The real one
// would end the sessions of the bench at once, because it did not place them.
const reply: HeartbeatReply = { end: [], pollMs: LIMITS.heartbeatMs };
let last: PoolHeartbeat | null = null;

const server = createServer((request, response) => {
  void (async () => {
    if (request.method === "POST") last = PoolHeartbeat.parse(JSON.parse(await text(request)));
    const none = { idle: 0, busy: 0, recycling: 0 };
    const { fast = none, stealth = none } = last?.kinds ?? {};
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(request.method === "POST" ? reply : { fast, stealth }));
  })();
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
process.send?.({ type: "ready", url: `http://127.0.0.1:${port}` });
