CREATE TABLE profiles (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  -- Where the stored state of this version lies; NULL while it was never saved.
  object_key TEXT,
  size_bytes INTEGER,
  created_at INTEGER NOT NULL,
  saved_at INTEGER,
  -- The dashboard editor holds the profile until then.
  editor_until INTEGER,
  UNIQUE (org_id, name)
);

-- Objects that no row names any more: deleted by the scheduled job once no signed URL can name them either.
CREATE TABLE discarded_objects (
  object_key TEXT PRIMARY KEY,
  discarded_at INTEGER NOT NULL
);
