/**
 * A deterministic world in which the code of live mode runs unchanged.
 *
 *     const simulation = new Simulation({ seed, tap, bodies: threadBodies({ frontend: (process, thread) => … }) });
 *     const machine = simulation.machine('a', { driftPpm: 12 });      // clock, disk, address 10.0.0.1; its name resolves
 *     const worker = machine.process('worker', async (process) => {   // runs at each `start`
 *       await serveMachine(…process.world…);                          // throws: the process has died
 *     });
 *     worker.start();
 *     simulation.at(3e9, () => worker.crash());                       // true time; outside of all machines
 *     await simulation.run(60e9);                                     // may be called again with a later time
 *     simulation.digest, simulation.events;
 *
 * Time: `simulation.nowNs` is true time; `machine.clock.localNs()` is what a machine reads, which begins anywhere and drifts.
 *
 * Faults end by the opposite call:
 *
 * - process: `crash()`, `exit(status)`, `start()` again (another incarnation), `freeze()`/`thaw()`
 * - thread: `process.threadsOf('executor')[0].die(error)`, `.hang()`/`.goOn()`; kinds are `executor`, `frontend`
 * - machine: `losePower()` (no word to anybody, the disk loses what it had not kept), `jumpClock(ns)`, `driftClock(ppm)`
 * - GPU: `process.device(gpu)`: `.slowness = 3`, `.hangs = true`, `.failNext = 2`, `.isOutOfMemory`, `.lateByNs`; stays over restarts
 * - disk: `machine.disk.faults.isFull`, `.fails`, `.slowByNs`; `machine.disk.list`, `.read(path)`
 * - network: `simulation.network.path(a, b)` is one direction: `.cut()`/`.heal()`, `.quality = { delayNs, jitterNs, bytesPerS }`,
 *   `.corruptNext = 1`, `.vanishNext = 1`; `network.reset(a, b)` breaks connections with a word, `network.silence(a, b)` without one
 *   (machine `b` left out: with all)
 *
 * What happens is seen by a `Tap`. While it runs, real timers, clocks and chance throw.
 */

export type { SimMachine } from './machine.js';
export type { SimProcess } from './process.js';
export { Simulation } from './simulation.js';
export type { Tap } from './tap.js';
export { type FrontendThread, threadBodies } from './threads/thread-bodies.js';
