/**
 * Time is an integer number of nanoseconds since the start of the run, held in a JS number:
 * exact up to 2^53 ns, which is 104 days.
 */
export const NS_PER_US = 1_000;
export const NS_PER_MS = 1_000_000;
export const NS_PER_S = 1_000_000_000;
export const NS_PER_MINUTE = 60 * NS_PER_S;
export const NS_PER_HOUR = 60 * NS_PER_MINUTE;
/** Units of a duration, as people write them. */
export const TIMES = { ns: 1, us: NS_PER_US, ms: NS_PER_MS, s: NS_PER_S, m: NS_PER_MINUTE, h: NS_PER_HOUR };

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;

/** Unit of the GPU weights cache (Clockwork, OSDI 2020, §5.1). */
export const DEFAULT_PAGE_BYTES = 16 * MIB;
