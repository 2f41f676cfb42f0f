import { RECORD_MANIFEST, RecordManifest } from "@svc/contract/host-protocol/vm-states.ts";
import { deleteObjects } from "../control-plane/objects.ts";
import {
  forgetOrphan,
  knownIds,
  noteOrphans,
  noteSweep,
  recordsAfter,
  type StoredRecord,
  sweepFrom,
} from "../control-plane/orphans.ts";
import { templateObject } from "../durable-objects/template.ts";

/** As many sandboxes are asked at once. */
const askedAtOnce = 20;

/**
 * Looks at some of the records in the object store, at most `keys` of its keys, and deletes records that nothing has named
 * for long: hosts remove what is gone, but a host that never comes back does not. Throws, and deletes nothing, when an
 * owner cannot be asked. Answers how many records it has deleted.
 */
export async function sweepOrphans(env: Env, now: number, keys?: number): Promise<number> {
  const after = await sweepFrom(env.DB, now);
  if (after === null) return 0;
  const { records, next } = await recordsAfter(env.OBJECTS, after, keys);
  const isNamed = await namedAmong(env, records);
  const prefixesOf = (some: StoredRecord[]) => some.map(({ prefix }) => prefix);
  const named = prefixesOf(records.filter(isNamed));
  const unnamed = prefixesOf(records.filter((record) => !isNamed(record)));
  const due = await noteOrphans(env.DB, { named, unnamed }, now);
  let gone = 0;
  for (const record of records.filter(({ prefix }) => due.includes(prefix))) {
    if (!(await isOwned(env, record))) {
      await deleteObjects(env.OBJECTS, record.prefix);
      gone += 1;
    }
    await forgetOrphan(env.DB, record.prefix);
  }
  await noteSweep(env.DB, next, now);
  return gone;
}

/** Whether the sandbox that a record names still goes on from the record. Asked of the sandbox: its org's list may be wrong. */
async function isOwned(env: Env, { prefix, id }: StoredRecord): Promise<boolean> {
  const stored = await env.OBJECTS.get(prefix + RECORD_MANIFEST);
  const manifest = RecordManifest.safeParse(await stored?.json().catch(() => null)).data;
  if (!manifest) return false;
  return (await env.SANDBOXES.getByName(manifest.record.id).recordId()) === id;
}

/** Tells which of these records something names: a snapshot, a template, or a sandbox that is not over. */
async function namedAmong(
  env: Env,
  records: readonly StoredRecord[],
): Promise<(record: StoredRecord) => boolean> {
  const ids = await knownIds(
    env.DB,
    records.map(({ id }) => id),
  );
  // A template's own object knows more than the list.
  for (const { org, id } of records)
    if (id.startsWith("tpl_") && !ids.has(id) && (await templateObject(env, org, id).read()))
      ids.add(id);
  const saved = records.filter(({ id }) => id.startsWith("rec_"));
  for (const org of new Set(saved.map((record) => record.org)))
    for (const id of await recordsOf(env, org)) ids.add(id);
  return ({ id }) => ids.has(id);
}

/** The records that the sandboxes of an org go on from. */
async function recordsOf(env: Env, org: string): Promise<string[]> {
  const ids = await env.ORGS.getByName(org).liveSandboxes();
  const records: (string | null)[] = [];
  for (let at = 0; at < ids.length; at += askedAtOnce) {
    const some = ids.slice(at, at + askedAtOnce);
    records.push(...(await Promise.all(some.map((id) => env.SANDBOXES.getByName(id).recordId()))));
  }
  return records.filter((id) => id !== null);
}
