/** The address that the pool leaves by, and that of its exits. */
export const HOME = "127.0.0.1";
export const EXIT = "127.0.0.2";
export const BULK_BYTES = 128 * 1024 * 1024;
