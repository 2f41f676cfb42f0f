-- Whose preview label this is: asked only where no valid token says it.
CREATE TABLE previews (
  label TEXT PRIMARY KEY,
  sandbox_id TEXT NOT NULL
) WITHOUT ROWID;
