import { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { FakePool } from "./fake-pool.ts";

const { SVC_GATEWAY_URL: gatewayUrl = "", SVC_HOST_TOKEN: hostToken = "" } = process.env;
process.on("disconnect", () => process.exit(0));
const pool = new FakePool(hostToken, () => heartbeats.touch());
const url = await pool.listen();
const heartbeats = new Heartbeats({
  gatewayUrl,
  hostId: "bench-upstream",
  hostToken,
  log: createLog("bench-upstream", "warn"),
  quietMs: 300,
  call: fetch,
  nextBeat: () => pool.beat(),
  onAnswer: ({ end }) => pool.end(end),
});
heartbeats.start();
process.send?.({ type: "ready", url });
