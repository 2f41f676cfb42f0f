import type { IncomingMessage, ServerResponse } from "node:http";
import { VmHeartbeat, type VmReport } from "@svc/contract/host-protocol/vms.ts";
import { HeartbeatGateway } from "../../support/fakes/heartbeat-gateway.ts";
import { Objects } from "./objects.ts";

/** How often a host beats when nothing changes: a gateway says so, and tests that count beats wait for them. */
const POLL_MS = 1_000;

/** The smallest gateway that a VM host can join, with an object store. */
export class Gateway extends HeartbeatGateway<VmHeartbeat> {
  objects: Objects;

  constructor(objects = new Objects()) {
    super((body) => VmHeartbeat.parse(body), POLL_MS);
    this.objects = objects;
  }

  /** The first report of a machine, from the heartbeat `since` on, that is as wanted. */
  report(id: string, satisfies: (report: VmReport) => boolean, since?: number): Promise<VmReport> {
    return this.found((beat) => beat.vms.find((vm) => vm.id === id && satisfies(vm)), since);
  }

  protected override answerOther(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    return this.objects.answer(request, response);
  }
}
