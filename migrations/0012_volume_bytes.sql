-- How many bytes a volume has in the object store, by its newest manifest. NULL: no manifest was stored since this column is there.
ALTER TABLE volumes ADD COLUMN stored_bytes INTEGER;
