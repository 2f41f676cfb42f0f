-- Custom templates, for the list of their org: each one's own object knows more while it is built.
CREATE TABLE templates (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  cpu INTEGER NOT NULL,
  mem_mb INTEGER NOT NULL,
  disk_gb INTEGER NOT NULL,
  step INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  error_step INTEGER,
  error_message TEXT,
  created_at INTEGER NOT NULL,
  ready_at INTEGER
);
CREATE INDEX templates_of_org ON templates (org_id, created_at DESC);
