import { ask } from "./database.ts";

/** Notes whose label this is. A label is a hash of the id: it never names another one. */
export async function notePreview(db: D1Database, label: string, sandboxId: string): Promise<void> {
  await ask(db, () =>
    db
      .prepare("INSERT INTO previews (label, sandbox_id) VALUES (?, ?) ON CONFLICT DO NOTHING")
      .bind(label, sandboxId)
      .run(),
  );
}

/** The sandbox of a label; null when none of its ports was ever minted, or it is gone. */
export async function findPreview(db: D1Database, label: string): Promise<string | null> {
  const row = await ask(db, () =>
    db
      .prepare("SELECT sandbox_id FROM previews WHERE label = ?")
      .bind(label)
      .first<{ sandbox_id: string }>(),
  );
  return row?.sandbox_id ?? null;
}

/** Forgets the label of a sandbox that is gone. */
export async function forgetPreview(db: D1Database, label: string): Promise<void> {
  await ask(db, () => db.prepare("DELETE FROM previews WHERE label = ?").bind(label).run());
}
