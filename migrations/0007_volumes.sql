CREATE TABLE volumes (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  size_mb INTEGER,
  metadata TEXT,
  created_at INTEGER NOT NULL,
  -- The sandbox that has it; NULL while none does.
  attached_to TEXT,
  -- How often it was given to a sandbox.
  epoch INTEGER NOT NULL DEFAULT 0,
  -- The host that had it last.
  host_id TEXT
);
CREATE INDEX volumes_of_org ON volumes (org_id, created_at DESC);
CREATE INDEX volumes_of_holder ON volumes (attached_to) WHERE attached_to IS NOT NULL;

-- Volumes whose objects are deleted by the scheduled job, once no signed URL can name them any more.
CREATE TABLE discarded_volumes (
  id TEXT PRIMARY KEY,
  discarded_at INTEGER NOT NULL
);
