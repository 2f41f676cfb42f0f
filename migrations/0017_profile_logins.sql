-- How the browsers of a profile sign in to a site by themselves.
CREATE TABLE profile_logins (
  profile_id TEXT NOT NULL,
  site TEXT NOT NULL,
  login_url TEXT NOT NULL,
  -- JSON: names of the hosts whose pages may be given the secrets.
  allowed_hosts TEXT NOT NULL,
  username TEXT NOT NULL,
  -- AES-256-GCM under SVC_LOGIN_KEY (control-plane/login-vault.ts). `totp` is NULL without a second factor.
  secret TEXT NOT NULL,
  totp TEXT,
  check_url TEXT,
  check_selector TEXT,
  -- JSON: CSS selectors of fields that are not found by themselves.
  steps TEXT,
  -- How the last run ended, and when (ms).
  last_state TEXT,
  checked_at INTEGER,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (profile_id, site)
);
