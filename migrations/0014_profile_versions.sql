-- The states that a profile had, the current one among them. A restored version names the object of an older one.
CREATE TABLE profile_versions (
  profile_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  object_key TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (profile_id, version)
);
CREATE INDEX profile_versions_object ON profile_versions (object_key);
INSERT INTO profile_versions (profile_id, version, object_key, size_bytes, saved_at)
  SELECT id, version, object_key, size_bytes, saved_at FROM profiles WHERE object_key IS NOT NULL;

-- The lease of the editor that holds the profile until `editor_until`.
ALTER TABLE profiles ADD COLUMN editor_lease TEXT;
