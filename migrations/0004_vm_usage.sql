-- Size of the VM that a span is of; NULL for browser sessions.
ALTER TABLE usage_segments ADD COLUMN cpu INTEGER;
ALTER TABLE usage_segments ADD COLUMN mem_mb INTEGER;
