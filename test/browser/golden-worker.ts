import { run } from '../sim/fixtures.js';
import { GOLDEN_RUNS } from '../sim/golden-runs.js';

/** What the compiler knows of the thread that this runs in. */
declare const postMessage: (message: unknown) => void;

const digests: Record<string, string> = {};
for (const [name, options] of GOLDEN_RUNS) digests[name] = (await run(await options())).digest;
postMessage(digests);
