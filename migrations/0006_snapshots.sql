-- Snapshots of machines. What is known only once one is taken is NULL until then.
CREATE TABLE snapshots (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  parent_id TEXT,
  -- The nearest ancestor that was not deleted: children of children are found by it.
  line_id TEXT,
  template TEXT NOT NULL,
  cpu INTEGER NOT NULL,
  mem_mb INTEGER NOT NULL,
  disk_gb INTEGER NOT NULL,
  size_bytes INTEGER,
  platform TEXT,
  durable INTEGER NOT NULL DEFAULT 0,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- Where it lies. Never shown.
  host_id TEXT NOT NULL,
  -- Nobody sees it any more; the row stays until its host has let go of it.
  deleted_at INTEGER,
  -- From then on its host is told to let go of it.
  leave_at INTEGER
);
CREATE INDEX snapshots_of_org ON snapshots (org_id, created_at DESC, id DESC);
CREATE INDEX snapshots_of_line ON snapshots (line_id) WHERE line_id IS NOT NULL;
CREATE INDEX snapshots_leaving ON snapshots (leave_at) WHERE leave_at IS NOT NULL;

-- Which live machines descend from a snapshot, or from one that does.
CREATE TABLE snapshot_children (
  snapshot_id TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  PRIMARY KEY (snapshot_id, sandbox_id)
) WITHOUT ROWID;
CREATE INDEX snapshot_children_of_sandbox ON snapshot_children (sandbox_id);
