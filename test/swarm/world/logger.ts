import type { Logger } from 'pino';
import type { Simulation } from './simulation.js';
import type { Incarnation } from './tap.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** A logger as far as servers and workers use pino's: each line goes to the tap and the trace. */
export function simLogger(simulation: Simulation, of: Incarnation): Logger {
  const who = `${of.process}.${of.incarnation}`;
  const write = (level: string) => (first: object | string, second?: string) => {
    const line = typeof first === 'string' ? first : (second ?? '');
    const facts = typeof first === 'string' ? {} : first;
    simulation.trace.add(simulation.nowNs, who, `${level} ${line}`);
    simulation.tap.log?.(simulation.nowNs, of, level, line, facts);
  };
  const byLevel = Object.fromEntries(LEVELS.map((level) => [level, write(level)]));
  return { ...byLevel, level: 'info', isLevelEnabled: () => false } as unknown as Logger;
}
