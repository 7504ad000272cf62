import { type PacedLoad, runPaced } from './load.js';

/* A process of its own for the client. Reports one load after another. */

// It outlives no parent.
process.on('disconnect', () => process.exit(0));
process.on('message', (load: PacedLoad) => {
  runPaced(load).then(
    (times) => process.send?.(times),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
