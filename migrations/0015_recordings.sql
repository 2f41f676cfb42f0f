-- Recordings of desktops. Their parts lie in the object store and say all else by their names.
CREATE TABLE recordings (
  sandbox_id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  keep_ms INTEGER NOT NULL,
  -- So long after its last part.
  keep_until INTEGER NOT NULL
);
CREATE INDEX recordings_keep_until ON recordings (keep_until);
