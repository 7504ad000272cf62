import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';

type Functions = Record<string, (...args: never[]) => unknown>;

/**
 * Functions that bring in real time or chance, by object. Looked up whenever a guard is installed: a fake clock may have
 * replaced an object since this module was loaded.
 */
const forbidden = (): readonly (readonly [object, readonly string[]])[] => [
  [globalThis, ['setTimeout', 'setInterval', 'setImmediate']],
  [timers, ['setTimeout', 'setInterval', 'setImmediate']],
  [timersPromises, ['setTimeout', 'setInterval', 'setImmediate']],
  [Date, ['now']],
  [Math, ['random']],
  [performance, ['now']],
  [process.hrtime, ['bigint']],
  [process, ['hrtime']],
  [crypto, ['randomUUID', 'randomBytes']],
];

/** The function itself, for the simulation's own use. */
export const REAL = { setImmediate };

/**
 * Finds what gets around the world that a simulation gives to the code in it: while it is closed, real clocks, timers and
 * chance throw.
 */
export class Guard {
  isClosed = false;
  private readonly undo: (() => void)[] = [];

  install(): void {
    for (const [owner, names] of forbidden()) for (const name of names) this.forbid(owner as Functions, name);
    syncBuiltinESMExports();
  }

  remove(): void {
    for (const undo of this.undo.splice(0).reverse()) undo();
    syncBuiltinESMExports();
  }

  private forbid(owner: Functions, name: string): void {
    const real = owner[name];
    const guarded = (...args: never[]) => {
      if (this.isClosed) throw new Error(`${name} was called in a simulated world`);
      return real.apply(owner, args);
    };
    owner[name] = Object.assign(guarded, real);
    this.undo.push(() => {
      owner[name] = real;
    });
  }
}
