import { VmHeartbeat, type VmReport } from "@svc/contract/host-protocol/vms.ts";
import { FAKE_ROOM } from "./platform.ts";
import type { FakeVmHost } from "./vm-host.ts";
import type { TestGateway } from "../process/gateway.ts";

/** Says to a gateway what a fake VM host holds; what is not said is a host with room. */
export async function beat(
  gateway: Pick<TestGateway, "url" | "hostToken">,
  host: FakeVmHost,
  url: string,
  facts: Partial<VmHeartbeat> = {},
): Promise<void> {
  host.seq += 1;
  const body: VmHeartbeat = {
    type: "vm",
    bootId: host.bootId,
    seq: host.seq,
    sentAt: Date.now(),
    url,
    ...FAKE_ROOM,
    capabilities: host.capabilities,
    vms: [...reports(host.vms, "running"), ...reports(host.states.paused.keys(), "paused")],
    ...facts,
  };
  const response = await fetch(new URL("/internal/hosts/vm-1/heartbeat", gateway.url), {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.hostToken}` },
    body: JSON.stringify(VmHeartbeat.parse(body)),
  });
  if (response.status !== 200) throw new Error(`the heartbeat was answered ${response.status}`);
}

const reports = (ids: Iterable<string>, state: VmReport["state"]): VmReport[] =>
  [...ids].map((id) => ({ id, state, lastActivityAt: 0 }));
