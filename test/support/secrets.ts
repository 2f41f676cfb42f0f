/** The secrets of every gateway and host under test: as long as the product wants them. */
export const HOST_TOKEN = "host-token-of-the-tests-that-is-long-enough";
/** Signs the ids and URLs of gateways under test. */
export const SIGNING_SECRET = "signing-secret-of-the-tests-that-is-long-enough";
/** The bearer of their operator API. */
export const ADMIN_TOKEN = "admin-token-of-the-tests-that-is-long-enough";
/** Encrypts their saved logins. */
export const LOGIN_KEY = "bG9naW4ta2V5LW9mLXRoZS10ZXN0cy0zMi1ieXRlczo=";
