import { type Load, run } from './load.js';

/* A process of its own for the clients, so that their work is not counted as the server's. Reports one load after another. */

// It outlives no parent.
process.on('disconnect', () => process.exit(0));
process.on('message', (load: Load) => {
  run(load).then(
    (result) => process.send?.(result),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
