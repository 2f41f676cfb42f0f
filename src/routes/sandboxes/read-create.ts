import { ApiError } from "@svc/contract/errors.ts";
import { CreateSandbox, templateNamed } from "@svc/contract/vm/create.ts";
import type { LifecycleWanted } from "@svc/contract/vm/lifecycle.ts";
import {
  BUILT_IN_TEMPLATES,
  type Isolation,
  SCREEN_DEFAULT,
  SHARED_SIZES,
  VM_SIZES,
  type VmKind,
} from "@svc/contract/vm/machine.ts";
import { parseObject } from "../../body.ts";
import type { AppContext } from "../../context.ts";

/** A create request with its defaults, everything about it checked that needs neither org nor host. */
export interface WantedSandbox {
  kind: VmKind;
  source:
    | { type: "image"; name: string }
    | { type: "template"; id: string }
    | { type: "snapshot"; id: string };
  isolation: Isolation;
  cpu: number;
  memMb: number;
  diskGb: number;
  envs: Record<string, string>;
  metadata: Record<string, string>;
  /** null = the default of the kind. */
  timeoutMs: number | null;
  lifecycle: LifecycleWanted;
  resolution: string;
  record: boolean;
  volumes: { volumeId: string; path: string }[];
}

/** Reads POST /sandboxes: shapes first, then what goes across fields. Throws the first 400. */
export async function readCreate(c: AppContext): Promise<WantedSandbox> {
  return wantedOf(await parseObject(c, CreateSandbox));
}

/** What a create asks for, whichever route it came by: its defaults, and what goes across fields. */
export function wantedOf(asked: CreateSandbox): WantedSandbox {
  const kind = asked.kind ?? "sandbox";
  const isolation = asked.isolation ?? "dedicated";
  if (isolation === "shared") checkShared(asked, kind);
  const source = sourceOf(asked, kind);
  if (isolation === "shared" && source.type !== "image")
    throw invalid("isolation", "a share of a machine begins with a built-in template");
  const record = asked.record ?? false;
  if (record) checkRecord(kind, source);
  const least = isolation === "shared" ? SHARED_SIZES.memMb.default : VM_SIZES.memMb.default;
  return {
    kind,
    source,
    isolation,
    cpu: asked.cpu ?? VM_SIZES.cpu.default,
    memMb: asked.memMb ?? least,
    diskGb: asked.diskGb ?? VM_SIZES.diskGb.default,
    envs: asked.envs ?? {},
    metadata: asked.metadata ?? {},
    timeoutMs: asked.timeoutMs ?? null,
    lifecycle: asked.lifecycle ?? {},
    resolution: asked.resolution ?? SCREEN_DEFAULT,
    record,
    volumes: asked.volumes ?? [],
  };
}

function invalid(field: string, reason: string): ApiError {
  return new ApiError("ValidationError", `${field}: ${reason}`, { field });
}

/** A share of a machine is smaller than a machine, and cannot park by itself. */
function checkShared({ cpu, memMb, lifecycle }: CreateSandbox, kind: VmKind): void {
  if (kind === "desktop") throw invalid("isolation", "a desktop is never shared");
  const most = { cpu: SHARED_SIZES.cpu.most, memMb: SHARED_SIZES.memMb.most };
  if ((cpu ?? 0) > most.cpu) throw invalid("cpu", `at most ${most.cpu} on shared`);
  if ((memMb ?? 0) > most.memMb) throw invalid("memMb", `at most ${most.memMb} on shared`);
  if (lifecycle?.parkAfterMs != null)
    throw invalid("lifecycle.parkAfterMs", "not on shared isolation");
}

/** What the machine starts from. A snapshot wins over any template. */
function sourceOf({ fromSnapshot, template }: CreateSandbox, kind: VmKind) {
  if (fromSnapshot != null) return { type: "snapshot", id: fromSnapshot } as const;
  const named = templateNamed(template, kind);
  if (named.type === "custom") return { type: "template", id: named.id } as const;
  const names = Object.entries(BUILT_IN_TEMPLATES).filter(([, of]) => of === kind);
  const words = names.map(([name]) => name).join(", ");
  if (named.type === "unknown" || BUILT_IN_TEMPLATES[named.name] !== kind)
    throw invalid("template", `for a ${kind} it is one of ${words}, or a tpl_ id`);
  return { type: "image", name: named.name } as const;
}

/** Recording is refused, never silently ignored (document 2). */
function checkRecord(kind: VmKind, source: WantedSandbox["source"]): void {
  const field = "record";
  if (kind !== "desktop") {
    const text = "record: only desktops are recorded";
    throw new ApiError("RecordingRequiresDesktop", text, { field });
  }
  if (source.type !== "image") {
    const text = "record: only a built-in template is recorded";
    throw new ApiError("RecordingRequiresGoldenBoot", text, { field });
  }
}
